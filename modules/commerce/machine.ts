/**
 * The order: every rule about when it changes, and nothing else. Pure: no clock, no ids, no SQL, no retailer. The
 * hook of the order's invoice loads both, supplies time, and commits what is returned together with the invoice. The
 * rules are in `machine/` by subject: `decide` hands each fact to its rule.
 *
 *   status           substatus                                                       entered when
 *   pending_payment  AWAITING_PAYMENT, PARTIALLY_PAID, PAYMENT_CONFIRMING            created; mirrors the invoice
 *   processing       AWAITING_SETTLEMENT, SETTLEMENT_REVIEW                          the invoice is paid
 *                    PROVIDER_PLACEMENT_SUBMITTED, PROVIDER_PLACEMENT_RETRYING       the gate is open
 *   placed           AWAITING_TRACKING, CANCELLATION_REQUESTED                       the retailer accepted
 *   shipped          IN_TRANSIT, OUT_FOR_DELIVERY, DELIVERY_EXCEPTION                the first shipment
 *   delivered        DELIVERED, DELIVERY_CONFIRMED                                   carrier; customer or retailer
 *   cancelled        PAYMENT_EXPIRED, CANCELLED_BY_MERCHANT, CANCELLED_BY_RETAILER
 *   failed           SETTLEMENT_FAILED, PLACEMENT_FAILED, PAYMENT_REVERSED
 *
 *   from -> to                                                          because
 *   pending_payment -> processing(AWAITING_SETTLEMENT)                  the invoice is paid
 *   pending_payment -> cancelled(PAYMENT_EXPIRED)                       it expired, or was short at its end: no grace
 *   pending_payment -> cancelled(CANCELLED_BY_MERCHANT)                 cancel call; the invoice ends with it
 *   AWAITING_SETTLEMENT <-> SETTLEMENT_REVIEW                           a settlement needs an operator, or no longer
 *   AWAITING_SETTLEMENT, SETTLEMENT_REVIEW -> PROVIDER_PLACEMENT_SUBMITTED     the gate opens
 *   AWAITING_SETTLEMENT, SETTLEMENT_REVIEW -> failed(SETTLEMENT_FAILED)        an operator gave the settlement up
 *   processing -> failed(PAYMENT_REVERSED)                                     the invoice is unpaid again or refunded
 *   PROVIDER_PLACEMENT_SUBMITTED -> PROVIDER_PLACEMENT_RETRYING         the retailer gave no answer
 *   PROVIDER_PLACEMENT_* -> placed(AWAITING_TRACKING)                   the retailer accepted
 *   PROVIDER_PLACEMENT_* -> failed(PLACEMENT_FAILED)                    it refused, or was never reached
 *   placed(AWAITING_TRACKING) -> placed(CANCELLATION_REQUESTED)         cancel call
 *   placed(CANCELLATION_REQUESTED) -> cancelled(CANCELLED_BY_MERCHANT), or back      the retailer's answer
 *   placed -> shipped -> delivered                                      tracking; a shipment is also a no to cancel
 *   placed, shipped -> cancelled(CANCELLED_BY_RETAILER)                 the retailer cancels by itself
 *
 * Nothing leaves delivered, cancelled and failed. What arrives for one that ended is refunded. An order that ends after
 * it was paid, and whose payment is gone by then or goes later, takes its invoice to canceled in the same commit. So
 * does one whose payment goes while its retailer may have it: the invoice is canceled at once, and the order fails when
 * the retailer has given it back.
 *
 * The gate: an order is submitted for placement only while its invoice is paid and every payment that counted when it
 * became so is settled. It is asked when the order becomes submitted, and again by the command `PlacementBegun`, in the
 * commit before each call to the retailer. The rules in words: modules/docs/reference/orders.md#transitions.
 */
import type { Rollup } from "../../runtime/Rollups.ts"
import type { EventDraft } from "../../schemas/Event.ts"
import { previousAttributes } from "../../schemas/Event.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import type { Aggregate } from "../invoices/plugin.ts"
import { rejectCancellation, requestCancellation, withInvoiceCanceled } from "./machine/Cancellation.ts"
import { followInvoice, isGateOpen, withPaymentState } from "./machine/Payment.ts"
import { recordNoAnswer, recordPlacement, withdraw } from "./machine/Placement.ts"
import { canSetRefundDestination, refundRequestOf, withRefund } from "./machine/Refunds.ts"
import { answerSeconds, callSeconds } from "./machine/Schedule.ts"
import { recordDelivery, recordShipment } from "./machine/Shipments.ts"
import {
  invalidTransition,
  isAwaitingPlacement,
  isAwaitingSettlement,
  type OrderDecision,
  type OrderFact,
  type OrderState,
  type RefundView,
  type Step,
  transition
} from "./machine/State.ts"
import { orderObject } from "./machine/Wire.ts"

