/** The order as it is kept, what can happen to it, and the step from one status to another. */
import { publicError } from "../../../schemas/Errors.ts"
import type { InvoiceStatus, Metadata } from "../../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type {
  CancellationStatus,
  OrderStatus,
  OrderSubstatus,
  Retailer,
  Shipment,
  TimelineEntry
} from "../../../schemas/Order.ts"
import type { SettlementStatus } from "../../../schemas/Payment.ts"
import type { RefundQuote } from "../../../schemas/Refund.ts"
import type { Command } from "../../invoices/plugin.ts"
import type { OfferedItem, OrderedItem, PostalAddress, RetailerReport, ShippingOption } from "../../retail/plugin.ts"

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
  /** usd_millis that arrived: what counts, and what came too late to count. */
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
  /** Calls to the retailer that were begun for the present request, to place or to cancel; 0 after any other step. */
  readonly tries: number
  /** Whether the retailer has answered the present request, without saying what becomes of it. */
  readonly isAcknowledged: boolean
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
  /** The retailer took the request up; what else it said comes as reports. */
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

/** What to commit: the order as it will be, and what must be stored with it. */
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

export interface Step {
  readonly order: OrderState
  readonly commands: ReadonlyArray<Command>
}

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
    isAcknowledged: false,
    dueAt: null,
    createdAt: now,
    updatedAt: now
  }
}

export const noSettlement: OrderPaymentState["settlement"] = {
  status: null,
  txHash: null,
  network: null,
  settledAt: null
}

/** An order that ended early: what arrived for it is given back. */
export const isEnded = ({ status }: Pick<OrderState, "status">): boolean =>
  status === "cancelled" || status === "failed"

export const isAwaitingPlacement = ({ substatus }: OrderState): boolean =>
  substatus === "PROVIDER_PLACEMENT_SUBMITTED" || substatus === "PROVIDER_PLACEMENT_RETRYING"

export const isAwaitingSettlement = ({ substatus }: OrderState): boolean =>
  substatus === "AWAITING_SETTLEMENT" || substatus === "SETTLEMENT_REVIEW"

/** Takes a step: a line in the timeline, and the calls for the request before are over. */
export const transition = (
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
    isAcknowledged: false,
    dueAt: null,
    timeline: [...order.timeline, { status, substatus, timestamp: now, message }],
    ...more
  }

export const invalidTransition = () => publicError("INVALID_TRANSITION")
