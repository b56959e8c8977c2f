/**
 * Events in the OpenAPI document: a union told apart by `type`, an example for each type, and the webhook that delivers
 * each. Made from the schemas of the events; the headers are those of `runtime/webhooks/Signature.ts`.
 */
import type { JsonSchema } from "effect"
import { deliveredTypes, eventObjects, type EventType, eventTypes, isOptIn } from "../../schemas/Event.ts"
import { exampleOf } from "./Examples.ts"

type Schemas = Readonly<Record<string, JsonSchema.JsonSchema>>

const pointer = "#/components/schemas/"

/** The parts of an example that an event's type decides: what the object says by then, and what it said before. */
interface Change {
  readonly object: Readonly<Record<string, unknown>>
  readonly previous: Readonly<Record<string, unknown>>
}

const nothingPaid = {
  amount_paid: 0,
  amount_paid_decimal: "0.000",
  amount_remaining: 49_990,
  amount_remaining_decimal: "49.990",
  payer_wallet_address: null,
  payer_wallet_network: null,
  paid_at: null,
  last_payment_at: null
}

const unpaid = { status: "unpaid", ...nothingPaid }

const partlyPaid = {
  status: "underpaid",
  amount_paid: 20_000,
  amount_paid_decimal: "20.000",
  amount_remaining: 29_990,
  amount_remaining_decimal: "29.990",
  paid_at: null
}

/** By type. The invoice and the payment of the examples are paid and confirmed. */
const changes: Readonly<Partial<Record<EventType, Change>>> = {
  "invoice.created": { object: unpaid, previous: {} },
  "invoice.updated": { object: {}, previous: unpaid },
  "invoice.paid": { object: {}, previous: unpaid },
  "invoice.partial_payment": { object: partlyPaid, previous: unpaid },
  "invoice.overpaid": { object: { amount_paid: 59_990, amount_paid_decimal: "59.990" }, previous: unpaid },
  "invoice.expired": { object: { ...unpaid, status: "expired" }, previous: { status: "unpaid" } },
  "invoice.canceled": { object: { ...unpaid, status: "canceled" }, previous: { status: "unpaid" } },
  "invoice_payment.created": { object: { status: "pending", confirmed_at: null }, previous: {} },
  "invoice_payment.updated": { object: {}, previous: { status: "pending", confirmed_at: null } },
  "invoice_payment.refunded": { object: { settlement_status: "refunded" }, previous: { settlement_status: "settled" } },
  "exception.resolved": {
    object: {
      status: "resolved",
      allowed_actions: [],
      resolution: {
        action: "credit",
        note: "A tip, the customer says",
        actor: "key 7",
        refund_id: null,
        invoice_id: null,
        at: 1_766_320_900
      },
      resolved_at: 1_766_320_900
    },
    previous: { status: "open", allowed_actions: ["credit", "ignore"], resolution: null, resolved_at: null }
  }
}

const noChange: Change = { object: {}, previous: {} }

const withExample = (type: EventType, schema: JsonSchema.JsonSchema, schemas: Schemas): JsonSchema.JsonSchema => {
  const { data, ...envelope } = exampleOf(schema, schemas) as { readonly data: { readonly object: object } }
  const { object, previous } = changes[type] ?? noChange
  return {
    ...schema,
    examples: [{ ...envelope, data: { object: { ...data.object, ...object }, previous_attributes: previous } }]
  }
}

/** The type that a schema of an event is for; undefined where it names none. */
const typeOf = (schema: JsonSchema.JsonSchema | undefined): EventType | undefined => {
  const { type } = (schema?.["properties"] ?? {}) as Readonly<Record<string, { readonly const?: unknown }>>
  return eventTypes.find((known) => known === type?.const)
}

const membersOf = ({ anyOf }: JsonSchema.JsonSchema): ReadonlyArray<string> =>
  (anyOf as ReadonlyArray<{ readonly $ref: string }>).map(({ $ref }) => $ref.slice(pointer.length))

/** The schema of each event type, by its type; empty where no schema is an event. */
const schemasByType = (schemas: Schemas): ReadonlyMap<EventType, string> =>
  new Map(
    Object.entries(schemas).flatMap(([name, schema]) => {
      const type = typeOf(schema)
      return type === undefined ? [] : [[type, name] as const]
    })
  )

/**
 * `Event` as one of the types that this service sends, with an example of each. The member for types of later versions
 * is for clients that are older than their service, so it is left out.
 */
export const discriminateEvents = (schemas: Schemas): Schemas => {
  const { Event: event } = schemas
  if (event === undefined) return schemas
  const names = membersOf(event)
  const { anyOf: _, ...described } = event
  const types = new Map(names.flatMap((name) => {
    const type = typeOf(schemas[name])
    return type === undefined ? [] : [[type, name] as const]
  }))
  const union: JsonSchema.JsonSchema = {
    ...described,
    oneOf: [...types.values()].map((name) => ({ $ref: `${pointer}${name}` })),
    discriminator: {
      propertyName: "type",
      mapping: Object.fromEntries([...types].map(([type, name]) => [type, `${pointer}${name}`]))
    }
  }
  return Object.fromEntries(
    Object.entries(schemas).flatMap(([name, schema]) => {
      const type = typeOf(schema)
      if (type !== undefined) return [[name, withExample(type, schema, schemas)]]
      if (name === "Event") return [[name, union]]
      return names.includes(name) ? [] : [[name, schema]]
    })
  )
}

