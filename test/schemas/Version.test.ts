/**
 * Goal: an older caller is shown exactly what its version promised, whatever has been added since.
 * Method: generated objects in the newest shape, and a corpus of events as the first version stored and told them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import {
  dataText,
  dataTextIn,
  Event,
  EventObject,
  eventText,
  payorDataText,
  previousAttributes,
  type StoredEvent
} from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { Payment, PaymentMetadata, PaymentToken } from "../../schemas/Payment.ts"
import { downgrade, findVersion, knownVersion, newestVersion, versions } from "../../schemas/Version.ts"

const first = "2026-01-15"
const names = versions.map(({ version }) => version)

const wire = <S extends Schema.Constraint>(schema: S, value: S["Type"]): WireObject =>
  JSON.parse(JSON.stringify(Schema.encodeUnknownSync(schema as never)(value))) as WireObject

interface Told {
  readonly stored: StoredEvent
  readonly pending: number
  readonly text: string
}

/** Events as the release that knew only 2026-01-15 stored them, and the texts it sent. */
const corpus = JSON.parse(
  readFileSync(new URL("../fixtures/events-2026-01-15.json", import.meta.url), "utf8")
) as ReadonlyArray<Told>

describe("versions", () => {
  it("are dates, newest first, each once, and none is unknown to itself", () => {
    for (const name of names) assert.match(name, /^\d{4}-\d{2}-\d{2}$/)
    assert.deepStrictEqual(names, [...new Set(names)].sort().reverse())
    assert.strictEqual(newestVersion, names[0])
    for (const name of names) assert.deepStrictEqual([findVersion(name)?.version, knownVersion(name)], [name, name])
    for (const none of ["", "2026-01-16", "latest", "__proto__"]) {
      assert.isUndefined(findVersion(none))
      assert.strictEqual(knownVersion(none), newestVersion)
    }
  })

  it("live for at least 12 months after their end was announced", () => {
    for (const { deprecation } of versions) {
      if (deprecation !== null) assert.isAtLeast(deprecation.sunsetAt - deprecation.announcedAt, 365 * 86_400)
    }
  })
})

describe("turning down", () => {
  it.effect.prop("leaves what a version does not know apart, is total, and changes nothing when repeated", [
    EventObject
  ], ([value]) =>
    Effect.sync(() => {
      const object = wire(EventObject, value)
      assert.deepStrictEqual(downgrade(object, newestVersion), object)
      for (const version of names) {
        const shown = downgrade(object, version)
        assert.deepStrictEqual(downgrade(shown, version), shown)
        assert.deepStrictEqual(Object.keys(shown), Object.keys(object))
        if (object.object !== "invoice_payment") assert.deepStrictEqual(shown, object)
      }
    }))

  it.effect.prop(
    "a payment to the first version has no token and no reason of its price, says why it is refused, and nothing else",
    [
      Payment,
      PaymentMetadata,
      Schema.NullOr(PaymentToken)
    ],
    ([value, metadata, token]) =>
      Effect.sync(() => {
        const payment = wire(Payment, value)
        const { token: _, ...older } = wire(PaymentMetadata, metadata) as unknown as Record<string, unknown>
        const newest = { ...payment, metadata: { ...older, token } }
        const quote = older["quote"] as Record<string, unknown> | null
        const { pricing_reason: _reason, ...priced } = quote ?? {}
        const refusals = ["wrong_token", "wrong_network", "late_payment", "below_dust", "missing_memo", "screened"]
        const isRefused = payment["status"] === "rejected" || payment["status"] === "reverted"
        const type = (older["exception"] as { readonly type: string } | null)?.type ?? ""
        const exception = isRefused && refusals.includes(type) ? type : null
        assert.deepStrictEqual(downgrade(newest, first), {
          ...payment,
          metadata: { ...older, quote: quote === null ? null : priced, exception }
        })
      })
  )

  it.effect.prop("previous attributes invert in every version, and tell no change that it does not know", [
    Payment,
    Payment,
    PaymentMetadata,
    PaymentMetadata
  ], ([a, b, oldMetadata, newMetadata]) =>
    Effect.sync(() => {
      const before = { ...wire(Payment, a), metadata: wire(PaymentMetadata, oldMetadata) }
      const after = { ...wire(Payment, b), metadata: wire(PaymentMetadata, newMetadata) }
      const data = dataText(after, previousAttributes(before, after))
      for (const version of names) {
        const told = JSON.parse(dataTextIn(version, "invoice_payment.updated", data))
        const [was, is] = [downgrade(before, version), downgrade(after, version)]
        assert.deepStrictEqual(told.object, is)
        assert.deepStrictEqual({ ...told.object, ...told.previous_attributes }, was)
        assert.deepStrictEqual(told.previous_attributes, previousAttributes(was, is))
      }
    }))

  it("an event whose only change a version does not know names no change there", () => {
    const payment = corpus.find(({ stored }) => stored.type === "invoice_payment.created")!
    const { object } = JSON.parse(payment.stored.data)
    const token = { id: 1, symbol: "USDC", address: "0xabc", decimals: 6 }
    const after = { ...object, metadata: { ...object.metadata, token } }
    const before = { ...object, metadata: { ...object.metadata, token: null } }
    const data = dataText(after, previousAttributes(before, after))
    assert.deepStrictEqual(JSON.parse(data).previous_attributes, { metadata: before.metadata })
    assert.strictEqual(dataTextIn(first, "invoice_payment.updated", data), dataText(object, {}))
  })

  it("the payor's rendering is the same in every version: it never had metadata", () => {
    for (const { stored } of corpus) {
      const text = payorDataText(stored.data)
      for (const version of names) assert.strictEqual(dataTextIn(version, stored.type, text), text)
    }
  })
})

describe("events of the first version", () => {
  it("are told in it byte for byte as they were", () => {
    assert.isAbove(corpus.length, 20)
    for (const { pending, stored, text } of corpus) assert.strictEqual(eventText(stored, pending, first), text)
  })

  it("are told in the newest one with its name, and decode", () => {
    for (const { pending, stored, text } of corpus) {
      const told = eventText(stored, pending)
      assert.strictEqual(told, text.replace(`"api_version":"${first}"`, `"api_version":"${newestVersion}"`))
      assert.isTrue(Schema.is(Event)(Schema.decodeUnknownSync(Event)(JSON.parse(told))))
    }
  })

  it("a version that a newer release pinned is answered in the newest that is known", () => {
    const [{ pending, stored }] = corpus as [Told]
    assert.strictEqual(eventText(stored, pending, "2099-01-01"), eventText(stored, pending))
  })
})
