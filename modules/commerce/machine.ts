/**
 * The order: every rule about when it changes, and nothing else. Pure: no clock, no ids, no SQL, no retailer. The
 * companion of the order's invoice loads both, supplies time, and commits what is returned together with the invoice.
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
 * Nothing leaves delivered, cancelled and failed. What arrives for one that ended is refunded. An order that ends after it
 * was paid, and whose payment is gone by then or goes later, takes its invoice to canceled in the same commit. So does one
 * whose payment goes while its retailer may have it: the invoice is canceled at once, and the order fails when the
 * retailer has given it back.
 *
 * The gate: an order is submitted for placement only while its invoice is paid and every payment that counted when it
 * became so is settled. It is asked when the order becomes submitted, and again by {@link PlacementBegun}, in the
 * commit before each call to the retailer. The rules in words: modules/docs/reference/orders.md#transitions.
 */
import type { Rollup } from "../../runtime/Rollups.ts"
import type { EventDraft, WireObject } from "../../schemas/Event.ts"
import { previousAttributes } from "../../schemas/Event.ts"
import { type PublicError, publicError, isPublicError } from "../../schemas/Errors.ts"
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
import { type Aggregate, type Command, hasPending, newestCounted, type PaymentState } from "../invoices/plugin.ts"
import type { OfferedItem, OrderedItem, PlacedOrder, Placement, PostalAddress, RetailerReport, ShippingOption } from "../retail/plugin.ts"

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
    | "awaiting_destination" | "pending_approval" | "processing" | "succeeded" | "failed" | "canceled" | "expired"
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
export interface RefundAsk {
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
  readonly refund: RefundAsk | null
  /** Refunds that wait and are to go here. */
  readonly redirect: Destination | null
  /** Whether to say what a refund would come to. */
  readonly isQuoted: boolean
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

const invalid = () => publicError("INVALID_TRANSITION")

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
    payment: { status: "unpaid", amountPaid: usdMillis(0n), txHash: null, network: null, paidAt: null, settlement: unsettled },
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

const unsettled: OrderPaymentState["settlement"] = { status: null, txHash: null, network: null, settledAt: null }

/** The event of a new order. */
export const created = (order: OrderState): EventDraft => ({
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
  let step: Step = { order: follow(mirrored(order, invoice), invoice, now), commands: [] }
  for (const fact of facts) {
    const after = apply(step.order, fact, invoice, now)
    if (isPublicError(after)) return after
    step = { order: after.order, commands: [...step.commands, ...after.commands] }
  }
  const ended = withInvoiceEnded(step, invoice)
  const next = ended.order
  const hasDestination = facts.some(({ _tag }) => _tag === "RefundDestinationSet" || _tag === "CancelRequested")
  const refund = refundAsk(order, next, hasDestination)
  const isMoved = next.refundDestination !== order.refundDestination
  return {
    next,
    commands: ended.commands,
    refund,
    redirect: isMoved ? next.refundDestination : null,
    isQuoted: refund !== null || isMoved || (next.substatus === "CANCELLATION_REQUESTED" && next.substatus !== order.substatus)
  }
}

interface Step {
  readonly order: OrderState
  readonly commands: ReadonlyArray<Command>
}

/**
 * An order that was paid and has ended can never be paid again, nor can one whose retailer is only asked to give it back
 * before it fails. Where its payment is gone, its invoice is canceled in the same commit, so that nobody is asked to pay
 * for nothing and what arrives later is late. An invoice that is paid stays so: it is not payable, and its status says
 * that money came.
 */
const withInvoiceEnded = (step: Step, current: Aggregate): Step => {
  const { commands, order } = step
  const { status } = current.invoice
  const isOver = status === "paid" || status === "canceled"
  const canNotBePaid = isEnded(order) || (order.status === "processing" && !isStuck(order, current))
  if (!canNotBePaid || order.paidBy.length === 0 || isOver) return step
  return {
    order: { ...order, payment: { ...order.payment, status: "canceled" } },
    commands: [...commands, { _tag: "Cancel", byOwner: true }]
  }
}

/** An order that ended early: what arrived for it is given back. */
export const isEnded = ({ status }: Pick<OrderState, "status">): boolean => status === "cancelled" || status === "failed"

const sum = (payments: ReadonlyArray<PaymentState>, of: (payment: PaymentState) => bigint): UsdMillis =>
  usdMillis(payments.reduce((total, payment) => total + of(payment), 0n))

const isLate = ({ metadata, status }: PaymentState): boolean => status === "rejected" && metadata.exception === "late_payment"

/** The order's money as its invoice shows it; no step is made by it. */
const mirrored = (order: OrderState, { invoice, payments }: Aggregate): OrderState => {
  const counted = payments.filter(({ status }) => isCounted(status))
  const late = payments.filter(isLate)
  const newest = newestCounted(payments)
  return {
    ...order,
    payment: {
      status: invoice.status,
      amountPaid: invoice.amountPaid,
      txHash: newest?.txHash ?? null,
      network: newest?.network ?? null,
      paidAt: invoice.paidAt,
      settlement: laggingSettlement(counted)
    },
    received: sum([...counted, ...late], ({ amount }) => amount),
    receivedLate: sum(late, ({ amount }) => amount),
    refunded: sum(payments, ({ refunded }) => refunded)
  }
}

/** How far a settlement has come, least first. */
const settlementOrder: ReadonlyArray<SettlementStatus> = [
  "failed", "manual", "pending", "processing", "settled", "partially_refunded", "refunded"
]

const laggingSettlement = (counted: ReadonlyArray<PaymentState>): OrderPaymentState["settlement"] => {
  const all = counted.flatMap(({ settlement }) => settlement === null ? [] : [settlement])
  const [least] = all.toSorted((a, b) => settlementOrder.indexOf(a.status) - settlementOrder.indexOf(b.status))
  return least === undefined || all.length < counted.length ? unsettled : {
    status: least.status,
    txHash: least.txHash,
    network: least.network,
    settledAt: least.settledAt
  }
}

/** Takes a step: a line in the timeline, and the calls for the wish before are over. */
const to = (
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
  const gating = payments.filter(({ id }) => paidBy.includes(id))
  return invoice.status === "paid" && paidBy.length > 0 && gating.length === paidBy.length &&
    gating.every(({ settlement, status }) => isCounted(status) && hasSettled(settlement)) &&
    !isGivenBack({ paidBy }, { invoice, payments })
}

/** Whether so much of what the order was paid by went back to the payor that the rest does not pay it. */
const isGivenBack = (
  { paidBy }: Pick<OrderState, "paidBy">,
  { invoice, payments }: Pick<Aggregate, "invoice" | "payments">
): boolean => {
  const gating = payments.filter(({ id, status }) => isCounted(status) && paidBy.includes(id))
  const kept = gating.reduce((total, { amount, refunded }) => total + amount - refunded, 0n)
  return kept < invoice.amount - BigInt(invoice.policy.tolerance)
}

const settledStatuses: ReadonlyArray<SettlementStatus> = ["settled", "partially_refunded", "refunded"]

/** A refund may have been told of before any settlement: only a time of settling proves one. */
const hasSettled = (settlement: PaymentState["settlement"]): boolean =>
  settlement !== null && settlement.settledAt !== null && settledStatuses.includes(settlement.status)

/** The steps that the invoice alone makes. */
const follow = (order: OrderState, current: Aggregate, now: number): OrderState => {
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
      to(order, "processing", "AWAITING_SETTLEMENT", "Payment received", now, { paidBy: countedIds(current) }),
      current,
      now
    )
  }
  const isOver = invoice.status === "expired" || (invoice.status === "underpaid" && invoice.graceEnded)
  if (isOver && !isWaiting) {
    return to(order, "cancelled", "PAYMENT_EXPIRED", "Not paid in time", now)
  }
  if (invoice.status === "canceled") {
    return to(order, "cancelled", "CANCELLED_BY_MERCHANT", "Invoice canceled", now)
  }
  if (isWaiting) return to(order, "pending_payment", "PAYMENT_CONFIRMING", "Payment seen", now)
  return invoice.status === "underpaid"
    ? to(order, "pending_payment", "PARTIALLY_PAID", "Part of the payment received", now)
    : to(order, "pending_payment", "AWAITING_PAYMENT", "Payment is gone from the chain", now)
}

