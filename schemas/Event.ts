/**
 * The canonical event (modules/docs/reference/events.md#envelope): its envelope, its types, what changed, and the
 * payor's rendering.
 *
 * The schema of every object stays here for good, whatever modules are loaded: stored events must still decode.
 */
import { Schema } from "effect"
import { BalanceTransaction } from "./BalanceTransaction.ts"
import { Batch } from "./Batch.ts"
import { Exception } from "./Exception.ts"
import { EpochSeconds, EventId } from "./Ids.ts"
import { Invoice } from "./Invoice.ts"
import type { Environment } from "./Network.ts"
import { Order } from "./Order.ts"
import { Payment, settlementFields } from "./Payment.ts"
import { Ping } from "./Ping.ts"
import { Quote } from "./Quote.ts"
import { differsIn, downgrade, knownVersion, newestVersion } from "./Version.ts"
import type { WireObject } from "./WireObject.ts"

/** The version events are stored in: the newest (modules/docs/reference/versioning.md#one-shape-inside). */
export const apiVersion = newestVersion

/** Every event type of v1 and the object it carries (modules/docs/reference/events.md#types). */
export const eventObjects = {
  "invoice.created": "invoice",
  "invoice.updated": "invoice",
  "invoice.paid": "invoice",
  "invoice.partial_payment": "invoice",
  "invoice.overpaid": "invoice",
  "invoice.expired": "invoice",
  "invoice.canceled": "invoice",
  "invoice_payment.created": "invoice_payment",
  "invoice_payment.updated": "invoice_payment",
  "invoice_payment.refunded": "invoice_payment",
  "commerce.order.created": "commerce_order",
  "commerce.order.updated": "commerce_order",
  "payment_quote.updated": "payment_quote",
  "exception.opened": "exception",
  "exception.resolved": "exception",
  "balance_transaction.created": "balance_transaction",
  "batch.created": "batch",
  "batch.updated": "batch",
  "batch.paid": "batch",
  "batch.closed": "batch",
  "test.ping": "test_ping"
} as const

/** A type of event. */
export type EventType = keyof typeof eventObjects
export const eventTypes = Object.keys(eventObjects) as ReadonlyArray<EventType>

/** Types that are stored and delivered. A quote's news goes to the payor's socket only. */
export const deliveredTypes: ReadonlyArray<EventType> = eventTypes.filter((type) => type !== "payment_quote.updated")

/**
 * Objects that clients of v1 were written for. An event of any other object is opt-in: it is listed, delivered and
 * streamed only where its type or `prefix.*` is named, and neither `*` nor an absent filter includes it
 * (modules/docs/reference/events.md#opt-in-types).
 */
const defaultObjects: ReadonlySet<string> = new Set([
  "invoice",
  "invoice_payment",
  "commerce_order",
  "payment_quote",
  "test_ping"
])

/** Types that `*` and an absent filter leave out. */
export const optInTypes: ReadonlyArray<EventType> = eventTypes.filter((type) => !defaultObjects.has(eventObjects[type]))

const optIn: ReadonlySet<string> = new Set(optInTypes)

/** Whether events of a type are for those alone who ask for it by name. Types of later versions are for everybody. */
export const isOptIn = (type: string): boolean => optIn.has(type)

/** The schema of each object that an event carries, by the object's own `object` field. */
const objectSchemas = {
  invoice: Invoice,
  invoice_payment: Payment,
  commerce_order: Order,
  payment_quote: Quote,
  exception: Exception,
  balance_transaction: BalanceTransaction,
  batch: Batch,
  test_ping: Ping
}

/** One object of an event, told apart by its own `object` field. */
export const EventObject = Schema.Union(Object.values(objectSchemas))
export type EventObject = typeof EventObject.Type

/** Old values of the top-level fields that changed; applied over `object` it gives the previous snapshot. */
export const PreviousAttributes = Schema.Record(Schema.String, Schema.Json).annotate({
  examples: [{ status: "unpaid", amount_paid: 0, amount_paid_decimal: "0.000", paid_at: null }]
})
export type PreviousAttributes = typeof PreviousAttributes.Type

/** An event of a type and an object, in the contract's order. */
const envelopeOf = <T extends Schema.Top, O extends Schema.Top>(type: T, object: O) =>
  Schema.Struct({
    id: EventId,
    object: Schema.tag("event"),
    api_version: Schema.String.annotate({ examples: [apiVersion] }),
    created: EpochSeconds,
    type,
    livemode: Schema.Boolean.annotate({ examples: [false] }),
    pending_webhooks: Schema.Int.annotate({ examples: [1] }),
    request: Schema.Struct({ id: Schema.NullOr(Schema.String), idempotency_key: Schema.NullOr(Schema.String) })
      .annotate({
        examples: [{ id: null, idempotency_key: null }]
      }),
    data: Schema.Struct({ object, previous_attributes: PreviousAttributes })
  })

/** The name of a type's schema: `invoice.partial_payment` is `InvoicePartialPaymentEvent`. */
const schemaName = (type: string): string =>
  `${type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}Event`

