/**
 * Refunds and payments: which payment gives what was paid out, and which refund gives way to a payment that is gone.
 */
import { usdMillis } from "../../../schemas/Money.ts"
import {
  type Aggregate,
  type Command,
  divideRefund,
  isReceived,
  type PaymentState,
  withOpenRefunds
} from "../../invoices/plugin.ts"
import { balance } from "./Amounts.ts"
import { destinationSeconds, isOpen, type RefundState } from "./State.ts"
import { revertedCode } from "../../../schemas/Refund.ts"
import { openRefunds } from "./Tracking.ts"

/**
 * Which payments give what a payout gave back. Refunds of an order that were opened before it and are not paid yet take
 * theirs first, as the books have it.
 */
export const allocateRefund = (
  refund: Pick<RefundState, "amount" | "id" | "source">,
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<Command> => {
  const place = refunds.findIndex(({ id }) => id === refund.id)
  const before = refunds.slice(0, place === -1 ? refunds.length : place)
  const left = withOpenRefunds(payments, openRefunds(before.filter(({ terms }) => terms === null)))
  return divideRefund(refund, left).map(({ amount, payment }) => ({ _tag: "Refund", paymentId: payment.id, amount }))
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
    if (excess <= 0n || !isOpen(refund) || refund.txHash !== null || refund.batch?.isOut === true) return []
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
          dueAt: null,
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
