/**
 * Goal: an event tells what changed, tells it to everyone in one text, and tells the payor nothing more than is theirs.
 * Method: generated objects of the contract's own schemas.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  apiVersion,
  dataText,
  Event,
  type EventDraft,
  eventIndex,
  EventObject,
  eventObjects,
  eventText,
  type EventType,
  eventTypes,
  isForPayors,
  isOptIn,
  objectTextOf,
  optInTypes,
  payorDataText,
  payorEventText,
  payorObject,
  previousAttributes,
  type StoredEvent
} from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { eventIdOf } from "../../schemas/Ids.ts"
import { Invoice } from "../../schemas/Invoice.ts"
import { Payment, PayorPayment, settlementFields } from "../../schemas/Payment.ts"
import { Quote } from "../../schemas/Quote.ts"
import { filtersMatching, hiddenTypes, selects } from "../../schemas/Webhook.ts"

const json = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

/** A generated object as it stands on the wire: through its own JSON codec, so `undefined` and -0 are gone. */
const wire = <S extends Schema.Codec<unknown, unknown>>(schema: S, value: S["Type"]): WireObject =>
  json(Schema.encodeSync(schema)(value)) as WireObject

const stored = (changes: Partial<StoredEvent> = {}): StoredEvent => ({
  id: eventIdOf({ ms: 1_766_320_496_123n, seq: 42n }),
  type: "invoice.paid",
  environment: "devnet",
  created: 1_766_320_496,
  requestId: "req_1",
  idempotencyKey: "key \"1\"",
  data: "{}",
  ...changes
})

const Text = Schema.NullOr(Schema.String)

describe("previous attributes", () => {
  it.effect.prop(
    "applied over the new object give the old one back",
    [Invoice, Invoice],
    ([a, b]) =>
      Effect.sync(() => {
        const before = wire(Invoice, a)
        const after = wire(Invoice, b)
        assert.deepStrictEqual({ ...after, ...previousAttributes(before, after) }, before)
      })
  )

  it.effect.prop(
    "name only what differs, nothing when nothing does",
    [Payment, Payment],
    ([a, b]) =>
      Effect.sync(() => {
        const before = wire(Payment, a)
        const after = wire(Payment, b)
        for (const key of Object.keys(previousAttributes(before, after))) {
          assert.notDeepEqual(before[key], after[key], key)
        }
        assert.deepStrictEqual(previousAttributes(before, json(before)), {})
      })
  )

  it("give nested values whole", () => {
    const before = { object: "invoice", metadata: { a: 1, b: 2 }, status: "unpaid" }
    const after = { object: "invoice", metadata: { a: 1, b: 3 }, status: "unpaid" }
    assert.deepStrictEqual(previousAttributes(before, after), { metadata: { a: 1, b: 2 } })
  })
})

