/** A person's data in an order: when it can be erased, and what stands in its place. What was bought and paid stays. */
import type { OrderSubstatus, Shipment, TimelineEntry } from "../../../schemas/Order.ts"
import { hashJson, type HashOf, hashText, replaceFields, type WireFields } from "../../../schemas/PersonalData.ts"
import type { OrderState } from "./State.ts"

/** What must be done before the order's personal data can go; null: nothing. The retailer needs it until then. */
export const erasureObstacle = ({ id, status }: OrderState): string | null =>
  status === "delivered" || status === "cancelled" || status === "failed"
    ? null
    : `Order ${id} is not over (${status}): cancel it, or wait until it is delivered`

/** Steps whose message is what a person or a retailer wrote. */
const writtenByOthers: ReadonlySet<OrderSubstatus> = new Set([
  "CANCELLATION_REQUESTED",
  "CANCELLED_BY_MERCHANT",
  "CANCELLED_BY_RETAILER",
  "PLACEMENT_FAILED",
  "AWAITING_TRACKING"
])

const hashTimeline = (timeline: ReadonlyArray<TimelineEntry>, hashOf: HashOf): ReadonlyArray<TimelineEntry> =>
  timeline.map((entry) =>
    writtenByOthers.has(entry.substatus) ? { ...entry, message: hashText(entry.message, hashOf) } : entry
  )

/** A tracking number leads to an address. */
const hashShipment = (shipment: Shipment, hashOf: HashOf): Shipment => ({
  ...shipment,
  tracking_number: hashText(shipment.tracking_number, hashOf),
  carrier_tracking_url: hashText(shipment.carrier_tracking_url, hashOf),
  retailer_tracking_number: hashText(shipment.retailer_tracking_number, hashOf),
  retailer_tracking_url: hashText(shipment.retailer_tracking_url, hashOf)
})

/** Puts hashes in place of a person's data. It publishes nothing, as the erasure of an invoice. */
export const erase = (order: OrderState, hashOf: HashOf): OrderState => ({
  ...order,
  customerId: hashText(order.customerId, hashOf),
  walletAddress: hashText(order.walletAddress, hashOf),
  address: hashJson({ ...order.address }, hashOf) as unknown as OrderState["address"],
  metadata: hashJson(order.metadata, hashOf) as OrderState["metadata"],
  timeline: hashTimeline(order.timeline, hashOf),
  shipments: order.shipments.map((shipment) => hashShipment(shipment, hashOf)),
  refundDestination: order.refundDestination === null
    ? null
    : { ...order.refundDestination, address: hashText(order.refundDestination.address, hashOf), memo: null },
  refunds: order.refunds.map((refund) => ({
    ...refund,
    destination: refund.destination === null
      ? null
      : { ...refund.destination, address: hashText(refund.destination.address, hashOf) }
  }))
})

const hashNullable = (hashOf: HashOf) => (value: string | null) => hashText(value, hashOf)

/** An order in an event, as {@link erase} leaves it. */
export const redactOrder = (fields: WireFields, hashOf: HashOf): WireFields =>
  replaceFields(fields, {
    customer_id: hashNullable(hashOf),
    wallet_address: hashNullable(hashOf),
    timeline: (value: ReadonlyArray<TimelineEntry>) => hashTimeline(value, hashOf),
    fulfillment: (value: { readonly shipments: ReadonlyArray<Shipment> }) => ({
      ...value,
      shipments: value.shipments.map((shipment) => hashShipment(shipment, hashOf))
    }),
    refund: (value: WireFields) => replaceFields(value, { destination_wallet_address: hashNullable(hashOf) })
  })
