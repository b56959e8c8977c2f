/**
 * Goal: whatever a collector does, the service keeps a bounded number of spans, has one call under way, and stops in
 * time. Method: collectors that are away, hang, refuse and lie, on virtual time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Metric, Scope } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import {
  callMillis,
  gatherMillis,
  makeSpanExporter,
  maximumBatch,
  maximumTries,
  maximumWaitingSpans,
  outcomeOfStatus,
  pauseMillis,
  stopMillis
} from "../../../runtime/telemetry/SpanExporter.ts"
import type { EndedSpan } from "../../../runtime/telemetry/Spans.ts"

const span: EndedSpan = {
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  parentSpanId: null,
  link: null,
  name: "work",
  kind: "internal",
  startNanos: 1n,
  endNanos: 2n,
  attributes: {},
  isFailed: false
}

/** An exporter whose collector answers each call as `answer` says, with the sizes of the batches it was sent. */
const makeRig = Effect.fnUntraced(function*(answer: (call: number) => Effect.Effect<Response>) {
  const sizes: Array<number> = []
  let underWay = 0
  let mostUnderWay = 0
  const client = HttpClient.make((request) =>
    Effect.suspend(() => {
      mostUnderWay = Math.max(mostUnderWay, ++underWay)
      return answer(sizes.length)
    }).pipe(
      Effect.map((response) => HttpClientResponse.fromWeb(request, response)),
      Effect.ensuring(Effect.sync(() => void underWay--))
    )
  )
  const scope = yield* Scope.make()
  const push = yield* makeSpanExporter({
    url: "http://collector.example/v1/traces",
    headers: {},
    encode: (spans) => {
      sizes.push(spans.length)
      return new Uint8Array()
    }
  }).pipe(Effect.provideService(HttpClient.HttpClient, client), Scope.provide(scope))
  return {
    pushMany: (count: number) => {
      for (let n = 0; n < count; n++) push(span)
    },
    sizes,
    mostUnderWay: () => mostUnderWay,
    stop: Scope.close(scope, Exit.void)
  }
})

const answered = (status: number, headers: Record<string, string> = {}) =>
  Effect.sync(() => new Response("{}", { status, headers }))

const droppedCount = (reason: string) =>
  Effect.map(
    Metric.snapshot,
    (all) => {
      const series = all.find(({ attributes, id }) =>
        id === "otlp_spans_dropped_total" && attributes?.["reason"] === reason
      )
      return series?.type === "Counter" ? Number(series.state.count) : 0
    }
  )

describe("a collector that works", () => {
  it.effect("gets spans together, a batch at once and fewer after two seconds", () =>
    Effect.gen(function*() {
      const rig = yield* makeRig(() => answered(200))
      rig.pushMany(maximumBatch + 1)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(rig.sizes, [maximumBatch])
      yield* TestClock.adjust(gatherMillis)
      assert.deepStrictEqual(rig.sizes, [maximumBatch, 1])
      yield* TestClock.adjust(gatherMillis)
      assert.lengthOf(rig.sizes, 2, "an idle service calls nobody")
    }))

  it.effect("gets what waits when the service stops", () =>
    Effect.gen(function*() {
      const rig = yield* makeRig(() => answered(200))
      rig.pushMany(maximumBatch + 7)
      yield* rig.stop
      assert.deepStrictEqual(rig.sizes, [maximumBatch, 7])
    }))
})