const countedIds = ({ payments }: Aggregate): ReadonlyArray<string> =>
  payments.filter(({ status }) => isCounted(status)).map(({ id }) => id)

const followSettlement = (before: OrderState, current: Aggregate, now: number): OrderState => {
  const counted = countedIds(current)
  const isWhole = before.paidBy.every((id) => counted.includes(id))
  // What counted then may be gone while later payments make up for it: then those are waited for.
  const order = isWhole || current.invoice.status !== "paid" ? before : { ...before, paidBy: counted }
  const isOpen = isGateOpen(order, current)
  const isSubmitted = isForPlacement(order)
  if (isOpen) {
    return isSubmitted ? order : to(order, "processing", "PROVIDER_PLACEMENT_SUBMITTED", "Payment settled", now, { dueAt: now })
  }
  // The retailer may have it by now: what it has placed is taken back first, see `taskOf`; at once where it was only
  // waited for, else when the call under way or the pause after it is over.
  if (isSubmitted && order.tries > 0) {
    return order.isAsked ? { ...order, isAsked: false, dueAt: now } : { ...order, dueAt: order.dueAt ?? now }
  }
  const isWaiting = isStuck(order, current)
  if (current.invoice.status !== "paid" && !isWaiting) {
    return to(order, "failed", "PAYMENT_REVERSED", "Payment is gone from the chain", now)
  }
  if (current.invoice.status === "paid" && isGivenBack(order, current)) {
    return to(order, "failed", "PAYMENT_REVERSED", "Payment was given back", now)
  }
  const isManual = isWaiting || current.payments.some(({ id, settlement }) =>
    settlement?.status === "manual" && order.paidBy.includes(id))
  return isManual
    ? to(order, "processing", "SETTLEMENT_REVIEW", "Settlement needs an operator", now)
    : to(order, "processing", "AWAITING_SETTLEMENT", "Settlement under way", now)
}