describe("the payor's rendering", () => {
  it.effect.prop(
    "of an invoice hides customer and metadata, and changes nothing else",
    [Invoice],
    ([invoice]) =>
      Effect.sync(() => {
        const whole = wire(Invoice, invoice)
        const shown = payorObject(whole)
        assert.deepStrictEqual(Object.keys(shown), Object.keys(whole))
        assert.deepStrictEqual(shown, { ...whole, customer_id: null, metadata: {} })
      })
  )

  it.effect.prop(
    "of a payment is exactly the payor's schema: no settlement field, no customer, no metadata",
    [Payment],
    ([payment]) =>
      Effect.sync(() => {
        const whole = wire(Payment, payment)
        const shown = payorObject(whole)
        for (const field of settlementFields) assert.notProperty(shown, field)
        assert.deepStrictEqual(shown["metadata"], {})
        const decoded = Schema.decodeUnknownSync(PayorPayment, { onExcessProperty: "error" })(shown)
        assert.sameMembers(Object.keys(decoded), Object.keys(shown))
        assert.isNull(shown["customer_id"])
        for (const [key, value] of Object.entries(shown)) {
          if (key !== "metadata" && key !== "customer_id") assert.deepStrictEqual(value, whole[key])
        }
      })
  )

  it.effect.prop(
    "of what changed shows nothing that the object hides",
    [Payment, Payment, Invoice, Invoice],
    ([paymentA, paymentB, invoiceA, invoiceB]) =>
      Effect.sync(() => {
        const drafts = [
          { type: "invoice_payment.updated", before: wire(Payment, paymentA), object: wire(Payment, paymentB) },
          { type: "invoice.updated", before: wire(Invoice, invoiceA), object: wire(Invoice, invoiceB) }
        ] as const
        for (const { before, object, type } of drafts) {
          const draft = { type, object, previousAttributes: previousAttributes(before, object) }
          if (!isForPayors(draft)) {
            assert.deepStrictEqual(payorObject(object), payorObject(before))
            continue
          }
          const told = JSON.parse(payorDataText(dataText(object, draft.previousAttributes))) as {
            readonly object: WireObject
            readonly previous_attributes: Readonly<Record<string, unknown>>
          }
          assert.deepStrictEqual(told.object, payorObject(object))
          // It still inverts, for what the payor may see.
          assert.deepStrictEqual({ ...told.object, ...told.previous_attributes }, payorObject(before))
          for (const hidden of [...settlementFields, "metadata", "customer_id"]) {
            assert.notProperty(told.previous_attributes, hidden)
          }
        }
      })
  )

  it.effect.prop(
    "of a change of settlement alone is none: not even its time is told",
    [Payment, Payment],
    ([one, other]) =>
      Effect.sync(() => {
        const before = wire(Payment, one)
        const settled = wire(Payment, other)
        const object: WireObject = {
          ...before,
          ...Object.fromEntries(settlementFields.map((field) => [field, settled[field]]))
        }
        const changed = previousAttributes(before, object)
        const isTold = isForPayors({ type: "invoice_payment.updated", object, previousAttributes: changed })
        assert.strictEqual(isTold, Object.keys(changed).length === 0)
        const status = before["status"] === "pending" ? "confirmed" : "pending"
        const moved: WireObject = { ...object, status }
        const attributes = previousAttributes(before, moved)
        assert.isTrue(isForPayors({ type: "invoice_payment.updated", object: moved, previousAttributes: attributes }))
        const told = payorDataText(dataText(moved, attributes))
        assert.deepStrictEqual(JSON.parse(told).previous_attributes, { status: before["status"] })
      })
  )

  it("is there for the types of the payor's socket only", () => {
    const draft = (type: EventType): EventDraft => ({
      type,
      object: { object: eventObjects[type] },
      previousAttributes: {}
    })
    const told = eventTypes.filter((type) => isForPayors(draft(type)))
    assert.deepStrictEqual(told, [
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
  })
})

describe("opt-in types", () => {
  it("are those of objects that clients of v1 do not know, and no others", () => {
    assert.deepStrictEqual(optInTypes, [
      "exception.opened",
      "exception.resolved",
      "balance_transaction.created",
      "batch.created",
      "batch.updated",
      "batch.paid",
      "batch.closed"
    ])
    assert.deepStrictEqual(eventTypes.filter(isOptIn), optInTypes)
    assert.isFalse(isOptIn("of.a_later_version"))
  })

  it("are selected by their name and their prefix alone", () => {
    for (const type of optInTypes) {
      assert.deepStrictEqual(filtersMatching(type), [type, `${type.split(".")[0]}.*`])
      assert.isFalse(selects(["*", "invoice.*", "commerce.*", "test.ping"], type))
      assert.isTrue(selects(["*", "exception.*", "balance_transaction.*", "batch.*"], type))
    }
    assert.deepStrictEqual(hiddenTypes(["*", "exception.opened"]), [
      "exception.resolved",
      "balance_transaction.created",
      "batch.created",
      "batch.updated",
      "batch.paid",
      "batch.closed"
    ])
    assert.deepStrictEqual(hiddenTypes(["*", "exception.*", "batch.*"]), ["balance_transaction.created"])
    assert.deepStrictEqual(hiddenTypes(["*"]), optInTypes)
  })
})

describe("event text", () => {
  it.effect.prop(
    "has its object's text as it was made, and gives it back where nothing else is in it",
    [EventObject],
    ([object]) =>
      Effect.sync(() => {
        const whole = wire(EventObject as unknown as Schema.Codec<unknown, unknown>, object)
        const objectText = JSON.stringify(whole)
        const data = dataText(whole, {}, objectText)
        assert.strictEqual(data, JSON.stringify({ object: whole, previous_attributes: {} }))
        assert.deepStrictEqual([dataText(whole, {}), objectTextOf(data)], [data, objectText])
      })
  )

  it.effect.prop(
    "is JSON of the envelope in contract order, whatever the texts hold",
    [EventObject, Text, Text, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 16 }))],
    ([object, requestId, idempotencyKey, pending]) =>
      Effect.sync(() => {
        const whole = wire(EventObject as unknown as Schema.Codec<unknown, unknown>, object)
        const data = dataText(whole, { status: "x" })
        const type = eventTypes.find((each) => eventObjects[each] === whole.object)!
        const text = eventText(stored({ type, requestId, idempotencyKey, data }), pending)
        const expected = {
          id: "evt_1766320496123-42",
          object: "event",
          api_version: apiVersion,
          created: 1_766_320_496,
          type,
          livemode: false,
          pending_webhooks: pending,
          request: { id: requestId, idempotency_key: idempotencyKey },
          data: { object: whole, previous_attributes: { status: "x" } }
        }
        assert.strictEqual(text, JSON.stringify(expected))
        assert.isTrue(Schema.is(Event)(Schema.decodeUnknownSync(Event)(JSON.parse(text))))
      })
  )

  it("of a type that came after this client was built is read as it is, and no known type is", () => {
    const later = {
      id: "evt_1766320496123-42",
      object: "event",
      api_version: apiVersion,
      created: 1,
      type: "refund.created",
      livemode: false,
      pending_webhooks: 0,
      request: { id: null, idempotency_key: null },
      data: { object: { object: "refund", id: "re_1", amount: 5 }, previous_attributes: {} }
    }
    const event = Schema.decodeUnknownSync(Event)(later)
    assert.deepStrictEqual(event as unknown, later)
    // Compiles only while a comparison of the type says which object it is.
    const amount: number | undefined = event.type === "invoice.paid" ? event.data.object.amount_paid : undefined
    assert.isUndefined(amount)
    assert.throws(() => Schema.decodeUnknownSync(Event)({ ...later, type: "invoice.paid" }))
  })

  it("tells mainnet as livemode", () => {
    assert.isTrue((JSON.parse(eventText(stored({ environment: "mainnet" }), 0)) as { livemode: boolean }).livemode)
  })

  it("to the payor says nothing of the merchant's request or endpoints", () => {
    const told = JSON.parse(payorEventText(stored(), "{\"object\":{}}")) as Record<string, unknown>
    assert.deepStrictEqual(told["request"], { id: null, idempotency_key: null })
    assert.strictEqual(told["pending_webhooks"], 0)
    assert.deepStrictEqual(told["data"], { object: {} })
    assert.notInclude(JSON.stringify(told), "req_1")
  })
})