const eventOf = <T extends EventType>(type: T) =>
  envelopeOf(Schema.Literal(type), objectSchemas[eventObjects[type]]).annotate({ identifier: schemaName(type) })

type EventMember = {
  [T in EventType]: ReturnType<
    typeof envelopeOf<Schema.Literal<T>, (typeof objectSchemas)[(typeof eventObjects)[T]]>
  >
}[EventType]

/** One schema for each type, in the order of {@link eventTypes}. */
const members = eventTypes.map(eventOf) as unknown as ReadonlyArray<EventMember>

/**
 * An event of a type that this build does not know. A newer service may send one to an older client, which reads it and
 * leaves it. The OpenAPI document does not have it: no service sends what it does not know.
 */
const LaterEvent = envelopeOf(
  Schema.String.check(Schema.makeFilter((type) => !(eventTypes as ReadonlyArray<string>).includes(type))),
  Schema.StructWithRest(Schema.Struct({ object: Schema.String }), [Schema.Record(Schema.String, Schema.Json)])
).annotate({ identifier: "LaterEvent" })

/**
 * The canonical event: `type` says which object it carries. Types that came later are read too, though the static type
 * does not name them: TypeScript would no longer tell the object by a comparison of `type`. So ignore a type you do not
 * know.
 */
export const Event = (Schema.Union([...members, LaterEvent]) as unknown as Schema.Union<ReadonlyArray<EventMember>>)
  .annotate({
    identifier: "Event",
    description: "One state change, told the same way everywhere. `type` says which object it carries."
  })
export type Event = typeof Event.Type

/** What a decision says happened; the commit gives it an id, a time and a frozen text. */
export interface EventDraft {
  readonly type: EventType
  readonly object: WireObject
  /** `object` as JSON, where whoever made it has that already. */
  readonly objectText?: string
  readonly previousAttributes: Readonly<Record<string, unknown>>
}

/**
 * The top-level fields of `before` that differ in `after`, with their old values; nested values are given whole.
 * `{...after, ...previousAttributes(before, after)}` equals `before`.
 */
export const previousAttributes = (before: WireObject, after: WireObject): Readonly<Record<string, unknown>> => {
  const oldValues: Record<string, unknown> = {}
  for (const key of Object.keys(before)) {
    if (!isSame(before[key], after[key])) oldValues[key] = before[key]
  }
  return oldValues
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b))

/** The text that is frozen at commit and spliced wherever the event is told. `objectText`: `object` as JSON. */
export const dataText = (
  object: WireObject,
  previous: Readonly<Record<string, unknown>>,
  objectText = JSON.stringify(object)
): string => `{"object":${objectText},"previous_attributes":${JSON.stringify(previous)}}`

/** The object's text within the text of an event without previous attributes: of a creation. */
export const objectTextOf = (data: string): string =>
  data.slice("{\"object\":".length, -",\"previous_attributes\":{}}".length)

/**
 * An event's frozen text as `version` tells it. Both snapshots are downgraded and compared again, so that the previous
 * attributes invert in that version too; where the version knows no difference, it is the frozen text itself.
 */
export const dataTextIn = (version: string, type: string, data: string): string => {
  if (!differsIn(version, eventObjects[type as EventType])) return data
  const { object, previous_attributes } = JSON.parse(data) as {
    readonly object: WireObject
    readonly previous_attributes: Readonly<Record<string, unknown>>
  }
  const after = downgrade(object, version)
  const before = downgrade({ ...object, ...previous_attributes }, version)
  return dataText(after, previousAttributes(before, after))
}

/** Types that the payor's socket carries as stored events; the others have no payor's rendering. */
const payorTypes: ReadonlySet<string> = new Set<EventType>([
  "invoice.created",
  "invoice.updated",
  "invoice.paid",
  "invoice.partial_payment",
  "invoice.overpaid",
  "invoice.expired",
  "invoice.canceled",
  "invoice_payment.created",
  "invoice_payment.updated"
])

/** Fields of the merchant in invoices and payments, whose values no payor is shown. */
const merchantFields: ReadonlySet<string> = new Set(["customer_id", "metadata"])

/** Fields that a payor's payment does not have at all. */
const payorOmittedFields: ReadonlySet<string> = new Set(settlementFields)

const hasMerchantFields = ({ object }: WireObject): boolean => object === "invoice" || object === "invoice_payment"

/** An invoice or payment without the merchant's values. A literal, because every event of an invoice is copied here. */
const withoutMerchantValues = (object: WireObject): WireObject => ({ ...object, customer_id: null, metadata: {} })

/**
 * The object as a payor sees it: invoices and payments with empty metadata and no customer, payments without the six
 * settlement fields; key order kept.
 */
export const payorObject = (object: WireObject): WireObject => {
  if (!hasMerchantFields(object)) return object
  if (object.object === "invoice") return withoutMerchantValues(object)
  const fields: Record<string, unknown> = {}
  for (const key of Object.keys(object)) {
    if (!payorOmittedFields.has(key)) fields[key] = object[key]
  }
  return withoutMerchantValues(fields as WireObject)
}

/** Whether a payor may see what a field of this object was before. */
const isShownToPayors = (object: WireObject, field: string): boolean =>
  !payorOmittedFields.has(field) && !(merchantFields.has(field) && hasMerchantFields(object))

