/**
 * What every price source promises, whoever wrote it: a driver's test calls {@link priceSourceConformance}. One that
 * asks a provider over HTTP promises more, and calls {@link providerConformance}.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { plugin as fixed } from "../../modules/prices/fixed.ts"
import { type PricePoint, Prices, type PriceSource, PriceSourceError, type Spot } from "../../runtime/Prices.ts"
import { layer as median } from "../../runtime/prices/Oracle.ts"
import { compareRates, rateText, readRate } from "../../schemas/Money.ts"
import { type PriceFault, type ProviderServer, transportFaults } from "../fixtures/priceSources/Server.ts"
import { catalogOf, etherListing, token } from "../fixtures/tokens.ts"

/** A plugin's layer as far as a price source may need the runtime. */
export type PriceLayer = Layer.Layer<never, unknown, Prices | HttpClient.HttpClient>

/** A driver ready to be tried: its layer, and what it should answer. */
export interface PriceSubject {
  readonly name: string
  readonly layer: PriceLayer
  /** At least one asset it knows, with the price it should give. */
  readonly known: Readonly<Record<string, string>>
  /** What other sources say of the assets it works its prices out from. */
  readonly peers?: Readonly<Record<string, string>>
}

/** A registered source, asked without a word about its peers where it needs none. */
export interface TestedSource extends Omit<PriceSource, "prices"> {
  readonly prices: (assets: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<PricePoint>, PriceSourceError>
}

const peerSpot = (peers: Readonly<Record<string, string>>) => (asset: string): Spot | null => {
  const text = peers[asset]
  return text === undefined
    ? null
    : { text, rate: readRate(text)!, source: "fixed", at: Math.floor(Date.now() / 1000) }
}

/** The source a layer registers, for as long as the scope lives. */
export const sourceOf = (
  layer: PriceLayer,
  peers: Readonly<Record<string, string>> = {}
): Effect.Effect<TestedSource, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<PriceSource> = []
    const quotes = Layer.mock(Prices, {
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
    if (source === undefined) return yield* Effect.die(new Error("the plugin registers no source"))
    return { ...source, prices: (assets) => source.prices(assets, peerSpot(peers)) }
  })

/** What a deployment with this source, and its peers, prices `asset` at on devnet. */
const priceOf = ({ layer, peers = {} }: Pick<PriceSubject, "layer" | "peers">, asset: string) => {
  const priced = token(1, { ...etherListing, asset })
  const others = Object.keys(peers).length === 0 ? Layer.empty : fixed.layer({ prices: peers }) as PriceLayer
  const running = Layer.mergeAll(layer, others).pipe(
    Layer.provideMerge(median.pipe(Layer.provide(catalogOf(priced)))),
    Layer.provide(NodeHttpClient.layerUndici)
  )
  return Effect.flatMap(Prices, (quotes) => quotes.spot(priced)).pipe(Effect.provide(running))
}

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
        const source = yield* sourceOf(subject.layer, subject.peers)
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
        const source = yield* sourceOf(subject.layer, subject.peers)
        const [asset] = Object.keys(subject.known)
        const points = yield* source.prices([unknownAsset, asset!])
        assert.deepStrictEqual(points.map((point) => point.asset), [asset])
        assert.deepStrictEqual(yield* source.prices([unknownAsset]), [])
      }))

    it.live("gives nothing when asked for nothing", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const source = yield* sourceOf(subject.layer, subject.peers)
        assert.deepStrictEqual(yield* source.prices([]), [])
      }))

    it.live("is enough for a devnet price, under its own name", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const [asset, expected] = Object.entries(subject.known)[0]!
        const spot = yield* priceOf(subject, asset)
        assert.strictEqual(spot.text, rateText(readRate(expected)!))
        assert.strictEqual(spot.source, subject.name)
      }))

    if (broken !== null) {
      it.live("fails by name when its provider is out of order", () =>
        Effect.gen(function*() {
          const subject = yield* broken
          const source = yield* sourceOf(subject.layer, subject.peers)
          const error = yield* Effect.flip(source.prices(Object.keys(subject.known)))
          assert.instanceOf(error, PriceSourceError)
          assert.strictEqual(error.source, subject.name)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(source.prices(Object.keys(subject.known)))))
        }))
    }
  })
}

