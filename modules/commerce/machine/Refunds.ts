/** Refunds of an order: what is to be given back, where it goes, and what the order shows of it. */
import type { OrderRefundStatus } from "../../../schemas/Order.ts"
import { isEnded, type OrderState, type RefundRequest, type RefundView } from "./State.ts"

/** The order with a refund as it will be. */
export const withRefund = (order: OrderState, refund: RefundView): OrderState => {
  const view: RefundView = {
    id: refund.id,
    status: refund.status,
    amount: refund.amount,
    fee: refund.fee,
    destination: refund.destination === null
      ? null
      : { network: refund.destination.network, address: refund.destination.address },
    txHash: refund.txHash,
    reason: refund.reason
  }
  const refunds = order.refunds.some(({ id }) => id === view.id)
    ? order.refunds.map((each) => (each.id === view.id ? view : each))
    : [...order.refunds, view]
  return { ...order, refunds, refundQuote: view.status === "succeeded" ? null : order.refundQuote }
}

/**
 * What is to be given back now; the refund engine knows what of it is on its way already. What comes late for an order
 * that goes on without its payment waits until its retailer has answered: it is all that may pay for goods under way.
 */
export const refundRequestOf = (
  before: OrderState,
  after: OrderState,
  hasDestination: boolean
): RefundRequest | null => {
  const base = { destination: after.refundDestination, feeFree: after.status === "failed" }
  const isNew = after.received > before.received
  if (!isEnded(after)) {
    const isUnpaid = after.payment.status === "canceled"
    return !isUnpaid && after.receivedLate > before.receivedLate
      ? { ...base, reason: "late_payment", lateOnly: true }
      : null
  }
  const isEnding = !isEnded(before)
  const isLeft = after.received > after.refunded
  const isLost = after.refunds.every(({ status }) => status === "canceled" || status === "expired")
  if (!isLeft || !(isEnding || isNew || (hasDestination && isLost))) return null
  const hasNewLateFunds = after.receivedLate > before.receivedLate
  return { ...base, reason: hasNewLateFunds ? "late_payment" : reasonOf(after), lateOnly: false }
}

const reasonOf = ({ status, substatus }: OrderState): RefundRequest["reason"] =>
  status === "failed" ? "order_failed" : substatus === "PAYMENT_EXPIRED" ? "underpayment" : "order_cancelled"

/** Whether a refund can still go elsewhere: until it is being paid out, and again once that failed. */
export const isRedirectable = ({ status }: Pick<RefundView, "status">): boolean =>
  status === "awaiting_destination" || status === "pending_approval" || status === "failed"

/** Until a refund is on its way (modules/docs/reference/refunds.md#destination). */
export const canSetRefundDestination = (order: OrderState): boolean => {
  const refund = displayedRefund(order)
  return refund === undefined || isRedirectable(refund) || refund.status === "expired"
}

/** The refund an order shows: the first that is not over, else the newest. */
export const displayedRefund = ({ refunds }: OrderState): RefundView | undefined =>
  refunds.find(({ status }) => status !== "succeeded" && status !== "canceled" && status !== "expired") ??
    refunds.findLast(({ status }) => status !== "canceled") ?? undefined

export const refundStatus = (order: OrderState): OrderRefundStatus => {
  const refund = displayedRefund(order)
  switch (refund?.status) {
    case "awaiting_destination":
      return "AWAITING_DESTINATION"
    case "pending_approval":
      return "PENDING"
    case "processing":
      return "PROCESSING"
    case "succeeded":
      return order.refunded >= order.received ? "REFUNDED" : "PARTIALLY_REFUNDED"
    case "failed":
      return "FAILED"
    // Nobody said where to within its time: the money is owed, and a destination opens it anew.
    case "expired":
      return "AWAITING_DESTINATION"
    default:
      return "NONE"
  }
}
