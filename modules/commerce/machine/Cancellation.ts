/** Cancellation: when an order can be canceled, what the retailer may answer, and when its invoice ends with it. */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { type Aggregate, hasPending } from "../../invoices/plugin.ts"
import { isStuck } from "./Payment.ts"
import { leastTrackingSeconds } from "./Schedule.ts"
import { type Destination, isEnded, type OrderState, type Step, transition } from "./State.ts"

export const requestCancellation = (
  order: OrderState,
  { destination, reason }: { readonly destination: Destination | null; readonly reason: string | null },
  current: Aggregate,
  now: number
): Step | PublicError => {
  if (cancelObstacle(order) !== null || (order.status === "pending_payment" && hasPending(current))) {
    return publicError("ORDER_NOT_CANCELABLE")
  }
  const withDestination = { ...order, refundDestination: destination ?? order.refundDestination }
  if (order.status === "placed") {
    const pendingOrder = transition(
      withDestination,
      "placed",
      "CANCELLATION_REQUESTED",
      reason ?? "Cancellation requested",
      now,
      {
        cancellation: "requested",
        dueAt: now
      }
    )
    return { order: pendingOrder, commands: [] }
  }
  const message = reason ?? "Canceled before it was paid"
  const canceledOrder = transition(withDestination, "cancelled", "CANCELLED_BY_MERCHANT", message, now, {
    cancellation: "accepted"
  })
  return {
    order: { ...canceledOrder, payment: { ...canceledOrder.payment, status: "canceled" } },
    commands: [{ _tag: "Cancel", byOrder: true }]
  }
}

export const rejectCancellation = (order: OrderState, reason: string, now: number): OrderState =>
  transition(order, "placed", "AWAITING_TRACKING", reason, now, {
    cancellation: "rejected",
    refundQuote: null,
    dueAt: now + leastTrackingSeconds
  })

/** Why a cancel call would be refused now, null where it would not: `actions.cancel_reason_code`. */
export const cancelObstacle = ({ status, substatus }: OrderState): string | null => {
  switch (status) {
    case "pending_payment":
      return substatus === "PAYMENT_CONFIRMING" ? substatus : null
    case "placed":
      return substatus === "CANCELLATION_REQUESTED" ? substatus : null
    default:
      return `ORDER_${status.toUpperCase()}`
  }
}

/**
 * An order that was paid and has ended can never be paid again, nor can one whose retailer is only asked to give it
 * back before it fails. Where its payment is gone, its invoice is canceled in the same commit, so that nobody is asked
 * to pay for nothing and what arrives later is late. An invoice that is paid stays so: it is not payable, and its
 * status says that money came.
 */
export const withInvoiceCanceled = (step: Step, current: Aggregate): Step => {
  const { commands, order } = step
  const { status } = current.invoice
  const isOver = status === "paid" || status === "canceled"
  const canNotBePaid = isEnded(order) || (order.status === "processing" && !isStuck(order, current))
  if (!canNotBePaid || order.paidBy.length === 0 || isOver) return step
  return {
    order: { ...order, payment: { ...order.payment, status: "canceled" } },
    commands: [...commands, { _tag: "Cancel", byOrder: true }]
  }
}
