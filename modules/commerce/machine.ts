/**
 * The order: every rule about when it changes, and nothing else. Pure: no clock, no ids, no SQL, no retailer. The
 * hook of the order's invoice loads both, supplies time, and commits what is returned together with the invoice.
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
 *   processing -> failed(PAYMENT_REVERSED)                              the invoice is not paid any more, or was refunded
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
import type { WireObject } from "../../schemas/WireObject.ts"
import { previousAttributes } from "../../schemas/Event.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import type { InvoiceStatus, Metadata } from "../../schemas/Invoice.ts"
import { usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type {
  CancellationStatus,
  LineItemStatus,
  OrderRefundStatus,
  OrderStatus,
  OrderSubstatus,
  Retailer,
  Shipment,
  TimelineEntry
} from "../../schemas/Order.ts"
import { isCounted, type SettlementStatus } from "../../schemas/Payment.ts"
import type { RefundQuote } from "../../schemas/Refund.ts"
import {
  type Aggregate,
  type Command,
  hasPending,
  newestCountedPayment,
  type PaymentState
} from "../invoices/plugin.ts"
import type {
  OfferedItem,
  OrderedItem,
  PlacedOrder,
  Placement,
  PostalAddress,
  RetailerReport,
  ShippingOption
} from "../retail/plugin.ts"

/** Where a refund goes. */
export interface Destination {
  readonly network: Network
  readonly address: string
  readonly memo: string | null
}

/** What an order comes to; `total` is what its invoice asks for. */
export interface OrderAmounts {
  readonly subtotal: UsdMillis
  readonly shipping: UsdMillis
  readonly tax: UsdMillis
  readonly fees: UsdMillis
  readonly total: UsdMillis
}

/** What a new order is made of; everything is validated by then. */
export interface NewOrder {
  /** A UUID of version 7. */
  readonly orderId: string
  readonly merchantId: number
  readonly environment: Environment
  readonly customerId: string | null
  readonly walletAddress: string | null
  readonly walletNetwork: Network | null
  /** At least one. */
  readonly items: ReadonlyArray<OfferedItem>
  readonly shipping: ShippingOption
  readonly address: PostalAddress
  readonly amounts: OrderAmounts
  readonly refundDestination: Destination | null
  readonly metadata: Metadata
}

/** What an order shows of its invoice's payment. */
export interface OrderPaymentState {
  readonly status: InvoiceStatus
  readonly amountPaid: UsdMillis
  /** Of the newest payment that counts. */
  readonly txHash: string | null
  readonly network: Network | null
  readonly paidAt: number | null
  /** Of the payment whose settlement has come least far. */
  readonly settlement: {
    readonly status: SettlementStatus | null
    readonly txHash: string | null
    readonly network: Network | null
    readonly settledAt: number | null
  }
}

/** A refund of the order's invoice, as the refund engine tells of it. */
export interface RefundView {
  readonly id: string
  readonly status:
    | "awaiting_destination"
    | "pending_approval"
    | "processing"
    | "succeeded"
    | "failed"
    | "canceled"
    | "expired"
  readonly amount: UsdMillis
  readonly fee: UsdMillis
  readonly destination: { readonly network: Network; readonly address: string } | null
  readonly txHash: string | null
  readonly reason: string
}