describe("event index", () => {
  it("reads invoice, order, customer and commerce off each kind of object", () => {
    const index = (object: WireObject) => {
      const { commerce, customerId, invoiceId, orderId } = eventIndex(object)
      return [invoiceId, orderId, customerId, commerce]
    }
    const shared = { customer_id: "c", commerce_order_id: "o", invoice_type: "standard" }
    assert.deepStrictEqual(index({ object: "invoice", id: "i", ...shared }), ["i", "o", "c", false])
    assert.deepStrictEqual(index({ object: "invoice", id: "i", ...shared, invoice_type: "commerce" }), [
      "i",
      "o",
      "c",
      true
    ])
    assert.deepStrictEqual(index({ object: "invoice_payment", id: "p", invoice_id: "i", ...shared }), [
      "i",
      "o",
      "c",
      false
    ])
    assert.deepStrictEqual(index({ object: "commerce_order", id: "o", invoice_id: "i", customer_id: "c" }), [
      "i",
      "o",
      "c",
      true
    ])
    assert.deepStrictEqual(index({ object: "test_ping", id: "t" }), [null, null, null, false])
  })

  it("a quote belongs to its invoice and is no commerce object", () => {
    const quote = Object.fromEntries(Object.keys(Quote.fields).map((key) => [key, null]))
    assert.deepStrictEqual(eventIndex({ ...quote, object: "payment_quote", invoice_id: "i" }), {
      invoiceId: "i",
      orderId: null,
      customerId: null,
      commerce: false
    })
  })
})