/** A driver of a provider that speaks HTTP, and a server that speaks as the provider does. */
export interface ProviderSubject {
  readonly server: Effect.Effect<ProviderServer, never, Scope.Scope>
  readonly layer: (baseUrl: string) => PriceLayer
  readonly known: Readonly<Record<string, string>>
  readonly peers?: Readonly<Record<string, string>>
  /** Faults of its prices that its protocol can show. */
  readonly faults: ReadonlyArray<PriceFault>
}

/** Runs {@link priceSourceConformance}, and what holds for everyone who is asked over HTTP. */
export const providerConformance = (name: string, provider: ProviderSubject) => {
  const { faults, known, layer, peers = {} } = provider
  const [asset = ""] = Object.keys(known)
  const started = Effect.map(provider.server, (server) => ({
    server,
    subject: { name, layer: layer(server.url), known, peers }
  }))
  const start = Effect.map(started, ({ subject }) => subject)
  const broken = Effect.map(started, ({ server, subject }) => {
    server.fault = "status 500"
    return subject
  })
  const source = Effect.flatMap(
    started,
    ({ server, subject }) => Effect.map(Effect.orDie(sourceOf(subject.layer, peers)), (source) => ({ server, source }))
  )

  priceSourceConformance(name, start, broken)

  describe(`price provider ${name}`, () => {
    for (const fault of transportFaults.filter((each) => each !== "status 429" && each !== "status 451")) {
      it.live(`fails at once on ${fault}, and recovers`, () =>
        Effect.gen(function*() {
          const { server, source: asked } = yield* source
          server.fault = fault
          const error = yield* Effect.flip(asked.prices([asset]))
          assert.instanceOf(error, PriceSourceError)
          assert.isBelow(error.message.length, 400)
          assert.notInclude(error.message, "no answer in", "it does not wait for the time limit")
          server.fault = null
          assert.strictEqual((yield* asked.prices([asset])).length, 1)
        }))
    }

    it.effect("fails after 5 s when it gets no answer", () =>
      Effect.gen(function*() {
        const { server, source: asked } = yield* source
        server.fault = "hang"
        const asking = yield* Effect.forkChild(Effect.flip(asked.prices([asset])))
        yield* Deferred.await(server.asked)
        yield* TestClock.adjust("5 seconds")
        assert.include((yield* Fiber.join(asking)).message, "no answer in 5000 ms")
      }))

    const pauses = [
      ["status 429", "7", 7],
      ["status 429", undefined, 60],
      ["status 429", "999999", 3_600],
      ["status 429", "Thu, 01 Jan 1970 00:00:30 GMT", 30],
      ["status 503", "20", 20],
      ["status 451", undefined, 3_600]
    ] as const
    for (const [fault, retryAfter, seconds] of pauses) {
      it.effect(`leaves a provider alone for ${seconds} s after ${fault} with Retry-After ${retryAfter}`, () =>
        Effect.gen(function*() {
          const { server, source: asked } = yield* source
          server.fault = fault
          server.retryAfter = retryAfter
          yield* Effect.flip(asked.prices([asset]))
          server.fault = null
          yield* TestClock.adjust((seconds - 1) * 1_000)
          const error = yield* Effect.flip(asked.prices([asset]))
          assert.include(error.message, "left alone")
          assert.strictEqual(server.requests.length, 1)
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* asked.prices([asset])).length, 1)
        }))
    }

    for (const fault of faults) {
      it.live(`gives no price to quote by when the answer is ${fault}`, () =>
        Effect.gen(function*() {
          const { server, subject } = yield* started
          server.fault = fault
          const error = yield* Effect.flip(priceOf(subject, asset))
          assert.strictEqual((error as { readonly _tag?: string })._tag, "PriceUnavailable")
        }))
    }
  })
}