export interface OrderState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly invoiceId: string
  readonly status: OrderStatus
  readonly substatus: OrderSubstatus
  /** Null where the items are of several. */
  readonly retailer: Retailer | null
  readonly timeline: ReadonlyArray<TimelineEntry>
  readonly payment: OrderPaymentState
  /** Ids of the payments that must be settled; empty until the invoice is paid. */
  readonly paidBy: ReadonlyArray<string>
  /** usd_millis that arrived: what counts, and what came too late to. */
  readonly received: UsdMillis
  /** usd_millis of it that came too late. */
  readonly receivedLate: UsdMillis
  /** usd_millis of it that were paid back. */
  readonly refunded: UsdMillis
  readonly providerOrderId: string | null
  readonly placedAt: number | null
  readonly deliveredAt: number | null
  readonly shipments: ReadonlyArray<Shipment>
  readonly items: ReadonlyArray<OrderedItem>
  readonly amounts: OrderAmounts
  readonly customerId: string | null
  readonly walletAddress: string | null
  readonly walletNetwork: Network | null
  readonly cancellation: CancellationStatus
  /** In the order they were opened. */
  readonly refunds: ReadonlyArray<RefundView>
  readonly refundQuote: RefundQuote | null
  readonly refundDestination: Destination | null
  readonly shipping: ShippingOption
  readonly address: PostalAddress
  readonly metadata: Metadata
  /** Calls to the retailer that were begun for the present wish, to place or to cancel; 0 after any other step. */
  readonly tries: number
  /** Whether the retailer has answered the present wish, without saying what becomes of it. */
  readonly isAsked: boolean
  /** Epoch seconds at which the retailer is called next; null: never by the clock alone. */
  readonly dueAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** What can happen to an order beside what its invoice shows. */
export type OrderFact =
  | RetailerReport
  /** Its merchant wants it canceled. */
  | { readonly _tag: "CancelRequested"; readonly reason: string | null; readonly destination: Destination | null }
  | { readonly _tag: "RefundDestinationSet"; readonly destination: Destination }
  /** Nobody will settle this payment any more. */
  | { readonly _tag: "SettlementAbandoned"; readonly paymentId: string }
  /** The refund engine tells of a refund of the order's invoice. */
  | { readonly _tag: "Refund"; readonly refund: RefundView }
  /** The retailer is about to be called to place it. */
  | { readonly _tag: "PlacementBegun" }
  /** The same, to cancel it, or to take back what it may have placed. */
  | { readonly _tag: "CancellationBegun" }
  /** The retailer took the wish up; what it said beside comes as reports. */
  | { readonly _tag: "RetailerAnswered" }
  /** The retailer gave no answer. */
  | { readonly _tag: "RetailerSilent" }
  /** What it may have placed without telling is taken back. */
  | { readonly _tag: "Withdrawn" }

/** A refund to open in the same commit. */
export interface RefundRequest {
  readonly reason: "order_cancelled" | "order_failed" | "underpayment" | "late_payment"
  readonly destination: Destination | null
  /** A refund after a failure costs the payor nothing (modules/docs/reference/orders.md#accidents). */
  readonly feeFree: boolean
  /** Only what came too late; else all that is left. */
  readonly lateOnly: boolean
}

/** What to commit: the order as it will be, and what must land with it. */
export interface OrderDecision {
  readonly next: OrderState
  /** For the invoice, in the same commit. */
  readonly commands: ReadonlyArray<Command>
  readonly refund: RefundRequest | null
  /** Refunds that wait and are to go here. */
  readonly redirect: Destination | null
  /** Whether to say what a refund would come to. */
  readonly needsRefundQuote: boolean
}

/** Seconds until a call to the retailer that was begun counts as lost with its process: a call ends within 10 s. */
export const callSeconds = 60

/** Seconds between two looks at an order whose retailer owes an answer. */
export const answerSeconds = 60

/**
 * Seconds between two looks at an order that is placed or under way, at least and at most
 * (modules/docs/reference/retailers.md#tracking).
 */
const leastTrackingSeconds = 30
const mostTrackingSeconds = 3_600

/** One look an eighth of the time since it last changed: often while something happens, rarely once nothing does. */
export const trackingSeconds = ({ updatedAt }: Pick<OrderState, "updatedAt">, now: number): number =>
  Math.min(mostTrackingSeconds, Math.max(leastTrackingSeconds, Math.floor((now - updatedAt) / 8)))

/** Seconds until the first repeat of a call without an answer; doubled with each one, up to the second figure. */
const firstBackoffSeconds = 30
const maximumBackoffSeconds = 3_600

/** Calls without an answer after which a placement or a cancellation is given up: about five hours. */
export const maximumTries = 12