/**
 * Whether a payor is told of an event: not of types without a payor's rendering, nor of a change of which a payor sees
 * nothing. The mere event would tell when the merchant's money moved.
 */
export const isForPayors = ({ object, previousAttributes: previous, type }: EventDraft): boolean => {
  if (!payorTypes.has(type)) return false
  const changedFields = Object.keys(previous)
  return changedFields.length === 0 || changedFields.some((field) => isShownToPayors(object, field))
}

/**
 * The payor's rendering of the frozen text of an event that {@link isForPayors}. It is made when a payor is told, which
 * is rarer than an event, and not stored: it would be nearly half of the event's bytes.
 */
export const payorDataText = (data: string): string => {
  const { object, previous_attributes: previous } = JSON.parse(data) as {
    readonly object: WireObject
    readonly previous_attributes: Readonly<Record<string, unknown>>
  }
  const shown = Object.entries(previous).filter(([field]) => isShownToPayors(object, field))
  return dataText(payorObject(object), Object.fromEntries(shown))
}

/** An event as stored: the numbers and texts that every rendering splices. */
export interface StoredEvent {
  readonly id: EventId
  readonly type: string
  readonly environment: Environment
  /** Epoch seconds. */
  readonly created: number
  readonly requestId: string | null
  readonly idempotencyKey: string | null
  readonly data: string
}

/**
 * The merchant's text of an event in a version, in contract order. `pendingWebhooks` is the count at commit in a
 * webhook body and the live count in the API; nothing else of the text ever differs.
 */
export const eventText = (event: StoredEvent, pendingWebhooks: number, version: string = apiVersion): string =>
  envelope(event, version, pendingWebhooks, event.requestId, event.idempotencyKey, event.data)

/** The payor's text of an event: the payor's data, and nothing of the merchant's request or endpoints. */
export const payorEventText = (event: StoredEvent, payorData: string, version: string = apiVersion): string =>
  envelope(event, version, 0, null, null, payorData)

/** A version nobody here knows, of a key that a newer release pinned, is answered in the newest one there is. */
const envelope = (
  event: StoredEvent,
  requestedVersion: string,
  pendingWebhooks: number,
  requestId: string | null,
  idempotencyKey: string | null,
  data: string
): string => {
  const version = knownVersion(requestedVersion)
  return envelopeText({
    id: event.id,
    version,
    created: event.created,
    type: event.type,
    livemode: event.environment === "mainnet",
    pendingWebhooks,
    requestId: JSON.stringify(requestId),
    idempotencyKey: JSON.stringify(idempotencyKey),
    data: dataTextIn(version, event.type, data)
  })
}

/** What an envelope is put together from: JSON as it stands in the text, but for `id`, `version` and `type`. */
export interface EnvelopeParts {
  readonly id: string
  readonly version: string
  readonly created: number | string
  readonly type: string
  readonly livemode: boolean | string
  readonly pendingWebhooks: number | string
  readonly requestId: string
  readonly idempotencyKey: string
  readonly data: string
}

/** The one place that has the text of an envelope; the SQL of a page is made from it too. */
export const envelopeText = (parts: EnvelopeParts): string =>
  `{"id":"${parts.id}","object":"event","api_version":"${parts.version}","created":${parts.created},` +
  `"type":"${parts.type}","livemode":${parts.livemode},"pending_webhooks":${parts.pendingWebhooks},` +
  `"request":{"id":${parts.requestId},"idempotency_key":${parts.idempotencyKey}},"data":${parts.data}}`

/** What the events table is filtered by, read off the object. */
export interface EventIndex {
  readonly invoiceId: string | null
  readonly orderId: string | null
  readonly customerId: string | null
  /**
   * A commerce order, or an invoice or payment of type `commerce` (modules/docs/reference/events.md#commerce-events).
   */
  readonly commerce: boolean
}

/** Objects that no commerce key reads: their events are none of commerce, also where the invoice behind them is. */
const merchantOnlyObjects: ReadonlySet<string> = new Set(["test_ping", "exception", "balance_transaction", "batch"])

/** Whether all events of a type are of commerce, or none; undefined: some are. What {@link eventIndex} reads off each. */
export const isCommerceType = (type: EventType): boolean | undefined => {
  const object = eventObjects[type]
  if (object === "commerce_order") return true
  return merchantOnlyObjects.has(object) ? false : undefined
}

export const eventIndex = (object: WireObject): EventIndex => {
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null)
  switch (object.object) {
    case "invoice":
      return {
        invoiceId: text(object.id),
        orderId: text(object.commerce_order_id),
        customerId: text(object.customer_id),
        commerce: object.invoice_type === "commerce"
      }
    case "commerce_order":
      return {
        invoiceId: text(object.invoice_id),
        orderId: text(object.id),
        customerId: text(object.customer_id),
        commerce: true
      }
    default:
      return {
        invoiceId: text(object.invoice_id),
        orderId: text(object.commerce_order_id),
        customerId: text(object.customer_id),
        commerce: object.invoice_type === "commerce"
      }
  }
}
