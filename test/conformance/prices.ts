/** What every price source promises, whoever wrote it. A driver's test calls {@link priceSourceConformance}. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { type PriceSource, PriceSourceFailed, Quotes } from "../../runtime/Quotes.ts"
import { layer as median } from "../../runtime/quotes/Median.ts"
import { compareRates, rateText, readRate } from "../../schemas/Money.ts"
import { catalogOf, token, usdcListing } from "../fixtures/tokens.ts"

/** A plugin's layer as far as a price source may need the runtime. */
export type PriceLayer = Layer.Layer<never, unknown, Quotes | HttpClient.HttpClient>

/** A driver ready to be tried: its layer, and what it should answer. */
export interface PriceSubject {
  readonly name: string
  readonly layer: PriceLayer
  /** At least one asset it knows, with the price it should give. */
  readonly known: Readonly<Record<string, string>>
}

/** The source a layer registers, for as long as the scope lives. */
export const sourceOf = (layer: PriceLayer): Effect.Effect<PriceSource, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<PriceSource> = []
    const quotes = Layer.mock(Quotes, {
      latest: () => null,
      register: (source) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => registered.push(source)),
          () => Effect.sync(() => registered.splice(registered.indexOf(source), 1))
        ))
    })
    yield* Layer.build(Layer.provide(layer, [quotes, NodeHttpClient.layerUndici]))
    const [source, ...others] = registered
    assert.strictEqual(others.length, 0, "one plugin registers one source")
    return source ?? (yield* Effect.die(new Error("the plugin registers no source")))
  })

/**
 * Runs the suite. `start` makes the driver and whatever it talks to; `broken` makes one whose provider is out of
 * order, null where there is no provider.
 */
export const priceSourceConformance = (
  name: string,
  start: Effect.Effect<PriceSubject, never, Scope.Scope>,
  broken: Effect.Effect<PriceSubject, never, Scope.Scope> | null
) => {
  const unknownAsset = "no-such-asset"

  describe(`price source ${name}`, () => {
    it.live("gives the price of every asset it knows, each once, exactly, and none from the future", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const source = yield* sourceOf(subject.layer)
        const points = yield* source.prices(Object.keys(subject.known))
        const now = (yield* Clock.currentTimeMillis) / 1000
        assert.strictEqual(source.name, subject.name)
        assert.deepStrictEqual(points.map(({ asset }) => asset).toSorted(), Object.keys(subject.known).toSorted())
        for (const { asset, at, rate } of points) {
          const read = readRate(rate)
          assert.isDefined(read, `${rate} is a positive decimal`)
          assert.strictEqual(compareRates(read!, readRate(subject.known[asset]!)!), 0, `${asset}: ${rate}`)
          assert.isTrue(Number.isSafeInteger(at) && at <= now && at > now - 3600, `${asset} at ${at}`)
        }
      }))

    it.live("leaves out what it does not know, without failing", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const source = yield* sourceOf(subject.layer)
        const [asset] = Object.keys(subject.known)
        const points = yield* source.prices([unknownAsset, asset!])
        assert.deepStrictEqual(points.map((point) => point.asset), [asset])
        assert.deepStrictEqual(yield* source.prices([unknownAsset]), [])
      }))

    it.live("gives nothing when asked for nothing", () =>
      Effect.gen(function*() {
        const source = yield* sourceOf((yield* start).layer)
        assert.deepStrictEqual(yield* source.prices([]), [])
      }))

    it.live("is enough for a devnet price, under its own name", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const [asset, expected] = Object.entries(subject.known)[0]!
        const priced = token(1, { ...usdcListing, asset })
        const running = subject.layer.pipe(
          Layer.provideMerge(median.pipe(Layer.provide(catalogOf(priced)))),
          Layer.provide(NodeHttpClient.layerUndici)
        )
        const spot = yield* Effect.flatMap(Quotes, (quotes) => quotes.spot(priced)).pipe(Effect.provide(running))
        assert.strictEqual(spot.text, rateText(readRate(expected)!))
        assert.strictEqual(spot.source, subject.name)
      }))

    if (broken !== null) {
      it.live("fails by name when its provider is out of order", () =>
        Effect.gen(function*() {
          const subject = yield* broken
          const source = yield* sourceOf(subject.layer)
          const error = yield* Effect.flip(source.prices(Object.keys(subject.known)))
          assert.instanceOf(error, PriceSourceFailed)
          assert.strictEqual(error.source, subject.name)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(source.prices(Object.keys(subject.known)))))
        }))
    }
  })
}