/** A payment it was paid by waits for an operator, who may still make it count. */
const isStuck = ({ paidBy }: Pick<OrderState, "paidBy">, { payments }: Pick<Aggregate, "payments">): boolean =>
  payments.some(({ id, status }) => status === "manual_retry" && paidBy.includes(id))

const isForPlacement = ({ substatus }: OrderState): boolean =>
  substatus === "PROVIDER_PLACEMENT_SUBMITTED" || substatus === "PROVIDER_PLACEMENT_RETRYING"

const isForSettlement = ({ substatus }: OrderState): boolean =>
  substatus === "AWAITING_SETTLEMENT" || substatus === "SETTLEMENT_REVIEW"

const apply = (order: OrderState, fact: OrderFact, invoice: Aggregate, now: number): Step | PublicError => {
  const after = applied(order, fact, invoice, now)
  return isPublicError(after) || "commands" in after ? after : { order: after, commands: [] }
}

const applied = (
  order: OrderState,
  fact: OrderFact,
  current: Aggregate,
  now: number
): OrderState | Step | PublicError => {
  switch (fact._tag) {
    case "Placed":
      return placed(order, fact.providerOrderId, current, now)
    case "PlacementFailed":
      if (order.substatus === "PLACEMENT_FAILED") return order
      return isForPlacement(order) ? to(order, "failed", "PLACEMENT_FAILED", fact.reason, now) : invalid()
    case "Shipped":
      return shipped(order, fact.shipment, now)
    case "Delivered":
      return delivered(order, fact.isConfirmed, now)
    case "CancellationAccepted":
      if (order.status === "cancelled" && order.cancellation === "accepted") return order
      return order.substatus === "CANCELLATION_REQUESTED"
        ? to(order, "cancelled", "CANCELLED_BY_MERCHANT", "Canceled by the retailer as asked", now, { cancellation: "accepted" })
        : invalid()
    case "CancellationRejected":
      if (order.substatus === "CANCELLATION_REQUESTED") return cancellationRejected(order, fact.reason, now)
      return order.cancellation === "rejected" ? order : invalid()
    case "CanceledByRetailer":
      if (order.substatus === "CANCELLED_BY_RETAILER") return order
      return order.status === "placed" || order.status === "shipped"
        ? to(order, "cancelled", "CANCELLED_BY_RETAILER", fact.reason, now, {
          cancellation: order.cancellation === "requested" ? "accepted" : order.cancellation
        })
        : invalid()
    case "CancelRequested":
      return cancelRequested(order, fact, current, now)
    case "RefundDestinationSet":
      return canSetRefundDestination(order) ? { ...order, refundDestination: fact.destination } : invalid()
    case "SettlementAbandoned":
      return isForSettlement(order) && order.paidBy.includes(fact.paymentId)
        ? to(order, "failed", "SETTLEMENT_FAILED", "Settlement failed", now)
        : order
    case "Refund":
      return withRefund(order, fact.refund)
    case "PlacementBegun":
      return isForPlacement(order) && isGateOpen(order, current)
        ? { ...order, tries: order.tries + 1, dueAt: now + callSeconds }
        : invalid()
    case "CancellationBegun":
      return order.substatus === "CANCELLATION_REQUESTED" || isForPlacement(order)
        ? { ...order, tries: order.tries + 1, dueAt: now + callSeconds }
        : invalid()
    case "RetailerAnswered":
      // The gate has closed during the call, which is over now.
      if (isForPlacement(order) && !isGateOpen(order, current)) return { ...order, dueAt: now }
      return isForPlacement(order) || order.substatus === "CANCELLATION_REQUESTED"
        ? { ...order, isAsked: true, dueAt: now + answerSeconds }
        : order
    case "RetailerSilent":
      return silent(order, current, now)
    case "Withdrawn":
      return withdrawn(order, current, now)
  }
}

