/** The merchant's orders: definitions only (modules/docs/reference/orders.md#calls). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  errors,
  IdempotencyRequired,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { maximumAddressLength } from "../../schemas/Address.ts"
import { withAliases } from "../../schemas/Alias.ts"
import { EpochSeconds, InvoiceId, pathId } from "../../schemas/Ids.ts"
import { InvoiceStatus, WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { exampleOrder, Order, OrderId, OrderStatus, OrderSubstatus, Retailer } from "../../schemas/Order.ts"
import { RefundQuote } from "../../schemas/Refund.ts"
import { success } from "../../schemas/Success.ts"
import { TimeFrom, TimeTo } from "../../schemas/Time.ts"

const shortText = Schema.String.check(Schema.isMaxLength(255))
const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
/** An address as sent; whether it is one of its network is for the handler to say. */
const WalletAddress = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maximumAddressLength))

/** Orders that one page may skip, because the database reads all it skips: further on, narrow by `created_to`. */
export const maximumSkippedOrders = 10_000

/** Orders in one call of the bulk status (modules/docs/reference/orders.md#calls). */
export const maximumBulk = 100

export const CancelOrder = withAliases(
  Schema.Struct({
    refund_destination_wallet_address_bsc: absent(WalletAddress.annotate({
      description: "Where a refund goes, on BSC. Absent: where it was said before, if anywhere."
    })),
    reason: absent(shortText.annotate({ description: "Shown in the timeline." }))
  }),
  { identifier: "CancelOrder", examples: [{ reason: "Customer changed their mind" }] }
)

const CancelledOrder = success(Schema.Struct({
  order_id: OrderId,
  status: OrderStatus,
  substatus: OrderSubstatus,
  refund_quote: Schema.NullOr(RefundQuote)
})).annotate({
  identifier: "CancelledOrder",
  examples: [{
    success: true,
    data: { order_id: exampleOrder.id, status: "cancelled", substatus: "CANCELLED_BY_MERCHANT", refund_quote: null }
  }]
})

export const RefundDestination = Schema.Struct({
  address: WalletAddress,
  network: Network,
  memo: absent(shortText.annotate({ description: "TON only: the comment an exchange asks for." }))
}).annotate({
  identifier: "OrderRefundDestination",
  examples: [{ address: "0x52908400098527886E0F7030069857D2E4169EE7", network: "bsc" }]
})

const OneOrder = success(Order).annotate({ identifier: "OneOrder", examples: [{ success: true, data: exampleOrder }] })

const OrderList = success(Schema.Struct({
  orders: Schema.Array(Order),
  pagination: Schema.Struct({
    limit: Schema.Int,
    offset: Schema.Int,
    count: Schema.Int.annotate({ description: "Orders on this page." }),
    total: Schema.Int.annotate({ description: "Orders that pass every filter." })
  })
})).annotate({
  identifier: "OrderList",
  examples: [{
    success: true,
    data: { orders: [exampleOrder], pagination: { limit: 20, offset: 0, count: 1, total: 1 } }
  }]
})

/** How the payment of an order stands. */
export const OrderPaymentStatus = Schema.Struct({
  order_id: OrderId,
  invoice_id: InvoiceId,
  environment: Environment,
  status: InvoiceStatus.annotate({ description: "Of the invoice." }),
  order_status: OrderStatus,
  order_substatus: OrderSubstatus,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal,
  amount_remaining: WireAmount,
  amount_remaining_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  tx_hash: Schema.NullOr(Schema.String),
  network: Schema.NullOr(Network),
  paid_at: Schema.NullOr(EpochSeconds),
  settlement_status: Schema.NullOr(Schema.String),
  settled_at: Schema.NullOr(EpochSeconds),
  refund_status: Order.fields.refund_status
}).annotate({ identifier: "OrderPaymentStatus", description: "How the payment of an order stands." })

const examplePayment = {
  order_id: exampleOrder.id,
  invoice_id: exampleOrder.invoice_id,
  environment: "devnet",
  status: "paid",
  order_status: "processing",
  order_substatus: "AWAITING_SETTLEMENT",
  amount: 13_990,
  amount_decimal: "13.990",
  amount_paid: 13_990,
  amount_paid_decimal: "13.990",
  amount_remaining: 0,
  amount_remaining_decimal: "0.000",
  amount_unit: "usd_millis",
  tx_hash: exampleOrder.payment.tx_hash,
  network: "bsc",
  paid_at: 1_766_320_496,
  settlement_status: "pending",
  settled_at: null,
  refund_status: "NONE"
} as const

const OnePaymentStatus = success(OrderPaymentStatus).annotate({
  identifier: "OneOrderPaymentStatus",
  examples: [{ success: true, data: examplePayment }]
})

export const BulkStatus = Schema.Struct({
  order_ids: Schema.Array(OrderId).check(Schema.isMinLength(1), Schema.isMaxLength(maximumBulk))
}).annotate({ identifier: "BulkOrderPaymentStatus", examples: [{ order_ids: [exampleOrder.id] }] })

