/** What an invoice looks like to a shop: one state of its status, its newest payment and the time. Pure. */
import type { Invoice } from "../../../schemas/Invoice.ts"
import type { Payment, PaymentMetadata } from "../../../schemas/Payment.ts"

export type InvoiceFacts =
  & Pick<
    typeof Invoice.Encoded,
    "amount" | "amount_paid" | "expires_at" | "status"
  >
  & { readonly latest_payment?: typeof Payment.Encoded | null }

/** What the service itself keeps with a payment, beside what the merchant may add. */
export const systemMetadataOf = ({ metadata }: typeof Payment.Encoded) => metadata as typeof PaymentMetadata.Encoded

/** What a shop is told; the words are in `pages/texts/`. */
export type InvoiceState =
  | { readonly name: "open" | "paid" | "expired" | "canceled" | "late" | "undone" | "part_paid" }
  | { readonly name: "seen" | "confirming"; readonly confirmations: number; readonly required: number }
  | { readonly name: "paid_over"; readonly overUsdMillis: number }

/** How a state looks beside its words. */
export const toneOf = ({ name }: InvoiceState): "good" | "warn" | "bad" | "plain" => {
  switch (name) {
    case "paid":
    case "paid_over":
      return "good"
    case "seen":
    case "confirming":
    case "part_paid":
      return "warn"
    case "late":
    case "undone":
      return "bad"
    default:
      return "plain"
  }
}

/**
 * The state of an invoice. What is under way comes first, then what waits for a decision, then the end that it came to.
 */
export const stateOf = (invoice: InvoiceFacts): InvoiceState => {
  const { amount, amount_paid: paid, latest_payment: payment, status } = invoice
  if (status === "paid") return paid > amount ? { name: "paid_over", overUsdMillis: paid - amount } : { name: "paid" }
  if (payment?.status === "reverted") return { name: "undone" }
  const exception = payment === null || payment === undefined ? null : systemMetadataOf(payment).exception
  if (exception?.type === "late_payment" && exception.status === "open") return { name: "late" }
  if (status === "canceled") return { name: "canceled" }
  if (payment?.status === "pending") {
    const { confirmations, required_confirmations: required } = systemMetadataOf(payment)
    return confirmations === 0
      ? { name: "seen", confirmations, required }
      : { name: "confirming", confirmations, required }
  }
  if (status === "underpaid" || (status === "expired" && paid > 0)) return { name: "part_paid" }
  return status === "expired" ? { name: "expired" } : { name: "open" }
}
