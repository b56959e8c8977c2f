/** What an invoice looks like to a shop: one state of its status, its newest payment and the time. Pure. */
import type { Invoice } from "../../../schemas/Invoice.ts"
import { isCounted, type Payment, type PaymentMetadata } from "../../../schemas/Payment.ts"
import type { Refund } from "../../../schemas/Refund.ts"

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

/**
 * Whether something of an invoice can be refunded by its page, as far as these lists tell: of a payment that counts and
 * is final, more than its refunds that are not over. `isWhole`: nothing is missing in the lists. The API decides.
 */
export const canRefund = (
  payments: ReadonlyArray<Pick<typeof Payment.Encoded, "amount" | "confirmed_at" | "id" | "status">>,
  refunds: ReadonlyArray<Pick<typeof Refund.Encoded, "amount" | "invoice_payment_id" | "status">>,
  isWhole: boolean
): boolean =>
  !isWhole || payments.some(({ amount, confirmed_at, id, status }) => {
    const own = refunds.filter((refund) =>
      refund.invoice_payment_id === id && refund.status !== "canceled" && refund.status !== "expired"
    )
    return confirmed_at !== null && isCounted(status) && amount > own.reduce((sum, refund) => sum + refund.amount, 0)
  })

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
