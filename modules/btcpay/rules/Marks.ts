/** Which statuses a shop may mark its invoice with, and what that does. Pure. */
import { usdWire } from "../../../schemas/Money.ts"
import { acceptedAmount, type Aggregate, allowedActions, hasPending } from "../../invoices/plugin.ts"
import { type ShopFlags, stateOf } from "./Statuses.ts"

/** Whether the invoice can be canceled: nothing was seen, and nothing received. */
export const mayMark = (current: Aggregate): boolean => {
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
  return amountPaid + (acceptedAmount(payment) ?? 0n) >= amount - tolerance
}

/**
 * The exception by whose acceptance the invoice is paid; null: there is none. Nobody but a person accepts what a listed
 * sender paid, and that exception is of another type.
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
  const isOpen = status === "New" || status === "Expired"
  return [
    ...(current.invoice.status !== "paid" && acceptanceOf(current) !== null ? ["Settled"] as const : []),
    ...(isOpen && mayMark(current) ? ["Invalid"] as const : [])
  ]
}
