/** The order as JSON, for answers and events. */
import type { WireObject } from "../../../schemas/WireObject.ts"
import { usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { LineItemStatus } from "../../../schemas/Order.ts"
import { cancelObstacle } from "./Cancellation.ts"
import { canSetRefundDestination, displayedRefund, refundStatus } from "./Refunds.ts"
import { containsItem, shipmentObject } from "./Shipments.ts"
import type { OrderState } from "./State.ts"

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