describe("a collector that is away", () => {
  it.effect("costs the spans that find no room, and is asked ever more seldom", () =>
    Effect.gen(function*() {
      const before = yield* droppedCount("full")
      const rig = yield* makeRig(() => Effect.die(new Error("refused")))
      rig.pushMany(maximumWaitingSpans + 100)
      const after = yield* droppedCount("full")
      assert.strictEqual(after - before, 100)
      yield* TestClock.adjust(0)
      for (let n = 1; n < maximumTries; n++) {
        assert.lengthOf(rig.sizes, n)
        yield* TestClock.adjust(pauseMillis(n) - 1)
        assert.lengthOf(rig.sizes, n, "not before the pause is over")
        yield* TestClock.adjust(1)
      }
      const calls = rig.sizes.length
      yield* TestClock.adjust(60_000)
      assert.isAtMost(rig.sizes.length - calls, 4)
      assert.strictEqual(rig.mostUnderWay(), 1)
    }))

  it.effect("is not waited for by a stop", () =>
    Effect.gen(function*() {
      const rig = yield* makeRig(() => answered(503))
      rig.pushMany(maximumBatch)
      yield* TestClock.adjust(0)
      yield* rig.stop
      assert.lengthOf(rig.sizes, 1)
    }))
})

describe("a collector that never answers", () => {
  it.effect("holds one call for ten seconds, and a stop for one", () =>
    Effect.gen(function*() {
      const rig = yield* makeRig(() => Effect.never)
      rig.pushMany(maximumWaitingSpans)
      yield* TestClock.adjust(callMillis - 1)
      assert.lengthOf(rig.sizes, 1)
      yield* TestClock.adjust(1 + pauseMillis(1))
      assert.lengthOf(rig.sizes, 2)
      assert.strictEqual(rig.mostUnderWay(), 1)

      const idle = yield* makeRig(() => Effect.never)
      idle.pushMany(1)
      const stopping = yield* Effect.forkChild(idle.stop, { startImmediately: true })
      yield* TestClock.adjust(stopMillis)
      assert.isDefined(stopping.pollUnsafe())
    }))
})

describe("a collector that lies", () => {
  it.effect("is not believed when it wants a day of silence", () =>
    Effect.gen(function*() {
      const rig = yield* makeRig((call) => answered(call === 1 ? 429 : 200, { "retry-after": "86400" }))
      rig.pushMany(maximumBatch)
      yield* TestClock.adjust(0)
      yield* TestClock.adjust(pauseMillis(1))
      assert.deepStrictEqual(rig.sizes, [maximumBatch, maximumBatch])
    }))

  it.effect("with an answer without end has failed the call, and its answer is not kept", () =>
    Effect.gen(function*() {
      let sent = 0
      const endless = () =>
        new ReadableStream<Uint8Array>({
          pull: (controller) => {
            sent += 16_384
            controller.enqueue(new Uint8Array(16_384))
          }
        })
      const rig = yield* makeRig(() => Effect.sync(() => new Response(endless(), { status: 200 })))
      rig.pushMany(maximumBatch)
      while (sent <= 65_536) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      // Time to read on, were it to.
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
      yield* TestClock.adjust(pauseMillis(1))
      assert.isAtMost(sent, 1_000_000)
      assert.isAbove(sent, 65_536)
    }))

  it.effect("or refuses spans for good loses those and gets the next", () =>
    Effect.gen(function*() {
      const before = yield* droppedCount("refused")
      const rig = yield* makeRig((call) => answered(call === 1 ? 400 : 200))
      rig.pushMany(maximumBatch + 3)
      yield* TestClock.adjust(0)
      yield* TestClock.adjust(gatherMillis)
      assert.deepStrictEqual(rig.sizes, [maximumBatch, 3])
      const after = yield* droppedCount("refused")
      assert.strictEqual(after - before, maximumBatch)
    }))
})

it("which answers are worth another call is what OTLP says", () => {
  const outcomes = [200, 202, 301, 400, 401, 404, 408, 413, 429, 500, 502, 503, 504].map((status) =>
    [status, outcomeOfStatus(status)] as const
  )
  assert.deepStrictEqual(outcomes.filter(([, outcome]) => outcome === "taken").map(([status]) => status), [200, 202])
  assert.deepStrictEqual(outcomes.filter(([, outcome]) => outcome === "refused").map(([status]) => status), [
    301,
    400,
    401,
    404,
    413
  ])
})
