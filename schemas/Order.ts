/**
 * The commerce order as it crosses the wire and enters events (modules/docs/reference/orders.md#fields): exactly these
 * fields, in this order. Every key is always there, also inside of others.
 */
import { Schema } from "effect"
import { EpochSeconds, InvoiceId, MerchantId, Uuid } from "./Ids.ts"
import { InvoiceStatus, WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"
import { RefundQuote } from "./Refund.ts"

export const OrderId = Uuid.pipe(Schema.brand("OrderId"))
export type OrderId = typeof OrderId.Type

/** Complete for v1. The transitions are in modules/commerce/machine.ts. */
export const OrderStatus = Schema.Literals([
  "pending_payment",
  "processing",
  "placed",
  "shipped",
  "delivered",
  "cancelled",
  "failed"
])
export type OrderStatus = typeof OrderStatus.Type

/** Which substatus belongs to which status. Open: a version may add more. */
export const orderSubstatuses = {
  pending_payment: ["AWAITING_PAYMENT", "PARTIALLY_PAID", "PAYMENT_CONFIRMING"],
  processing: [
    "AWAITING_SETTLEMENT",
    "SETTLEMENT_REVIEW",
    "PROVIDER_PLACEMENT_SUBMITTED",
    "PROVIDER_PLACEMENT_RETRYING"
  ],
  placed: ["AWAITING_TRACKING", "CANCELLATION_REQUESTED"],
  shipped: ["IN_TRANSIT", "OUT_FOR_DELIVERY", "DELIVERY_EXCEPTION"],
  delivered: ["DELIVERED", "DELIVERY_CONFIRMED"],
  cancelled: ["PAYMENT_EXPIRED", "CANCELLED_BY_MERCHANT", "CANCELLED_BY_RETAILER"],
  failed: ["SETTLEMENT_FAILED", "PLACEMENT_FAILED", "PAYMENT_REVERSED"]
} as const

export type OrderSubstatus = (typeof orderSubstatuses)[OrderStatus][number]
export const OrderSubstatus = Schema.Literals(Object.values(orderSubstatuses).flat() as ReadonlyArray<OrderSubstatus>)

/** Whose goods can be ordered. */
export const Retailer = Schema.Literals(["amazon", "walmart", "target", "ebay", "bestbuy", "other"])
export type Retailer = typeof Retailer.Type

/** Pieces of one item, at most (modules/docs/reference/checkout.md#carts). */
export const maximumQuantity = 99

/** Items of a cart or an estimate, at most (modules/docs/reference/checkout.md#carts). */
export const maximumItems = 50

/** Why an item cannot be bought (modules/docs/reference/checkout.md#estimates). */
export const ItemFault = Schema.Literals([
  "NO_ELIGIBLE_OFFER",
  "UNSUPPORTED_RETAILER",
  "OUT_OF_STOCK",
  "NOT_DELIVERABLE",
  "QUANTITY_LIMIT"
])
export type ItemFault = typeof ItemFault.Type

export const LineItemStatus = Schema.Literals([
  "pending",
  "processing",
  "placed",
  "shipped",
  "delivered",
  "cancelled",
  "failed",
  "refunded"
])
export type LineItemStatus = typeof LineItemStatus.Type

export const DeliveryStatus = Schema.Literals([
  "pending",
  "in_transit",
  "out_for_delivery",
  "delivered",
  "exception",
  "returned"
])
export type DeliveryStatus = typeof DeliveryStatus.Type

export const CancellationStatus = Schema.Literals(["none", "requested", "accepted", "rejected"])
export type CancellationStatus = typeof CancellationStatus.Type

export const OrderRefundStatus = Schema.Literals([
  "NONE",
  "AWAITING_DESTINATION",
  "PENDING",
  "PROCESSING",
  "REFUNDED",
  "PARTIALLY_REFUNDED",
  "FAILED"
])
export type OrderRefundStatus = typeof OrderRefundStatus.Type

const text = Schema.NullOr(Schema.String)
const time = Schema.NullOr(EpochSeconds)

export const TimelineEntry = Schema.Struct({
  status: OrderStatus,
  substatus: OrderSubstatus,
  timestamp: EpochSeconds,
  message: Schema.String
})
export type TimelineEntry = typeof TimelineEntry.Type

export const Shipment = Schema.Struct({
  shipment_id: Schema.String,
  carrier: text,
  tracking_number: text,
  carrier_tracking_url: text,
  delivery_status: DeliveryStatus,
  retailer_tracking_number: text,
  retailer_tracking_url: text,
  obtained_at: EpochSeconds,
  line_item_ids: Schema.Array(Schema.String)
})
export type Shipment = typeof Shipment.Type

export const LineItem = Schema.Struct({
  id: Schema.String,
  product_id: Schema.String,
  title: Schema.String,
  image_url: text,
  quantity: Schema.Int,
  unit_amount: WireAmount,
  unit_amount_decimal: UsdDecimal,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  status: LineItemStatus
})
export type LineItem = typeof LineItem.Type

export const OrderPayment = Schema.Struct({
  status: InvoiceStatus,
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal,
  tx_hash: text,
  network: Schema.NullOr(Network),
  paid_at: time,
  settlement: Schema.Struct({ status: text, tx_hash: text, network: Schema.NullOr(Network), settled_at: time })
})
export type OrderPayment = typeof OrderPayment.Type

export const OrderRefund = Schema.Struct({
  status: OrderRefundStatus,
  refund_id: text,
  amount: Schema.NullOr(WireAmount),
  amount_decimal: Schema.NullOr(UsdDecimal),
  fee: Schema.NullOr(WireAmount),
  fee_decimal: Schema.NullOr(UsdDecimal),
  destination_wallet_address: text,
  destination_network: Schema.NullOr(Network),
  tx_hash: text,
  reason: text
})
export type OrderRefund = typeof OrderRefund.Type

/** The order of the reference's examples. */
export const exampleOrder = {
  object: "commerce_order",
  id: OrderId.make("6f1c2d3e-4a5b-4c6d-8e7f-9a0b1c2d3e4f"),
  merchant_id: MerchantId.make(123),
  invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  environment: "devnet",
  retailer: "amazon",
  status: "processing",
  substatus: "AWAITING_SETTLEMENT",
  actions: { can_cancel: false, can_set_refund_destination: true, cancel_reason_code: "ORDER_PROCESSING" },
  timeline: [
    { status: "pending_payment", substatus: "AWAITING_PAYMENT", timestamp: 1_766_320_000, message: "Order created" },
    { status: "processing", substatus: "AWAITING_SETTLEMENT", timestamp: 1_766_320_496, message: "Payment received" }
  ],
  payment: {
    status: "paid",
    amount_paid: 13_990,
    amount_paid_decimal: "13.990",
    tx_hash: "0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd",
    network: "bsc",
    paid_at: 1_766_320_496,
    settlement: { status: "pending", tx_hash: null, network: null, settled_at: null }
  },
  fulfillment: { provider_order_id: null, placed_at: null, delivered_at: null, shipments: [] },
  line_items: [{
    id: "li_1",
    product_id: "B08N5WRWNW",
    title: "Item",
    image_url: null,
    quantity: 1,
    unit_amount: 9_990,
    unit_amount_decimal: "9.990",
    amount: 9_990,
    amount_decimal: "9.990",
    status: "processing"
  }],
  currency: "usd",
  total_amount: 13_990,
  total_amount_decimal: "13.990",
  amount_unit: "usd_millis",
  customer_id: "cust_1",
  wallet_address: null,
  wallet_network: null,
  cancellation_status: "none",
  refund_status: "NONE",
  refund: {
    status: "NONE",
    refund_id: null,
    amount: null,
    amount_decimal: null,
    fee: null,
    fee_decimal: null,
    destination_wallet_address: null,
    destination_network: null,
    tx_hash: null,
    reason: null
  },
  refund_quote: null,
  created_at: 1_766_320_000,
  updated_at: 1_766_320_496
} as const

export const Order = Schema.Struct({
  object: Schema.tag("commerce_order"),
  id: OrderId,
  merchant_id: MerchantId,
  invoice_id: InvoiceId,
  environment: Environment,
  retailer: Schema.NullOr(Retailer),
  status: OrderStatus,
  substatus: OrderSubstatus,
  actions: Schema.Struct({
    can_cancel: Schema.Boolean,
    can_set_refund_destination: Schema.Boolean,
    /** Why it cannot be canceled now; null where it can. */
    cancel_reason_code: text
  }),
  timeline: Schema.Array(TimelineEntry),
  payment: OrderPayment,
  fulfillment: Schema.Struct({
    provider_order_id: text,
    placed_at: time,
    delivered_at: time,
    shipments: Schema.Array(Shipment)
  }),
  line_items: Schema.Array(LineItem),
  currency: Schema.Literal("usd"),
  total_amount: WireAmount,
  total_amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  customer_id: text,
  wallet_address: text,
  wallet_network: Schema.NullOr(Network),
  cancellation_status: CancellationStatus,
  refund_status: OrderRefundStatus,
  refund: OrderRefund,
  refund_quote: Schema.NullOr(RefundQuote),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({
  identifier: "CommerceOrder",
  description: "Retailer goods, paid by one invoice and placed only once its money has settled.",
  examples: [exampleOrder]
})
export type Order = typeof Order.Type