/** Seconds to wait after so many calls without an answer. */
export const backoffSeconds = (tries: number): number =>
  Math.min(maximumBackoffSeconds, firstBackoffSeconds * 2 ** Math.min(tries - 1, 16))

const invalidTransition = () => publicError("INVALID_TRANSITION")

/** A new order, waiting for its invoice to be paid. */
export const newOrder = (input: NewOrder, invoiceId: string, now: number): OrderState => {
  const retailers = new Set(input.items.map(({ retailer }) => retailer))
  const [retailer = null] = retailers
  return {
    id: input.orderId,
    merchantId: input.merchantId,
    environment: input.environment,
    version: 1,
    invoiceId,
    status: "pending_payment",
    substatus: "AWAITING_PAYMENT",
    retailer: retailers.size === 1 ? retailer : null,
    timeline: [{ status: "pending_payment", substatus: "AWAITING_PAYMENT", timestamp: now, message: "Order created" }],
    payment: {
      status: "unpaid",
      amountPaid: usdMillis(0n),
      txHash: null,
      network: null,
      paidAt: null,
      settlement: noSettlement
    },
    paidBy: [],
    received: usdMillis(0n),
    receivedLate: usdMillis(0n),
    refunded: usdMillis(0n),
    providerOrderId: null,
    placedAt: null,
    deliveredAt: null,
    shipments: [],
    items: input.items.map((item, index) => ({ ...item, lineItemId: `li_${index + 1}` })),
    amounts: input.amounts,
    customerId: input.customerId,
    walletAddress: input.walletAddress,
    walletNetwork: input.walletNetwork,
    cancellation: "none",
    refunds: [],
    refundQuote: null,
    refundDestination: input.refundDestination,
    shipping: input.shipping,
    address: input.address,
    metadata: input.metadata,
    tries: 0,
    isAsked: false,
    dueAt: null,
    createdAt: now,
    updatedAt: now
  }
}

const noSettlement: OrderPaymentState["settlement"] = { status: null, txHash: null, network: null, settledAt: null }

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

interface Step {
  readonly order: OrderState
  readonly commands: ReadonlyArray<Command>
}

/**
 * An order that was paid and has ended can never be paid again, nor can one whose retailer is only asked to give it
 * back before it fails. Where its payment is gone, its invoice is canceled in the same commit, so that nobody is asked
 * to pay for nothing and what arrives later is late. An invoice that is paid stays so: it is not payable, and its
 * status says that money came.
 */
