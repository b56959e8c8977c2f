/** Placement with the retailer: what it is asked, and what its answer or its silence does to the order. */
import type { PublicError } from "../../../schemas/Errors.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import type { PlacedOrder, Placement } from "../../retail/plugin.ts"
import { rejectCancellation } from "./Cancellation.ts"
import { isGateOpen } from "./Payment.ts"
import { backoffSeconds, leastTrackingSeconds, maximumTries } from "./Schedule.ts"
import { invalidTransition, isAwaitingPlacement, type OrderState, transition } from "./State.ts"

/** A retailer names an order that was submitted to it; for any other there is nothing it could have placed. */
export const recordPlacement = (
  order: OrderState,
  providerOrderId: string,
  current: Aggregate,
  now: number
): OrderState | PublicError => {
  if (order.providerOrderId !== null) return order.providerOrderId === providerOrderId ? order : invalidTransition()
  const isSubmitted = isAwaitingPlacement(order) && (order.tries > 0 || isGateOpen(order, current))
  return isSubmitted
    ? transition(order, "placed", "AWAITING_TRACKING", "Placed with the retailer", now, {
      providerOrderId,
      placedAt: now,
      dueAt: now + leastTrackingSeconds
    })
    : invalidTransition()
}

/**
 * After a call without an answer: it is repeated later, until it is given up. What a retailer may have placed all the
 * same is taken back before the order fails.
 */
export const recordNoAnswer = (order: OrderState, current: Aggregate, now: number): OrderState => {
  const dueAt = now + backoffSeconds(Math.max(1, order.tries % maximumTries))
  if (order.substatus === "CANCELLATION_REQUESTED") {
    return order.tries >= maximumTries
      ? rejectCancellation(order, "The retailer gave no answer", now)
      : { ...order, dueAt }
  }
  if (!isAwaitingPlacement(order)) return order
  return order.tries >= 2 * maximumTries
    ? withdraw(order, current, now)
    : transition(order, "processing", "PROVIDER_PLACEMENT_RETRYING", "The retailer gave no answer", now, {
      tries: order.tries,
      dueAt
    })
}

export const withdraw = (order: OrderState, current: Aggregate, now: number): OrderState => {
  if (!isAwaitingPlacement(order)) return order
  return isGateOpen(order, current)
    ? transition(order, "failed", "PLACEMENT_FAILED", "The retailer gave no answer", now)
    : transition(order, "failed", "PAYMENT_REVERSED", "Payment is gone from the chain", now)
}

/** What the clock does for an order that is due. */
export type Task =
  /** Ask the retailer to place it, once the command `PlacementBegun` is committed. */
  | "place"
  /** Take back what may have been placed: the gate has closed since, or too many calls went without an answer. */
  | "withdraw"
  /** Ask it to cancel, once the command `CancellationBegun` is committed. */
  | "cancel"
  /** Look whether it has something to tell. */
  | "track"

export const taskOf = (order: OrderState, current: Aggregate): Task | null => {
  if (isAwaitingPlacement(order)) {
    if (!isGateOpen(order, current)) return "withdraw"
    if (order.isAcknowledged) return "track"
    return order.tries < maximumTries ? "place" : "withdraw"
  }
  if (order.substatus === "CANCELLATION_REQUESTED") return order.isAcknowledged ? "track" : "cancel"
  return order.status === "placed" || order.status === "shipped" ? "track" : null
}

/** What the retailer is asked to place. */
export const placementOf = (order: OrderState): Placement => ({
  orderId: order.id,
  merchantId: order.merchantId,
  environment: order.environment,
  customerId: order.customerId,
  items: order.items,
  address: order.address,
  shippingOptionId: order.shipping.id
})

/** What the retailer is asked about. */
export const placedOrderOf = (order: OrderState): PlacedOrder => ({
  orderId: order.id,
  merchantId: order.merchantId,
  environment: order.environment,
  providerOrderId: order.providerOrderId,
  placedAt: order.placedAt,
  items: order.items
})
