/**
 * Goal: every collector reads the spans of this service. Method: what is written is read by OpenTelemetry's own
 * definitions, which refuse what they do not describe, and is held against the encoder of Effect.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { OtlpResource, OtlpSerialization } from "effect/observability"
import { encodeSpans } from "../../../runtime/telemetry/SpanEncoding.ts"
import type { EndedSpan } from "../../../runtime/telemetry/Spans.ts"
import { readSpans } from "../../support/OtlpCollector.ts"

const source = {
  resource: { "service.name": "tillwire", "service.instance.id": "a" },
  name: "tillwire",
  version: "1.2.3"
}

const span: EndedSpan = {
  traceId: "0f".repeat(16),
  spanId: "a0".repeat(8),
  parentSpanId: "b1".repeat(8),
  link: null,
  name: "POST /api/v1/invoices",
  kind: "server",
  startNanos: 1_790_000_000_000_000_001n,
  endNanos: 1_790_000_000_123_456_789n,
  attributes: { text: "paid", count: 3, ratio: 0.25, flag: true, unknown: null },
  isFailed: false
}

const read = (changes: Partial<EndedSpan>) => readSpans(encodeSpans(source, [{ ...span, ...changes }]))[0]!

describe("a collector reads of a span", () => {
  it("what it was", () => {
    assert.deepStrictEqual(read({}), {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId!,
      name: span.name,
      kind: 2,
      startNanos: span.startNanos,
      endNanos: span.endNanos,
      attributes: { text: "paid", count: 3, ratio: 0.25, flag: true },
      isFailed: false,
      links: []
    })
  })

  it("that it failed, has no parent, and what it is linked to", () => {
    const link = { traceId: "1".repeat(32), spanId: "2".repeat(16) }
    const seen = read({ isFailed: true, parentSpanId: null, link, kind: "client" })
    assert.deepInclude(seen, { isFailed: true, parentSpanId: "", links: [link], kind: 3 })
  })

  it("numbers and facts at their limits", () => {
    const attributes = {
      zero: 0,
      seven: 0x7f,
      eight: 0x80,
      int: 2 ** 31,
      most: Number.MAX_SAFE_INTEGER,
      below: -1,
      fraction: -2.5,
      off: false
    }
    assert.deepStrictEqual(read({ attributes }).attributes, attributes)
  })

  it("text of every length and script", () => {
    for (const length of [0, 1, 127, 128, 16_383, 16_384, 2_100_000]) {
      const text = "x".repeat(length)
      assert.isTrue(read({ name: text, attributes: { text } }).name === text, `${length} characters`)
    }
    const attributes = { "prix €": "日本 🪙 \u0000 ü" }
    assert.deepStrictEqual(read({ attributes }).attributes, attributes)
  })

  it("each of a whole batch", () => {
    const batch = Array.from({ length: 512 }, (_, n) => ({ ...span, attributes: { n } }))
    assert.deepStrictEqual(readSpans(encodeSpans(source, batch)).map(({ attributes }) => attributes["n"]), [
      ...batch.keys()
    ])
  })
})

it.effect("a span is written as Effect's encoder writes it, but for fields that are empty", () =>
  Effect.gen(function*() {
    const { traces } = yield* OtlpSerialization.OtlpSerialization
    const pairs = (attributes: Readonly<Record<string, unknown>>) =>
      OtlpResource.entriesToAttributes(Object.entries(attributes).filter(([, value]) => value !== null))
    const body = traces({
      resourceSpans: [{
        resource: { attributes: pairs(source.resource), droppedAttributesCount: 0 },
        scopeSpans: [{
          scope: { name: source.name, version: source.version },
          spans: [{
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId!,
            name: span.name,
            kind: 2,
            startTimeUnixNano: String(span.startNanos),
            endTimeUnixNano: String(span.endNanos),
            attributes: pairs(span.attributes),
            droppedAttributesCount: 0,
            events: [],
            droppedEventsCount: 0,
            status: { code: 0 },
            links: [],
            droppedLinksCount: 0
          }]
        }]
      }]
    })
    assert.strictEqual(body._tag, "Uint8Array")
    if (body._tag !== "Uint8Array") return
    assert.deepStrictEqual(readSpans(encodeSpans(source, [span])), readSpans(body.body))
  }).pipe(Effect.provide(OtlpSerialization.layerProtobuf)))
