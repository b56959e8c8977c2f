/**
 * Refunds and payments: which payment gives what was paid out, and which refund gives way to a payment that is gone.
 */
import { usdMillis } from "../../../schemas/Money.ts"
import { type Aggregate, bySeenAt, type Command, type PaymentState } from "../../invoices/plugin.ts"
import { balance } from "./Amounts.ts"
import { destinationSeconds, isLate, isOpen, isReceived, type RefundState } from "./State.ts"

/** `failure_code` of a refund whose money went away while it was to be paid out. */
export const revertedCode = "payment_reverted"

/**
 * Which payments give what a payout gave back: those of its source, the oldest first, each as far as it goes. What was
 * paid out of money that is gone by now is the loss of those payments, so that no other is asked for it twice.
 */
export const allocateRefund = (
  { amount, source }: Pick<RefundState, "amount" | "source">,
  payments: ReadonlyArray<PaymentState>
): ReadonlyArray<Command> => {
  const rank = (payment: PaymentState): number =>
    isReceived(payment) ? source === "late" && !isLate(payment) ? 1 : 0 : 2
  const inOrder = payments.toSorted((a, b) => rank(a) - rank(b) || bySeenAt(a, b))
  let left: bigint = amount
  return inOrder.flatMap((payment) => {
    const capacity = payment.amount - payment.refunded
    const share = capacity < left ? capacity : left
    if (share <= 0n) return []
    left -= share
    return [{ _tag: "Refund", paymentId: payment.id, amount: usdMillis(share) } as const]
  })
}

/**
 * What becomes of open refunds once a payment is gone from the chain: the newest give way first. What waits is cut to
 * what is still there, or canceled; what was to be paid out and is not sent has failed, as its token amount no longer
 * holds. A payout that is sent is a fact.
 */
export const reduceRefunds = (
  refunds: ReadonlyArray<RefundState>,
  invoice: Aggregate,
  now: number
): ReadonlyArray<RefundState> => {
  let excess = -balance(invoice.payments, refunds, () => true, isReceived)
  return refunds.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)).flatMap((refund) => {
    if (excess <= 0n || !isOpen(refund) || refund.txHash !== null) return []
    const shortfall = excess < refund.amount ? excess : refund.amount
    const left = usdMillis(refund.amount - shortfall)
    const isWaiting = refund.status === "awaiting_destination" || refund.status === "pending_approval"
    if (isWaiting || left > 0n) excess -= shortfall
    const next = { ...refund, version: refund.version + 1, updatedAt: now }
    if (!isWaiting) {
      const amount = left > 0n ? left : refund.amount
      return refund.status === "failed" && amount === refund.amount
        ? []
        : [{
          ...next,
          status: "failed" as const,
          failureCode: revertedCode,
          amount,
          // What is left may be less than the fee: it is worked out again with the next payout.
          fee: refund.fee < amount ? refund.fee : usdMillis(0n)
        }]
    }
    if (left === 0n) return [{ ...next, status: "canceled" as const, dueAt: null }]
    return refund.fee < left
      ? [{ ...next, amount: left }]
      : [{
        ...next,
        status: "awaiting_destination" as const,
        amount: left,
        fee: usdMillis(0n),
        destination: null,
        dueAt: refund.createdAt + destinationSeconds
      }]
  })
}
