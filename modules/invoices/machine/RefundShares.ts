/** Which payments of an invoice give the money of a refund that names none, and how much each. Pure. */
import { isCounted } from "../../../schemas/Payment.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { bySeenAt, type PaymentState } from "./State.ts"

/** Came too late to count, but is there: it can be given back. */
export const isLate = ({ metadata, status }: PaymentState): boolean =>
  status === "rejected" && metadata.exception === "late_payment"

/** Whether a payment's money is there. */
export const isReceived = (payment: PaymentState): boolean => isCounted(payment.status) || isLate(payment)

/** So much of a payment. */
export interface RefundShare {
  readonly payment: PaymentState
  readonly amount: UsdMillis
}

/**
 * Those of its source first, the oldest first, each as far as it goes. What was paid out of money that is gone by now
 * is the loss of those payments, so that no other is asked for it twice. The books and the payments divide a refund by
 * this alone.
 */
export const divideRefund = (
  { amount, source }: { readonly amount: UsdMillis; readonly source: "all" | "late" },
  payments: ReadonlyArray<PaymentState>
): ReadonlyArray<RefundShare> => {
  const rank = (payment: PaymentState): number =>
    isReceived(payment) ? source === "late" && !isLate(payment) ? 1 : 0 : 2
  let left: bigint = amount
  return payments.toSorted((a, b) => rank(a) - rank(b) || bySeenAt(a, b)).flatMap((payment) => {
    const capacity = payment.amount - payment.refunded
    const share = capacity < left ? capacity : left
    if (share <= 0n) return []
    left -= share
    return [{ payment, amount: usdMillis(share) }]
  })
}