const withInvoiceCanceled = (step: Step, current: Aggregate): Step => {
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

/** An order that ended early: what arrived for it is given back. */
export const isEnded = ({ status }: Pick<OrderState, "status">): boolean =>
  status === "cancelled" || status === "failed"

const sum = (payments: ReadonlyArray<PaymentState>, of: (payment: PaymentState) => bigint): UsdMillis =>
  usdMillis(payments.reduce((total, payment) => total + of(payment), 0n))

const isLate = ({ metadata, status }: PaymentState): boolean =>
  status === "rejected" && metadata.exception === "late_payment"

/** The order's money as its invoice shows it; no step is made by it. */
const withPaymentState = (order: OrderState, { invoice, payments }: Aggregate): OrderState => {
  const countedPayments = payments.filter(({ status }) => isCounted(status))
  const latePayments = payments.filter(isLate)
  const newest = newestCountedPayment(payments)
  return {
    ...order,
    payment: {
      status: invoice.status,
      amountPaid: invoice.amountPaid,
      txHash: newest?.txHash ?? null,
      network: newest?.network ?? null,
      paidAt: invoice.paidAt,
      settlement: laggingSettlement(countedPayments)
    },
    received: sum([...countedPayments, ...latePayments], ({ amount }) => amount),
    receivedLate: sum(latePayments, ({ amount }) => amount),
    refunded: sum(payments, ({ refunded }) => refunded)
  }
}

/** How far a settlement has come, least first. */
const settlementOrder: ReadonlyArray<SettlementStatus> = [
  "failed",
  "manual",
  "pending",
  "processing",
  "settled",
  "partially_refunded",
  "refunded"
]

const laggingSettlement = (countedPayments: ReadonlyArray<PaymentState>): OrderPaymentState["settlement"] => {
  const all = countedPayments.flatMap(({ settlement }) => settlement === null ? [] : [settlement])
  const [least] = all.toSorted((a, b) => settlementOrder.indexOf(a.status) - settlementOrder.indexOf(b.status))
  return least === undefined || all.length < countedPayments.length ? noSettlement : {
    status: least.status,
    txHash: least.txHash,
    network: least.network,
    settledAt: least.settledAt
  }
}

/** Takes a step: a line in the timeline, and the calls for the wish before are over. */
const transition = (
  order: OrderState,
  status: OrderStatus,
  substatus: OrderSubstatus,
  message: string,
  now: number,
  more: Partial<OrderState> = {}
): OrderState =>
  order.status === status && order.substatus === substatus ? { ...order, ...more } : {
    ...order,
    status,
    substatus,
    tries: 0,
    isAsked: false,
    dueAt: null,
    timeline: [...order.timeline, { status, substatus, timestamp: now, message }],
    ...more
  }

/**
 * Whether every payment the order was paid by is settled, and none of it was given back. A payment without a settlement
 * is not: where nothing settles, nothing is placed.
 */
export const isGateOpen = ({ paidBy }: Pick<OrderState, "paidBy">, { invoice, payments }: Aggregate): boolean => {
  const gatePayments = payments.filter(({ id }) => paidBy.includes(id))
  return invoice.status === "paid" && paidBy.length > 0 && gatePayments.length === paidBy.length &&
    gatePayments.every(({ settlement, status }) => isCounted(status) && hasSettled(settlement)) &&
    !isRefundedBelowAmount({ paidBy }, { invoice, payments })
}

/** Whether so much of what the order was paid by went back to the payor that the rest does not pay it. */
const isRefundedBelowAmount = (
  { paidBy }: Pick<OrderState, "paidBy">,
  { invoice, payments }: Pick<Aggregate, "invoice" | "payments">
): boolean => {
  const gatePayments = payments.filter(({ id, status }) => isCounted(status) && paidBy.includes(id))
  const keptAmount = gatePayments.reduce((total, { amount, refunded }) => total + amount - refunded, 0n)
  return keptAmount < invoice.amount - BigInt(invoice.policy.tolerance)
}

const settledStatuses: ReadonlyArray<SettlementStatus> = ["settled", "partially_refunded", "refunded"]

/** A refund may have been told of before any settlement: only a time of settling proves one. */
const hasSettled = (settlement: PaymentState["settlement"]): boolean =>
  settlement !== null && settlement.settledAt !== null && settledStatuses.includes(settlement.status)

/** The steps that the invoice alone makes. */
const followInvoice = (order: OrderState, current: Aggregate, now: number): OrderState => {
  switch (order.status) {
    case "pending_payment":
      return followPayment(order, current, now)
    case "processing":
      return followSettlement(order, current, now)
    default:
      return order
  }
}

const followPayment = (order: OrderState, current: Aggregate, now: number): OrderState => {
  const { invoice } = current
  const isWaiting = hasPending(current)
  if (invoice.status === "paid") {
    return followSettlement(
      transition(order, "processing", "AWAITING_SETTLEMENT", "Payment received", now, { paidBy: countedIds(current) }),
      current,
      now
    )
  }
  const isOver = invoice.status === "expired" || (invoice.status === "underpaid" && invoice.graceEnded)
  if (isOver && !isWaiting) {
    return transition(order, "cancelled", "PAYMENT_EXPIRED", "Not paid in time", now)
  }
  if (invoice.status === "canceled") {
    return transition(order, "cancelled", "CANCELLED_BY_MERCHANT", "Invoice canceled", now)
  }
  if (isWaiting) return transition(order, "pending_payment", "PAYMENT_CONFIRMING", "Payment seen", now)
  return invoice.status === "underpaid"
    ? transition(order, "pending_payment", "PARTIALLY_PAID", "Part of the payment received", now)
    : transition(order, "pending_payment", "AWAITING_PAYMENT", "Payment is gone from the chain", now)
}

const countedIds = ({ payments }: Aggregate): ReadonlyArray<string> =>
  payments.filter(({ status }) => isCounted(status)).map(({ id }) => id)

const followSettlement = (before: OrderState, current: Aggregate, now: number): OrderState => {
  const currentIds = countedIds(current)
  const isWhole = before.paidBy.every((id) => currentIds.includes(id))
  // What counted then may be gone while later payments make up for it: then those are waited for.
  const order = isWhole || current.invoice.status !== "paid" ? before : { ...before, paidBy: currentIds }
  const isOpen = isGateOpen(order, current)
  const isSubmitted = isAwaitingPlacement(order)
  if (isOpen) {
    return isSubmitted
      ? order
      : transition(order, "processing", "PROVIDER_PLACEMENT_SUBMITTED", "Payment settled", now, { dueAt: now })
  }
  // The retailer may have it by now: what it has placed is taken back first, see `taskOf`; at once where it was only
  // waited for, else when the call under way or the pause after it is over.
  if (isSubmitted && order.tries > 0) {
    return order.isAsked ? { ...order, isAsked: false, dueAt: now } : { ...order, dueAt: order.dueAt ?? now }
  }
  const isWaiting = isStuck(order, current)
  if (current.invoice.status !== "paid" && !isWaiting) {
    return transition(order, "failed", "PAYMENT_REVERSED", "Payment is gone from the chain", now)
  }
  if (current.invoice.status === "paid" && isRefundedBelowAmount(order, current)) {
    return transition(order, "failed", "PAYMENT_REVERSED", "Payment was given back", now)
  }
  const isManual = isWaiting ||
    current.payments.some(({ id, settlement }) => settlement?.status === "manual" && order.paidBy.includes(id))
  return isManual
    ? transition(order, "processing", "SETTLEMENT_REVIEW", "Settlement needs an operator", now)
    : transition(order, "processing", "AWAITING_SETTLEMENT", "Settlement under way", now)
}

/** A payment it was paid by waits for an operator, who may still make it count. */
const isStuck = ({ paidBy }: Pick<OrderState, "paidBy">, { payments }: Pick<Aggregate, "payments">): boolean =>
  payments.some(({ id, status }) => status === "manual_retry" && paidBy.includes(id))

const isAwaitingPlacement = ({ substatus }: OrderState): boolean =>
  substatus === "PROVIDER_PLACEMENT_SUBMITTED" || substatus === "PROVIDER_PLACEMENT_RETRYING"

const isAwaitingSettlement = ({ substatus }: OrderState): boolean =>
  substatus === "AWAITING_SETTLEMENT" || substatus === "SETTLEMENT_REVIEW"

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
        ? { ...order, isAsked: true, dueAt: now + answerSeconds }
        : order
    case "RetailerSilent":
      return recordNoAnswer(order, current, now)
    case "Withdrawn":
      return withdraw(order, current, now)
  }
}

