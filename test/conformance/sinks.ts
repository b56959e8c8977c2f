/** What every driver of sinks promises: a driver's test calls {@link sinkConformance}. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type FileSystem, Layer, type Path, type Scope } from "effect"
import { type EventSink, EventSinks, type SinkEvent, SinkUnavailable } from "../../modules/sinks/plugin.ts"

/** A plugin's layer as far as a driver of sinks may need the runtime. */
export type SinkLayer = Layer.Layer<never, unknown, EventSinks | FileSystem.FileSystem | Path.Path>

/** What a sink holds of one event. */
export interface StoredText {
  readonly merchantId: number
  /** The canonical event. */
  readonly text: string
}

/** A driver and its place, ready to be tried. */
export interface SinkSubject {
  readonly layer: SinkLayer
  /** Whatever the place holds, in its order. */
  readonly stored: Effect.Effect<ReadonlyArray<StoredText>>
  /** Makes the place unusable, and usable again with what it held. */
  readonly away: Effect.Effect<void>
  readonly back: Effect.Effect<void>
  /** Whether events that come twice are kept once. */
  readonly dropsRepeats: boolean
}

/** An event of a merchant, by its number. */
export const sinkEvent = (merchantId: number, n: number): SinkEvent => ({
  key: `${merchantId}/evt_${n}-1`,
  merchantId,
  environment: "devnet",
  type: "invoice.created",
  text: JSON.stringify({ id: `evt_${n}-1`, note: "line\nbreak, \"quotes\", é€" })
})

/** The driver that a layer registers. */
const driverOf = (layer: SinkLayer): Effect.Effect<EventSink, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<EventSink> = []
    const port = Layer.succeed(EventSinks, { register: (sink) => Effect.sync(() => void registered.push(sink)) })
    yield* Layer.build(layer.pipe(Layer.provide(Layer.mergeAll(port, NodeServices.layer))))
    return registered[0]!
  })

const textsOf = (merchantId: number, stored: ReadonlyArray<StoredText>) =>
  stored.filter((one) => one.merchantId === merchantId).map(({ text }) => text)

const textsUpTo = (merchantId: number, count: number) =>
  Array.from({ length: count }, (_, n) => sinkEvent(merchantId, n).text)

/** Runs the suite. `start` makes the driver and an empty place. */
export const sinkConformance = (name: string, start: Effect.Effect<SinkSubject, never, Scope.Scope>) =>
  describe(`the sink ${name}`, () => {
    it.live("is named as in the config, and keeps the events of each merchant whole and in order", () =>
      Effect.gen(function*() {
        const { layer, stored } = yield* start
        const sink = yield* driverOf(layer)
        assert.strictEqual(sink.name, `sinks/${name}`)
        const events = Array.from({ length: 600 }, (_, n) => sinkEvent(1 + n % 3, Math.floor(n / 3)))
        yield* sink.store(events.slice(0, 10))
        yield* sink.store(events.slice(10))
        const found = yield* stored
        for (const merchantId of [1, 2, 3]) {
          assert.deepStrictEqual(textsOf(merchantId, found), textsUpTo(merchantId, 200))
        }
      }).pipe(Effect.scoped, Effect.orDie))

    it.live("fails with a reason while its place is away, and goes on where it was", () =>
      Effect.gen(function*() {
        const { away, back, dropsRepeats, layer, stored } = yield* start
        const sink = yield* driverOf(layer)
        yield* sink.store([sinkEvent(1, 0)])
        yield* away
        const failure = yield* Effect.flip(sink.store([sinkEvent(1, 1)]))
        assert.instanceOf(failure, SinkUnavailable)
        assert.isNotEmpty(failure.reason)
        yield* back
        yield* sink.store([sinkEvent(1, 0), sinkEvent(1, 1), sinkEvent(2, 0)])
        const found = yield* stored
        if (dropsRepeats) assert.deepStrictEqual(textsOf(1, found), textsUpTo(1, 2))
        else assert.deepStrictEqual(textsOf(1, found), [sinkEvent(1, 0).text, ...textsUpTo(1, 2)])
        assert.deepStrictEqual(textsOf(2, found), textsUpTo(2, 1))
      }).pipe(Effect.scoped, Effect.orDie))
  })