export { isGateOpen } from "./machine/Payment.ts"
export { placedOrderOf, placementOf, type Task, taskOf } from "./machine/Placement.ts"
export { canSetRefundDestination, isRedirectable, withRefund } from "./machine/Refunds.ts"
export { answerSeconds, backoffSeconds, callSeconds, maximumTries, trackingSeconds } from "./machine/Schedule.ts"
export {
  type Destination,
  isEnded,
  type NewOrder,
  newOrder,
  type OrderAmounts,
  type OrderDecision,
  type OrderFact,
  type OrderPaymentState,
  type OrderState,
  type RefundRequest,
  type RefundView
} from "./machine/State.ts"
export { orderObject, paymentStatusObject } from "./machine/Wire.ts"

/** The event of a new order. */
export const orderCreatedEvent = (order: OrderState): EventDraft => ({
  type: "commerce.order.created",
  object: orderObject(order),
  previousAttributes: {}
})

/**
 * The order after its invoice came to be `invoice`, then after each fact in turn. A fact that was taken up before
 * changes nothing; one that cannot be true of the order now is `INVALID_TRANSITION`, a cancel call that comes too late
 * `ORDER_NOT_CANCELABLE`.
 */
export const decide = (
  order: OrderState,
  facts: ReadonlyArray<OrderFact>,
  invoice: Aggregate,
  now: number
): OrderDecision | PublicError => {
  let step: Step = { order: followInvoice(withPaymentState(order, invoice), invoice, now), commands: [] }
  for (const fact of facts) {
    const after = applyFact(step.order, fact, invoice, now)
    if (isPublicError(after)) return after
    step = { order: after.order, commands: [...step.commands, ...after.commands] }
  }
  const finalStep = withInvoiceCanceled(step, invoice)
  const next = finalStep.order
  const hasDestination = facts.some(({ _tag }) => _tag === "RefundDestinationSet" || _tag === "CancelRequested")
  const refund = refundRequestOf(order, next, hasDestination)
  const isMoved = next.refundDestination !== order.refundDestination
  return {
    next,
    commands: finalStep.commands,
    refund,
    redirect: isMoved ? next.refundDestination : null,
    needsRefundQuote: refund !== null || isMoved ||
      (next.substatus === "CANCELLATION_REQUESTED" && next.substatus !== order.substatus)
  }
}

const applyFact = (order: OrderState, fact: OrderFact, invoice: Aggregate, now: number): Step | PublicError => {
  const after = afterFact(order, fact, invoice, now)
  return isPublicError(after) || "commands" in after ? after : { order: after, commands: [] }
}

