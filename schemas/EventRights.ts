/** Which right it takes to be told of an event: that of the routes that read the object it carries. Pure. */
import { eventObjects, type EventType, eventTypes } from "./Event.ts"
import type { Right } from "./Roles.ts"
import { selects } from "./Webhook.ts"

type ObjectName = (typeof eventObjects)[EventType]

/** The right with which every call that tells of events begins. */
export const commonEventRight: Right = "payments:read"

const rightsOfObjects: Readonly<Record<ObjectName, Right>> = {
  invoice: commonEventRight,
  invoice_payment: commonEventRight,
  commerce_order: commonEventRight,
  payment_quote: commonEventRight,
  exception: commonEventRight,
  test_ping: commonEventRight,
  balance_transaction: "balances:read",
  batch: "batches:read"
}

/** The right that events of a type take. Types of later versions are for everybody who reads events. */
export const rightOfEvent = (type: string): Right =>
  Object.hasOwn(eventObjects, type) ? rightsOfObjects[eventObjects[type as EventType]] : commonEventRight

/** The rights that a list of filters takes, the common one first. An event that no filter names takes none. */
export const rightsOfFilters = (filters: ReadonlyArray<string>): ReadonlyArray<Right> => [
  ...new Set([commonEventRight, ...eventTypes.filter((type) => selects(filters, type)).map(rightOfEvent)])
]
