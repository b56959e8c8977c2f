/** Shipments and deliveries. */
import type { PublicError } from "../../../schemas/Errors.ts"
import type { Shipment } from "../../../schemas/Order.ts"
import { leastTrackingSeconds } from "./Schedule.ts"
import { invalidTransition, type OrderState, transition } from "./State.ts"

export const recordShipment = (order: OrderState, shipment: Shipment, now: number): OrderState | PublicError => {
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
export const containsItem = ({ line_item_ids }: Shipment, lineItemId: string): boolean =>
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

export const recordDelivery = (order: OrderState, isConfirmed: boolean, now: number): OrderState | PublicError => {
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

export const shipmentObject = (shipment: Shipment): Shipment => ({
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