/** A retailer names an order that was submitted to it; for any other there is nothing it could have placed. */
const recordPlacement = (
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

const recordShipment = (order: OrderState, shipment: Shipment, now: number): OrderState | PublicError => {
  const existing = order.shipments.find(({ shipment_id }) => shipment_id === shipment.shipment_id)
  if (existing !== undefined && (isSameShipment(existing, shipment) || shipment.obtained_at < existing.obtained_at)) {
    return order
  }
  if (order.status !== "placed" && order.status !== "shipped") return invalidTransition()
  if (!shipment.line_item_ids.every((id) => order.items.some(({ lineItemId }) => lineItemId === id))) {
    return invalidTransition()
  }
  const shipments = existing === undefined
    ? [...order.shipments, shipment]
    : order.shipments.map((each) => (each === existing ? shipment : each))
  const withShipments: OrderState = {
    ...order,
    shipments,
    ...(order.cancellation === "requested" ? { cancellation: "rejected", refundQuote: null } : {})
  }
  const deliveredShipments = shipments.filter(({ delivery_status }) => delivery_status === "delivered")
  if (order.items.every(({ lineItemId }) => deliveredShipments.some((each) => containsItem(each, lineItemId)))) {
    return markDelivered(markShipped(withShipments, now), "DELIVERED", "Delivered by the carrier", now)
  }
  return markShipped(withShipments, now)
}

/** Shipments are JSON of one shape; when one was obtained is no news. */
const isSameShipment = (a: Shipment, b: Shipment): boolean =>
  JSON.stringify(shipmentObject({ ...a, obtained_at: 0 })) === JSON.stringify(shipmentObject({ ...b, obtained_at: 0 }))

/** A shipment that names no items holds all of them. */
const containsItem = ({ line_item_ids }: Shipment, lineItemId: string): boolean =>
  line_item_ids.length === 0 || line_item_ids.includes(lineItemId)

const markShipped = (order: OrderState, now: number): OrderState => {
  const has = (...statuses: ReadonlyArray<Shipment["delivery_status"]>) =>
    order.shipments.some(({ delivery_status }) => statuses.includes(delivery_status))
  const more = { dueAt: now + leastTrackingSeconds }
  if (has("exception", "returned")) {
    return transition(order, "shipped", "DELIVERY_EXCEPTION", "Delivery has a problem", now, more)
  }
  return has("out_for_delivery")
    ? transition(order, "shipped", "OUT_FOR_DELIVERY", "Out for delivery", now, more)
    : transition(order, "shipped", "IN_TRANSIT", "Shipped", now, more)
}

const recordDelivery = (order: OrderState, isConfirmed: boolean, now: number): OrderState | PublicError => {
  const isKnown = order.substatus === "DELIVERY_CONFIRMED" || (order.substatus === "DELIVERED" && !isConfirmed)
  if (isKnown) return order
  if (order.status !== "shipped" && order.status !== "delivered") return invalidTransition()
  return isConfirmed
    ? markDelivered(order, "DELIVERY_CONFIRMED", "Delivery confirmed", now)
    : markDelivered(order, "DELIVERED", "Delivered by the carrier", now)
}

const markDelivered = (
  order: OrderState,
  substatus: "DELIVERED" | "DELIVERY_CONFIRMED",
  message: string,
  now: number
): OrderState =>
  transition(order, "delivered", substatus, message, now, {
    deliveredAt: order.deliveredAt ?? now,
    shipments: order.shipments.map((shipment) => ({ ...shipment, delivery_status: "delivered" }))
  })

const requestCancellation = (
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

const rejectCancellation = (order: OrderState, reason: string, now: number): OrderState =>
  transition(order, "placed", "AWAITING_TRACKING", reason, now, {
    cancellation: "rejected",
    refundQuote: null,
    dueAt: now + leastTrackingSeconds
  })

/**
 * After a call without an answer: it is repeated later, until it is given up. What a retailer may have placed all the
 * same is taken back before the order fails.
 */
const recordNoAnswer = (order: OrderState, current: Aggregate, now: number): OrderState => {
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

const withdraw = (order: OrderState, current: Aggregate, now: number): OrderState => {
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
    if (order.isAsked) return "track"
    return order.tries < maximumTries ? "place" : "withdraw"
  }
  if (order.substatus === "CANCELLATION_REQUESTED") return order.isAsked ? "track" : "cancel"
  return order.status === "placed" || order.status === "shipped" ? "track" : null
}

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
const refundRequestOf = (before: OrderState, after: OrderState, hasDestination: boolean): RefundRequest | null => {
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

/** Why a cancel call would be refused now, null where it would not: `actions.cancel_reason_code`. */
const cancelObstacle = ({ status, substatus }: OrderState): string | null => {
  switch (status) {
    case "pending_payment":
      return substatus === "PAYMENT_CONFIRMING" ? substatus : null
    case "placed":
      return substatus === "CANCELLATION_REQUESTED" ? substatus : null
    default:
      return `ORDER_${status.toUpperCase()}`
  }
}

/** Whether a refund can still go elsewhere: until it is being paid out, and again once that failed. */
export const isRedirectable = ({ status }: Pick<RefundView, "status">): boolean =>
  status === "awaiting_destination" || status === "pending_approval" || status === "failed"

/** Until a refund is on its way (modules/docs/reference/refunds.md#destination). */
export const canSetRefundDestination = (order: OrderState): boolean => {
  const refund = displayedRefund(order)
  return refund === undefined || isRedirectable(refund) || refund.status === "expired"
}

/** The refund an order shows: the first that is not over, else the newest. */
const displayedRefund = ({ refunds }: OrderState): RefundView | undefined =>
  refunds.find(({ status }) => status !== "succeeded" && status !== "canceled" && status !== "expired") ??
    refunds.findLast(({ status }) => status !== "canceled") ?? undefined

const refundStatus = (order: OrderState): OrderRefundStatus => {
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

const lineStatus = (order: OrderState, lineItemId: string): LineItemStatus => {
  switch (order.status) {
    case "pending_payment":
      return "pending"
    case "shipped": {
      const own = order.shipments.filter((shipment) => containsItem(shipment, lineItemId))
      return own.length === 0
        ? "placed"
        : own.every(({ delivery_status }) => delivery_status === "delivered")
        ? "delivered"
        : "shipped"
    }
    case "cancelled":
    case "failed":
      return refundStatus(order) === "REFUNDED" ? "refunded" : order.status
    default:
      return order.status
  }
}

const shipmentObject = (shipment: Shipment): Shipment => ({
  shipment_id: shipment.shipment_id,
  carrier: shipment.carrier,
  tracking_number: shipment.tracking_number,
  carrier_tracking_url: shipment.carrier_tracking_url,
  delivery_status: shipment.delivery_status,
  retailer_tracking_number: shipment.retailer_tracking_number,
  retailer_tracking_url: shipment.retailer_tracking_url,
  obtained_at: shipment.obtained_at,
  line_item_ids: shipment.line_item_ids
})

const optionalAmount = (amount: UsdMillis | null) =>
  amount === null ? { wire: null, decimal: null } : { wire: usdWire(amount), decimal: usdDecimal(amount) }

const refundObject = (order: OrderState) => {
  const refund = displayedRefund(order)
  const amount = optionalAmount(refund?.amount ?? null)
  // What a payout costs is known by where it goes; after a failure it costs nothing.
  const isFeeKnown = refund !== undefined && (refund.destination !== null || order.status === "failed")
  const fee = optionalAmount(isFeeKnown ? refund.fee : null)
  const destination = refund?.destination ?? order.refundDestination
  return {
    status: refundStatus(order),
    refund_id: refund?.id ?? null,
    amount: amount.wire,
    amount_decimal: amount.decimal,
    fee: fee.wire,
    fee_decimal: fee.decimal,
    destination_wallet_address: destination?.address ?? null,
    destination_network: destination?.network ?? null,
    tx_hash: refund?.txHash ?? null,
    reason: refund?.reason ?? null
  }
}

/** The order on the wire: exactly the fields of modules/docs/reference/orders.md#fields. */
export const orderObject = (order: OrderState): WireObject => {
  const { payment } = order
  const obstacle = cancelObstacle(order)
  return {
    object: "commerce_order",
    id: order.id,
    merchant_id: order.merchantId,
    invoice_id: order.invoiceId,
    environment: order.environment,
    retailer: order.retailer,
    status: order.status,
    substatus: order.substatus,
    actions: {
      can_cancel: obstacle === null,
      can_set_refund_destination: canSetRefundDestination(order),
      cancel_reason_code: obstacle
    },
    timeline: order.timeline.map(({ message, status, substatus, timestamp }) => ({
      status,
      substatus,
      timestamp,
      message
    })),
    payment: {
      status: payment.status,
      amount_paid: usdWire(payment.amountPaid),
      amount_paid_decimal: usdDecimal(payment.amountPaid),
      tx_hash: payment.txHash,
      network: payment.network,
      paid_at: payment.paidAt,
      settlement: {
        status: payment.settlement.status,
        tx_hash: payment.settlement.txHash,
        network: payment.settlement.network,
        settled_at: payment.settlement.settledAt
      }
    },
    fulfillment: {
      provider_order_id: order.providerOrderId,
      placed_at: order.placedAt,
      delivered_at: order.deliveredAt,
      shipments: order.shipments.map(shipmentObject)
    },
    line_items: order.items.map((item) => {
      const amount = usdMillis(item.unitAmount * BigInt(item.quantity))
      return {
        id: item.lineItemId,
        product_id: item.productId,
        title: item.title,
        image_url: item.imageUrl,
        quantity: item.quantity,
        unit_amount: usdWire(item.unitAmount),
        unit_amount_decimal: usdDecimal(item.unitAmount),
        amount: usdWire(amount),
        amount_decimal: usdDecimal(amount),
        status: lineStatus(order, item.lineItemId)
      }
    }),
    currency: "usd",
    total_amount: usdWire(order.amounts.total),
    total_amount_decimal: usdDecimal(order.amounts.total),
    amount_unit: "usd_millis",
    customer_id: order.customerId,
    wallet_address: order.walletAddress,
    wallet_network: order.walletNetwork,
    cancellation_status: order.cancellation,
    refund_status: refundStatus(order),
    refund: refundObject(order),
    refund_quote: order.refundQuote,
    created_at: order.createdAt,
    updated_at: order.updatedAt
  }
}

/** How the payment of an order stands, as of the order's last change. */
export const paymentStatusObject = (order: OrderState) => {
  const { amounts, payment } = order
  const remaining = payment.status === "paid" || payment.amountPaid >= amounts.total
    ? usdMillis(0n)
    : usdMillis(amounts.total - payment.amountPaid)
  return {
    order_id: order.id,
    invoice_id: order.invoiceId,
    environment: order.environment,
    status: payment.status,
    order_status: order.status,
    order_substatus: order.substatus,
    amount: usdWire(amounts.total),
    amount_decimal: usdDecimal(amounts.total),
    amount_paid: usdWire(payment.amountPaid),
    amount_paid_decimal: usdDecimal(payment.amountPaid),
    amount_remaining: usdWire(remaining),
    amount_remaining_decimal: usdDecimal(remaining),
    amount_unit: "usd_millis",
    tx_hash: payment.txHash,
    network: payment.network,
    paid_at: payment.paidAt,
    settlement_status: payment.settlement.status,
    settled_at: payment.settlement.settledAt,
    refund_status: refundStatus(order)
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
  a.tries === b.tries && a.isAsked === b.isAsked && a.dueAt === b.dueAt && a.received === b.received &&
  a.receivedLate === b.receivedLate && a.refunded === b.refunded && a.paidBy.join() === b.paidBy.join() &&
  a.refundDestination === b.refundDestination && a.refunds.length === b.refunds.length &&
  a.refunds.every((refund, place) => isSameRefund(refund, b.refunds[place]!))

const isSameRefund = (a: RefundView, b: RefundView): boolean =>
  a.status === b.status && a.amount === b.amount && a.fee === b.fee && a.txHash === b.txHash &&
  a.destination?.network === b.destination?.network && a.destination?.address === b.destination?.address

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

/**
 * Orders by how they stand and when they were created: counts, totals and what was paid of them. Keys are
 * `<status>:<retailer or nothing>:<wallet_network or nothing>`. For all time, by day, by hour and by quarter of an
 * hour.
 */
export const orderStates: Rollup = {
  sum: "commerce.orders",
  version: 1,
  object: "commerce_order",
  widths: [0, 86_400, 3_600, 900],
  contributions: (order) => [{
    at: order.created_at as number,
    key: `${order.status}:${order.retailer ?? ""}:${order.wallet_network ?? ""}`,
    count: 1,
    amount: BigInt(order.total_amount as number),
    amountPaid: BigInt((order.payment as { readonly amount_paid: number }).amount_paid)
  }]
}
