/** Which statuses a shop may mark its invoice with now, and the exception that such a mark accepts. Pure. */
import { usdWire } from "../../../schemas/Money.ts"
import { type Aggregate, allowedActions, amountIfAccepted, hasPending } from "../../invoices/plugin.ts"
import { type ShopFlags, stateOf } from "./Statuses.ts"

/** Whether the invoice can be canceled: no payment was received, and none is on its way. */
export const canCancel = (current: Aggregate): boolean => {
  const { amountPaid, status } = current.invoice
  return (status === "unpaid" || status === "expired") && amountPaid === 0n && !hasPending(current)
    && current.payments.every((payment) => payment.status === "reverted")
}

/** Whether the invoice is paid once this payment counts as well. */
const isPaidWith = (
  { acceptedShortfall, amount, amountPaid, policy }: Aggregate["invoice"],
  payment: Aggregate["payments"][number]
): boolean => {
  const tolerance = BigInt(Math.max(policy.tolerance, usdWire(acceptedShortfall)))
  return amountPaid + (amountIfAccepted(payment) ?? 0n) >= amount - tolerance
}

/**
 * The exception whose acceptance makes the invoice paid; null: there is none. A payment whose sender is on a screening
 * list is an exception of another type, which a shop can never accept.
 */
export const acceptanceOf = ({ exceptions, invoice, payments }: Aggregate): string | null =>
  exceptions.find((exception) => {
    const payment = payments.find(({ id }) => id === exception.paymentId) ?? null
    const pays = exception.type === "underpaid_expired" ||
      (exception.type === "late_payment" && payment !== null && isPaidWith(invoice, payment))
    return exception.status === "open" && pays && allowedActions(exception, { invoice, payment }).includes("accept")
  })?.id ?? null

/** Exactly the marks that would succeed now. */
export const markableAs = (current: Aggregate, flags: ShopFlags): ReadonlyArray<"Invalid" | "Settled"> => {
  const { status } = stateOf(current, flags)
  const isUnpaid = status === "New" || status === "Expired"
  return [
    ...(current.invoice.status !== "paid" && acceptanceOf(current) !== null ? ["Settled"] as const : []),
    ...(isUnpaid && canCancel(current) ? ["Invalid"] as const : [])
  ]
}