interface Header {
  readonly description: string
  readonly schema: JsonSchema.JsonSchema
  /** Default: in every delivery. */
  readonly required?: false
}

const text = (example: string, more: JsonSchema.JsonSchema = {}): JsonSchema.JsonSchema => ({
  type: "string",
  ...more,
  examples: [example]
})

const exampleEventId = "evt_1766320496123-8841"

/** The headers of a delivery. */
const deliveryHeaders: Readonly<Record<string, Header>> = {
  "webhook-id": {
    description: "Id of the event, the same in every attempt: deduplicate by it. Signed (Standard Webhooks).",
    schema: text(exampleEventId)
  },
  "webhook-timestamp": {
    description: "When this attempt was sent, in epoch seconds: refuse what is more than five minutes away. Signed.",
    schema: text("1766320497", { pattern: "^\\d+$" })
  },
  "webhook-signature": {
    description:
      "`v1,` and the base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, keyed by the bytes that the "
      + "endpoint's secret spells in base64 after `whsec_`. While a rotation's overlap lasts two of them, with a space between.",
    schema: text("v1,dXcWTg1nDbFmdUTV0QH6aPXrbGVmzWvLKpbfkSvfvgA=")
  },
  "X-Service-Event": { description: "Type of the event.", schema: text("invoice.paid") },
  "X-Service-Event-ID": {
    description: "Id of the event, the same in every attempt: deduplicate by it.",
    schema: text(exampleEventId)
  },
  "X-Service-Timestamp": {
    description:
      "When this attempt was sent, in epoch milliseconds: refuse what is more than five minutes away. Signed.",
    schema: text("1766320497123", { pattern: "^\\d+$" })
  },
  "X-Service-Signature": {
    description: "Lower-case hexadecimal HMAC-SHA256 over `X-Service-Timestamp.body`, keyed by the whole text of the "
      + "endpoint's secret, `whsec_` included. Compare in constant time.",
    schema: text("75771659".repeat(8), { pattern: "^[0-9a-f]{64}$" })
  },
  "X-Service-Signature-Previous": {
    description: "The same with the secret before the last rotation; only while the overlap lasts.",
    schema: text("0d6e7b21".repeat(8), { pattern: "^[0-9a-f]{64}$" }),
    required: false
  },
  "X-Service-Network-Environment": {
    description: "Environment of the event.",
    schema: text("devnet", { enum: ["devnet", "mainnet"] })
  },
  "X-Service-Delivery-ID": {
    description: "Id of the delivery, the same in its attempts, another one when it is sent again.",
    schema: text("whd_0b6c1f3a-94d2-4c57-a8e6-5d7f2e1c9b80")
  },
  "X-Service-Attempt": {
    description: "1 for the first attempt, 4 for the last.",
    schema: text("1", { pattern: "^[1-4]$" })
  },
  "User-Agent": { description: "Names this service.", schema: text("Service-Webhooks/1") }
}

const parameterName = (header: string): string =>
  `Delivery${header.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}`

const parameters = Object.fromEntries(
  Object.entries(deliveryHeaders).map(([name, { description, required = true, schema }]) => [
    parameterName(name),
    { name, in: "header", required, description, schema }
  ])
)

const references = Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }))

const words = (type: string): ReadonlyArray<string> => type.split(/[._]/)

const operationId = (type: string): string => {
  const [first = "", ...others] = words(type)
  return `deliver.${first}${others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}`
}

const answers = {
  "2XX": {
    description: "Received, within 10 seconds. Do the work afterwards: the body of the answer is kept, not read."
  },
  "410": { description: "The endpoint is gone: it is disabled at once." },
  default: { description: "Not received: the delivery is tried again, four times in all." }
}

const webhook = (type: EventType, schemaName: string, schemas: Schemas) => ({
  post: {
    tags: ["events"],
    operationId: operationId(type),
    summary: `Receive ${type}`,
    description:
      `Sent to the endpoints that listen to \`${type}\`: an event with the \`${eventObjects[type]}\` it is about. `
      + (isOptIn(type) ? "`*` does not include it. " : "") +
      "May come twice and out of order. Verify either signature over the raw body before anything reads it.",
    parameters: references,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: `${pointer}${schemaName}` },
          example: exampleOf({ $ref: `${pointer}${schemaName}` }, schemas)
        }
      }
    },
    responses: answers,
    security: []
  }
})

/** The `webhooks` of the document and the parameters they share; neither where the document has no events. */
export const webhooksOf = (schemas: Schemas) => {
  const names = schemasByType(schemas)
  const webhooks = Object.fromEntries(deliveredTypes.flatMap((type) => {
    const name = names.get(type)
    return name === undefined ? [] : [[type, webhook(type, name, schemas)] as const]
  }))
  return Object.keys(webhooks).length === 0 ? { webhooks: {}, parameters: {} } : { webhooks: { webhooks }, parameters }
}
