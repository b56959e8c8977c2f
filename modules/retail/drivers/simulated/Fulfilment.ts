/** What becomes of an order at the simulated retailer: told anew by every look, from the order and the time alone. */
import type { Shipment } from "../../../../schemas/Order.ts"
import type { PlacedOrder, Placement, RetailerReport } from "../../plugin.ts"
import { trials } from "./Shop.ts"

/** How the simulated retailer works. */
export interface RetailerBehaviour {
  /** Whether it places, ships and delivers by itself. */
  readonly auto: boolean
  /** Seconds from placing to shipping, and to the delivery. */
  readonly shipAfterSeconds: number
  readonly deliverAfterSeconds: number
}

const hasProduct = ({ items }: Pick<PlacedOrder, "items">, productId: string): boolean =>
  items.some((item) => item.productId === productId)

/** The answer to an order: none yet without `auto`, when it waits for the simulator. */
export const placementReports = (placement: Placement, { auto }: RetailerBehaviour): ReadonlyArray<RetailerReport> => {
  if (hasProduct(placement, trials.placeRefused)) {
    return [{ _tag: "PlacementFailed", reason: "The simulated retailer refuses this order" }]
  }
  return auto ? [{ _tag: "Placed", providerOrderId: `sim_${placement.orderId}` }] : []
}

/** One shipment with everything in it; the same at every look but for how far it is. */
const shipmentOf = (order: PlacedOrder, shippedAt: number, delivery_status: Shipment["delivery_status"]): Shipment => {
  const trackingNumber = `SIM${order.orderId.replaceAll("-", "").slice(0, 16).toUpperCase()}`
  return {
    shipment_id: `ship_${order.orderId}`,
    carrier: "Simulated Parcel",
    tracking_number: trackingNumber,
    carrier_tracking_url: `https://carrier.example/track/${trackingNumber}`,
    delivery_status,
    retailer_tracking_number: null,
    retailer_tracking_url: null,
    obtained_at: shippedAt,
    line_item_ids: order.items.map(({ lineItemId }) => lineItemId)
  }
}

/** Everything true of a placed order at `now`, in epoch seconds of the merchant's time. */
export const trackingReports = (
  order: PlacedOrder,
  behaviour: RetailerBehaviour,
  now: number
): ReadonlyArray<RetailerReport> => {
  const { placedAt } = order
  if (!behaviour.auto || placedAt === null) return []
  const shippedAt = placedAt + behaviour.shipAfterSeconds
  if (now < shippedAt) return []
  if (hasProduct(order, trials.canceledByRetailer)) {
    return [{ _tag: "CanceledByRetailer", reason: "The simulated retailer cancels this order" }]
  }
  if (hasProduct(order, trials.deliveryException)) {
    return [{ _tag: "Shipped", shipment: shipmentOf(order, shippedAt, "exception") }]
  }
  return now < placedAt + behaviour.deliverAfterSeconds
    ? [{ _tag: "Shipped", shipment: shipmentOf(order, shippedAt, "in_transit") }]
    : [{ _tag: "Shipped", shipment: shipmentOf(order, shippedAt, "delivered") }, {
      _tag: "Delivered",
      isConfirmed: true
    }]
}

/** The answer to a request to cancel. What was shipped is on its way and cannot be stopped. */
export const cancellationReports = (
  order: PlacedOrder,
  behaviour: RetailerBehaviour,
  now: number
): ReadonlyArray<RetailerReport> => {
  if (hasProduct(order, trials.cancelRefused)) {
    return [{ _tag: "CancellationRejected", reason: "The simulated retailer does not cancel this order" }]
  }
  if (!behaviour.auto) return []
  return order.placedAt !== null && now >= order.placedAt + behaviour.shipAfterSeconds
    ? [{ _tag: "CancellationRejected", reason: "The order is on its way" }]
    : [{ _tag: "CancellationAccepted" }]
}