/** A retailer names an order that was submitted to it; for any other there is nothing it could have placed. */
const placed = (
  order: OrderState,
  providerOrderId: string,
  current: Aggregate,
  now: number
): OrderState | PublicError => {
  if (order.providerOrderId !== null) return order.providerOrderId === providerOrderId ? order : invalid()
  const isSubmitted = isForPlacement(order) && (order.tries > 0 || isGateOpen(order, current))
  return isSubmitted
    ? to(order, "placed", "AWAITING_TRACKING", "Placed with the retailer", now, {
      providerOrderId,
      placedAt: now,
      dueAt: now + leastTrackingSeconds
    })
    : invalid()
}

const shipped = (order: OrderState, shipment: Shipment, now: number): OrderState | PublicError => {
  const known = order.shipments.find(({ shipment_id }) => shipment_id === shipment.shipment_id)
  if (known !== undefined && (isSameShipment(known, shipment) || shipment.obtained_at < known.obtained_at)) return order
  if (order.status !== "placed" && order.status !== "shipped") return invalid()
  if (!shipment.line_item_ids.every((id) => order.items.some(({ lineItemId }) => lineItemId === id))) return invalid()
  const shipments = known === undefined
    ? [...order.shipments, shipment]
    : order.shipments.map((each) => (each === known ? shipment : each))
  const moved: OrderState = {
    ...order,
    shipments,
    ...(order.cancellation === "requested" ? { cancellation: "rejected", refundQuote: null } : {})
  }
  const arrived = shipments.filter(({ delivery_status }) => delivery_status === "delivered")
  if (order.items.every(({ lineItemId }) => arrived.some((each) => holds(each, lineItemId)))) {
    return arriving(enRoute(moved, now), "DELIVERED", "Delivered by the carrier", now)
  }
  return enRoute(moved, now)
}

/** Shipments are JSON of one shape; when one was obtained is no news. */
const isSameShipment = (a: Shipment, b: Shipment): boolean =>
  JSON.stringify(shipmentObject({ ...a, obtained_at: 0 })) === JSON.stringify(shipmentObject({ ...b, obtained_at: 0 }))

/** A shipment that names no items holds all of them. */
const holds = ({ line_item_ids }: Shipment, lineItemId: string): boolean =>
  line_item_ids.length === 0 || line_item_ids.includes(lineItemId)