const PaymentStatusList = success(Schema.Struct({
  payments: Schema.Array(OrderPaymentStatus).annotate({ description: "In the order they were asked for, each once." }),
  not_found: Schema.Array(OrderId).annotate({ description: "Those that are no orders of yours here." })
})).annotate({
  identifier: "OrderPaymentStatusList",
  examples: [{ success: true, data: { payments: [examplePayment], not_found: [] } }]
})

const environment = Schema.optionalKey(Environment.annotate({
  description: "Where a call with a JWT looks or acts; default: the merchant's. A key's is its own."
}))

const query = { environment }

export const OrderQuery = Schema.Struct({
  status: Schema.optionalKey(OrderStatus.annotate({ description: "Orders in this status." })),
  customer_id: Schema.optionalKey(shortText.annotate({ description: "Your own name of the customer." })),
  wallet: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(maximumAddressLength)).annotate({
      description: "`wallet_address` of the order."
    })
  ),
  wallet_network: Schema.optionalKey(Network.annotate({ description: "`wallet_network` of the order." })),
  retailer: Schema.optionalKey(Retailer.annotate({ description: "Orders with items of this retailer alone." })),
  created_from: Schema.optionalKey(TimeFrom),
  created_to: Schema.optionalKey(TimeTo),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).annotate({
      description: "Orders at most, 1 to 100; 20 if not said."
    })
  ),
  offset: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumSkippedOrders })).annotate({
      description: `Newest orders to skip, at most ${maximumSkippedOrders}: further on, narrow by \`created_to\`.`
    })
  ),
  environment
})
export type OrderQuery = typeof OrderQuery.Type

const params = { order_id: pathId("Id of the order.") }

const ownerErrors = ["SCOPE_MISMATCH", "ENVIRONMENT_FORBIDDEN", "INVALID_ENVIRONMENT", "SERVICE_UNAVAILABLE"] as const

const writeErrors = [
  "VALIDATION_ERROR",
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED"
] as const

export class OrdersGroup extends HttpApiGroup.make("orders").add(
  HttpApiEndpoint.get("list", "/orders", {
    query: OrderQuery.fields,
    success: OrderList,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_LIMIT", "INVALID_OFFSET", ...ownerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List orders, newest first",
    description:
      "Orders that pass every filter given, and how many there are. `created_from` and `created_to` are inclusive."
  })),
  HttpApiEndpoint.get("retrieve", "/orders/:order_id", {
    params,
    query,
    success: OneOrder,
    error: errors("wrapped", "ORDER_NOT_FOUND", ...ownerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve an order",
    description: "The order as its newest event carries it."
  })),
  HttpApiEndpoint.post("cancel", "/orders/:order_id/cancel", {
    params,
    query,
    payload: [CancelOrder, Schema.Void],
    success: CancelledOrder,
    error: errors(
      "wrapped",
      "ORDER_NOT_FOUND",
      "ORDER_NOT_CANCELABLE",
      "WALLET_ADDRESS_INVALID",
      "NETWORK_DEGRADED",
      "IDEMPOTENCY_KEY_MISSING",
      ...writeErrors,
      ...ownerErrors
    )
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "Cancel an order",
    description:
      "Before it is paid, order and invoice end at once, and a part that was paid is refunded. Once placed, the " +
      "retailer is asked, and its answer ends the order or not. In between, and when it is shipped, an order cannot be " +
      "canceled."
  })),
  HttpApiEndpoint.put("refundDestination", "/orders/:order_id/refund-destination", {
    params,
    query,
    payload: RefundDestination,
    success: OneOrder,
    error: errors(
      "wrapped",
      "ORDER_NOT_FOUND",
      "INVALID_TRANSITION",
      "WALLET_ADDRESS_INVALID",
      "NETWORK_DEGRADED",
      "UNSUPPORTED_NETWORK",
      ...writeErrors,
      ...ownerErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Say where a refund goes",
    description:
      "Until a refund is on its way. The address is checked as its network writes it, checksum included; the " +
      "address that paid is never taken by itself."
  })),
  HttpApiEndpoint.get("paymentStatus", "/payments/:order_id/status", {
    params,
    query,
    success: OnePaymentStatus,
    error: errors("wrapped", "ORDER_NOT_FOUND", ...ownerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Get the payment status of an order",
    description: "What was paid of it and where the money stands."
  })),
  HttpApiEndpoint.post("bulkStatus", "/payments/bulk-status", {
    query,
    payload: BulkStatus,
    success: PaymentStatusList,
    error: errors("wrapped", ...writeErrors, ...ownerErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Get the payment status of several orders",
    description: `At most ${maximumBulk} at once.`
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .prefix("/api/commerce/merchant")
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Orders",
    description:
      "Retailer goods, paid by one invoice, placed once the money has settled. For commerce keys and wallets."
  }))
{}

export class CommerceApi extends HttpApi.make("commerce").add(OrdersGroup) {}