const afterFact = (
  order: OrderState,
  fact: OrderFact,
  current: Aggregate,
  now: number
): OrderState | Step | PublicError => {
  switch (fact._tag) {
    case "Placed":
      return recordPlacement(order, fact.providerOrderId, current, now)
    case "PlacementFailed":
      if (order.substatus === "PLACEMENT_FAILED") return order
      return isAwaitingPlacement(order)
        ? transition(order, "failed", "PLACEMENT_FAILED", fact.reason, now)
        : invalidTransition()
    case "Shipped":
      return recordShipment(order, fact.shipment, now)
    case "Delivered":
      return recordDelivery(order, fact.isConfirmed, now)
    case "CancellationAccepted":
      if (order.status === "cancelled" && order.cancellation === "accepted") return order
      return order.substatus === "CANCELLATION_REQUESTED"
        ? transition(order, "cancelled", "CANCELLED_BY_MERCHANT", "Canceled by the retailer as asked", now, {
          cancellation: "accepted"
        })
        : invalidTransition()
    case "CancellationRejected":
      if (order.substatus === "CANCELLATION_REQUESTED") return rejectCancellation(order, fact.reason, now)
      return order.cancellation === "rejected" ? order : invalidTransition()
    case "CanceledByRetailer":
      if (order.substatus === "CANCELLED_BY_RETAILER") return order
      return order.status === "placed" || order.status === "shipped"
        ? transition(order, "cancelled", "CANCELLED_BY_RETAILER", fact.reason, now, {
          cancellation: order.cancellation === "requested" ? "accepted" : order.cancellation
        })
        : invalidTransition()
    case "CancelRequested":
      return requestCancellation(order, fact, current, now)
    case "RefundDestinationSet":
      return canSetRefundDestination(order) ? { ...order, refundDestination: fact.destination } : invalidTransition()
    case "SettlementAbandoned":
      return isAwaitingSettlement(order) && order.paidBy.includes(fact.paymentId)
        ? transition(order, "failed", "SETTLEMENT_FAILED", "Settlement failed", now)
        : order
    case "Refund":
      return withRefund(order, fact.refund)
    case "PlacementBegun":
      return isAwaitingPlacement(order) && isGateOpen(order, current)
        ? { ...order, tries: order.tries + 1, dueAt: now + callSeconds }
        : invalidTransition()
    case "CancellationBegun":
      return order.substatus === "CANCELLATION_REQUESTED" || isAwaitingPlacement(order)
        ? { ...order, tries: order.tries + 1, dueAt: now + callSeconds }
        : invalidTransition()
    case "RetailerAnswered":
      // The gate has closed during the call, which is over now.
      if (isAwaitingPlacement(order) && !isGateOpen(order, current)) return { ...order, dueAt: now }
      return isAwaitingPlacement(order) || order.substatus === "CANCELLATION_REQUESTED"
        ? { ...order, isAcknowledged: true, dueAt: now + answerSeconds }
        : order
    case "RetailerSilent":
      return recordNoAnswer(order, current, now)
    case "Withdrawn":
      return withdraw(order, current, now)
  }
}

/** An order as it is committed after a decision: null where it is as it was. */
export interface OrderUpdate {
  readonly order: OrderState
  /** One, or none where nothing that is shown has changed. */
  readonly events: ReadonlyArray<EventDraft>
}

/** Whatever happened to an order in one commit is told by one event. */
export const orderUpdate = (before: OrderState, next: OrderState, now: number): OrderUpdate | null => {
  const previousObject = orderObject(before)
  const isShown = Object.keys(previousAttributes(previousObject, orderObject(next))).length > 0
  const order: OrderState = { ...next, version: before.version + 1, updatedAt: isShown ? now : before.updatedAt }
  if (!isShown) return isSame(before, next) ? null : { order, events: [] }
  const object = orderObject(order)
  return {
    order,
    events: [{ type: "commerce.order.updated", object, previousAttributes: previousAttributes(previousObject, object) }]
  }
}

/** What is kept beside what is shown. */
const isSame = (a: OrderState, b: OrderState): boolean =>
  a.tries === b.tries && a.isAcknowledged === b.isAcknowledged && a.dueAt === b.dueAt && a.received === b.received &&
  a.receivedLate === b.receivedLate && a.refunded === b.refunded && a.paidBy.join() === b.paidBy.join() &&
  a.refundDestination === b.refundDestination && a.refunds.length === b.refunds.length &&
  a.refunds.every((refund, place) => isSameRefund(refund, b.refunds[place]!))

const isSameRefund = (a: RefundView, b: RefundView): boolean =>
  a.status === b.status && a.amount === b.amount && a.fee === b.fee && a.txHash === b.txHash &&
  a.destination?.network === b.destination?.network && a.destination?.address === b.destination?.address

/**
 * Orders by how they stand and when they were created: counts, totals and what was paid of them. Keys are
 * `<status>:<retailer or nothing>:<wallet_network or nothing>`. For all time, by six hours and by quarter of an
 * hour.
 */
export const orderStates: Rollup = {
  sum: "commerce.orders",
  version: 2,
  object: "commerce_order",
  widths: [0, 21_600, 900],
  contributions: (order) => [{
    at: order.created_at as number,
    key: `${order.status}:${order.retailer ?? ""}:${order.wallet_network ?? ""}`,
    count: 1,
    amount: BigInt(order.total_amount as number),
    amountPaid: BigInt((order.payment as { readonly amount_paid: number }).amount_paid)
  }]
}