const enRoute = (order: OrderState, now: number): OrderState => {
  const has = (...wanted: ReadonlyArray<Shipment["delivery_status"]>) =>
    order.shipments.some(({ delivery_status }) => wanted.includes(delivery_status))
  const more = { dueAt: now + leastTrackingSeconds }
  if (has("exception", "returned")) return to(order, "shipped", "DELIVERY_EXCEPTION", "Delivery has a problem", now, more)
  return has("out_for_delivery")
    ? to(order, "shipped", "OUT_FOR_DELIVERY", "Out for delivery", now, more)
    : to(order, "shipped", "IN_TRANSIT", "Shipped", now, more)
}

const delivered = (order: OrderState, isConfirmed: boolean, now: number): OrderState | PublicError => {
  const isKnown = order.substatus === "DELIVERY_CONFIRMED" || (order.substatus === "DELIVERED" && !isConfirmed)
  if (isKnown) return order
  if (order.status !== "shipped" && order.status !== "delivered") return invalid()
  return isConfirmed
    ? arriving(order, "DELIVERY_CONFIRMED", "Delivery confirmed", now)
    : arriving(order, "DELIVERED", "Delivered by the carrier", now)
}

const arriving = (
  order: OrderState,
  substatus: "DELIVERED" | "DELIVERY_CONFIRMED",
  message: string,
  now: number
): OrderState =>
  to(order, "delivered", substatus, message, now, {
    deliveredAt: order.deliveredAt ?? now,
    shipments: order.shipments.map((shipment) => ({ ...shipment, delivery_status: "delivered" }))
  })

const cancelRequested = (
  order: OrderState,
  { destination, reason }: { readonly destination: Destination | null; readonly reason: string | null },
  current: Aggregate,
  now: number
): Step | PublicError => {
  if (cancelObstacle(order) !== null || (order.status === "pending_payment" && hasPending(current))) {
    return publicError("ORDER_NOT_CANCELABLE")
  }
  const known = { ...order, refundDestination: destination ?? order.refundDestination }
  if (order.status === "placed") {
    const asked = to(known, "placed", "CANCELLATION_REQUESTED", reason ?? "Cancellation requested", now, {
      cancellation: "requested",
      dueAt: now
    })
    return { order: asked, commands: [] }
  }
  const message = reason ?? "Canceled before it was paid"
  const ended = to(known, "cancelled", "CANCELLED_BY_MERCHANT", message, now, { cancellation: "accepted" })
  return {
    order: { ...ended, payment: { ...ended.payment, status: "canceled" } },
    commands: [{ _tag: "Cancel", byOwner: true }]
  }
}

const cancellationRejected = (order: OrderState, reason: string, now: number): OrderState =>
  to(order, "placed", "AWAITING_TRACKING", reason, now, {
    cancellation: "rejected",
    refundQuote: null,
    dueAt: now + leastTrackingSeconds
  })

/**
 * After a call without an answer: it is repeated later, until it is given up. What a retailer may have placed all the
 * same is taken back before the order fails.
 */
const silent = (order: OrderState, current: Aggregate, now: number): OrderState => {
  const dueAt = now + backoffSeconds(Math.max(1, order.tries % maximumTries))
  if (order.substatus === "CANCELLATION_REQUESTED") {
    return order.tries >= maximumTries
      ? cancellationRejected(order, "The retailer gave no answer", now)
      : { ...order, dueAt }
  }
  if (!isForPlacement(order)) return order
  return order.tries >= 2 * maximumTries
    ? withdrawn(order, current, now)
    : to(order, "processing", "PROVIDER_PLACEMENT_RETRYING", "The retailer gave no answer", now, {
      tries: order.tries,
      dueAt
    })
}

const withdrawn = (order: OrderState, current: Aggregate, now: number): OrderState => {
  if (!isForPlacement(order)) return order
  return isGateOpen(order, current)
    ? to(order, "failed", "PLACEMENT_FAILED", "The retailer gave no answer", now)
    : to(order, "failed", "PAYMENT_REVERSED", "Payment is gone from the chain", now)
}

/** What the clock does for an order that is due. */
export type Task =
  /** Ask the retailer to place it, once {@link PlacementBegun} is committed. */
  | "place"
  /** Take back what may have been placed: the gate has closed since, or too many calls went without an answer. */
  | "withdraw"
  /** Ask it to cancel, once {@link CancellationBegun} is committed. */
  | "cancel"
  /** Look whether it has something to tell. */
  | "track"

export const taskOf = (order: OrderState, current: Aggregate): Task | null => {
  if (isForPlacement(order)) {
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
const refundAsk = (before: OrderState, after: OrderState, hasDestination: boolean): RefundAsk | null => {
  const ask = { destination: after.refundDestination, feeFree: after.status === "failed" }
  const isNew = after.received > before.received
  if (!isEnded(after)) {
    const isUnpaid = after.payment.status === "canceled"
    return !isUnpaid && after.receivedLate > before.receivedLate ? { ...ask, reason: "late_payment", lateOnly: true } : null
  }
  const isEnding = !isEnded(before)
  const isLeft = after.received > after.refunded
  const isLost = after.refunds.every(({ status }) => status === "canceled" || status === "expired")
  if (!isLeft || !(isEnding || isNew || (hasDestination && isLost))) return null
  const late = after.receivedLate > before.receivedLate
  return { ...ask, reason: late ? "late_payment" : reasonOf(after), lateOnly: false }
}

const reasonOf = ({ status, substatus }: OrderState): RefundAsk["reason"] =>
  status === "failed" ? "order_failed" : substatus === "PAYMENT_EXPIRED" ? "underpayment" : "order_cancelled"

/** usd_millis that arrived and were not given back yet. */
export const left = ({ received, refunded }: OrderState): UsdMillis =>
  usdMillis(received > refunded ? received - refunded : 0n)

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
  const shown = shownRefund(order)
  return shown === undefined || isRedirectable(shown) || shown.status === "expired"
}

/** The refund an order shows: the first that is not over, else the newest. */
const shownRefund = ({ refunds }: OrderState): RefundView | undefined =>
  refunds.find(({ status }) => status !== "succeeded" && status !== "canceled" && status !== "expired") ??
    refunds.findLast(({ status }) => status !== "canceled") ?? undefined

const refundStatus = (order: OrderState): OrderRefundStatus => {
  const shown = shownRefund(order)
  switch (shown?.status) {
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
      const own = order.shipments.filter((shipment) => holds(shipment, lineItemId))
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

const orNull = (amount: UsdMillis | null) =>
  amount === null ? { wire: null, decimal: null } : { wire: usdWire(amount), decimal: usdDecimal(amount) }

const refundObject = (order: OrderState) => {
  const shown = shownRefund(order)
  const amount = orNull(shown?.amount ?? null)
  // What a payout costs is known by where it goes; after a failure it costs nothing.
  const isFeeKnown = shown !== undefined && (shown.destination !== null || order.status === "failed")
  const fee = orNull(isFeeKnown ? shown.fee : null)
  const destination = shown?.destination ?? order.refundDestination
  return {
    status: refundStatus(order),
    refund_id: shown?.id ?? null,
    amount: amount.wire,
    amount_decimal: amount.decimal,
    fee: fee.wire,
    fee_decimal: fee.decimal,
    destination_wallet_address: destination?.address ?? null,
    destination_network: destination?.network ?? null,
    tx_hash: shown?.txHash ?? null,
    reason: shown?.reason ?? null
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
    timeline: order.timeline.map(({ message, status, substatus, timestamp }) => ({ status, substatus, timestamp, message })),
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
export interface Concluded {
  readonly order: OrderState
  /** One, or none where nothing that is shown has changed. */
  readonly events: ReadonlyArray<EventDraft>
}

/** Whatever happened to an order in one commit is told by one event. */
export const concluded = (before: OrderState, next: OrderState, now: number): Concluded | null => {
  const was = orderObject(before)
  const isShown = Object.keys(previousAttributes(was, orderObject(next))).length > 0
  const order: OrderState = { ...next, version: before.version + 1, updatedAt: isShown ? now : before.updatedAt }
  if (!isShown) return isSame(before, next) ? null : { order, events: [] }
  const object = orderObject(order)
  return {
    order,
    events: [{ type: "commerce.order.updated", object, previousAttributes: previousAttributes(was, object) }]
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
 * `<status>:<retailer or nothing>:<wallet_network or nothing>`. For all time, by day, by hour and by quarter of an hour.
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
