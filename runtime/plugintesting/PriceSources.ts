/** What every price source promises, whoever wrote it. */
import { Clock, Effect, Layer, type Scope } from "effect"
import * as HttpClient from "../http/Client.ts"
import type { Kernel } from "../Plugin.ts"
import { type PricePoint, Prices, type PriceSource, PriceSourceError, type Spot } from "../Prices.ts"
import { layer as oracle } from "../prices/Oracle.ts"
import { compareRates, rateText, readRate } from "../../schemas/Money.ts"
import { TokenId } from "../../schemas/Ids.ts"
import type { Token } from "../../schemas/Token.ts"
import { TokenCatalog } from "../TokenCatalog.ts"
import { ensure, ensureSame, failureOf, type PortCheck, portCheck } from "./PortCheck.ts"

/** A price source ready to be tried: the layer of its plugin, and what it should answer. */
export interface PriceSourceSubject {
  /** Under which it registers. */
  readonly name: string
  readonly layer: Layer.Layer<never, unknown, Kernel>
  /** At least one asset it knows, with the price it should give. */
  readonly known: Readonly<Record<string, string>>
  /** What other sources say of the assets it works its prices out from. Absent: it needs none. */
  readonly peers?: Readonly<Record<string, string>>
}

/** A registered source, asked without a word about its peers where it needs none. */
export interface TestedPriceSource extends Omit<PriceSource, "prices"> {
  readonly prices: (assets: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<PricePoint>, PriceSourceError>
}

type Peers = Readonly<Record<string, string>>

const peerSpot = (peers: Peers, millis: number) => (asset: string): Spot | null => {
  const text = peers[asset]
  const rate = text === undefined ? undefined : readRate(text)
  return text === undefined || rate === undefined
    ? null
    : { text, rate, source: "fixed", at: Math.floor(millis / 1000) }
}

/** The one source that a layer registers, for as long as the scope lives. */
export const priceSourceOf = (
  layer: Layer.Layer<never, unknown, Kernel>,
  peers: Peers = {}
): Effect.Effect<TestedPriceSource, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<PriceSource> = []
    const prices = Layer.mock(Prices, {
      latest: () => null,
      register: (source) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => registered.push(source)),
          () => Effect.sync(() => registered.splice(registered.indexOf(source), 1))
        ))
    })
    yield* Layer.build(Layer.provide(layer, [prices, HttpClient.layer]) as Layer.Layer<never, unknown>)
    yield* ensureSame(registered.length, 1, "sources that the plugin registers")
    const source = registered[0]!
    return {
      ...source,
      prices: (assets) =>
        Effect.flatMap(Clock.currentTimeMillis, (millis) => source.prices(assets, peerSpot(peers, millis)))
    }
  })

/** A native coin that is priced as `asset`. */
const tokenOf = (asset: string): Token => ({
  id: TokenId.make(1),
  network: "base",
  environment: "devnet",
  symbol: "COIN",
  name: "Coin",
  address: null,
  decimals: 18,
  type: "native",
  requiresMemo: false,
  asset,
  stable: false,
  active: true,
  photoUri: "/assets/tokens/eth.svg"
})

const catalogOf = (token: Token) =>
  Layer.mock(TokenCatalog, {
    unverifiedTokens: () => [],
    get: () => token,
    find: () => token,
    list: (environment) => environment === token.environment ? [token] : []
  })

const fixedSource = (peers: Peers) =>
  Layer.effectDiscard(Effect.flatMap(Prices, ({ register }) =>
    register({
      name: "fixed",
      environments: ["devnet"],
      prices: (assets) =>
        Effect.map(Clock.currentTimeMillis, (millis) =>
          assets.flatMap((asset) => {
            const rate = peers[asset]
            return rate === undefined ? [] : [{ asset, rate, at: Math.floor(millis / 1000) }]
          }))
    })))

/** What a devnet with this source, and its peers, prices `asset` at. */
export const devnetPriceOf = ({ layer, peers = {} }: Pick<PriceSourceSubject, "layer" | "peers">, asset: string) => {
  const token = tokenOf(asset)
  const others = Object.keys(peers).length === 0 ? Layer.empty : fixedSource(peers)
  const running = Layer.mergeAll(layer, others).pipe(
    Layer.provideMerge(oracle.pipe(Layer.provide(catalogOf(token)))),
    Layer.provide(HttpClient.layer)
  ) as Layer.Layer<Prices, unknown>
  return Effect.flatMap(Prices, (prices) => prices.spot(token)).pipe(Effect.provide(running))
}

/** An asset that no source knows. */
const unknownAsset = "no-such-asset"

/** Seconds that a price may be old: a source that answers older ones gives none to quote by. */
const maximumAgeSeconds = 3_600

/**
 * The promises of a price source. `start` makes the driver and whatever it talks to, anew for each check; `broken`
 * makes one whose provider is out of order, null where there is no provider.
 */
export const priceSourceChecks = (
  start: Effect.Effect<PriceSourceSubject, unknown, Scope.Scope>,
  broken: Effect.Effect<PriceSourceSubject, unknown, Scope.Scope> | null
): ReadonlyArray<PortCheck> => {
  const onSource = (
    body: (subject: PriceSourceSubject, source: TestedPriceSource) => Effect.Effect<unknown, unknown, Scope.Scope>
  ) =>
    Effect.gen(function*() {
      const subject = yield* start
      yield* body(subject, yield* priceSourceOf(subject.layer, subject.peers))
    })
  return [
    portCheck(
      "gives the price of every asset it knows, each once, exactly, and none from the future",
      onSource((subject, source) =>
        Effect.gen(function*() {
          const points = yield* source.prices(Object.keys(subject.known))
          const now = (yield* Clock.currentTimeMillis) / 1000
          yield* ensureSame(source.name, subject.name, "the name of the source")
          yield* ensureSame(
            points.map(({ asset }) => asset).toSorted(),
            Object.keys(subject.known).toSorted(),
            "assets with a price"
          )
          for (const { asset, at, rate } of points) {
            const read = typeof rate === "string" ? readRate(rate) : undefined
            yield* ensure(read !== undefined, `the rate of ${asset} is a positive decimal as text, not ${String(rate)}`)
            const expected = readRate(subject.known[asset] ?? "")
            yield* ensure(
              expected !== undefined && compareRates(read!, expected) === 0,
              `the rate of ${asset}: ${rate}`
            )
            yield* ensure(
              Number.isSafeInteger(at) && at <= now && at > now - maximumAgeSeconds,
              `${asset} is of ${at}: epoch seconds, not in the future, of the last hour`
            )
          }
        })
      )
    ),
    portCheck(
      "leaves out what it does not know, without failing",
      onSource((subject, source) =>
        Effect.gen(function*() {
          const [asset = ""] = Object.keys(subject.known)
          const points = yield* source.prices([unknownAsset, asset])
          yield* ensureSame(points.map((point) => point.asset), [asset], "assets with a price")
          yield* ensureSame(yield* source.prices([unknownAsset]), [], "prices of an unknown asset alone")
        })
      )
    ),
    portCheck(
      "gives nothing when asked for nothing",
      onSource((_, source) => Effect.flatMap(source.prices([]), (points) => ensureSame(points, [], "prices")))
    ),
    portCheck(
      "is enough for a devnet price, under its own name",
      Effect.gen(function*() {
        const subject = yield* start
        const [asset = "", expected = ""] = Object.entries(subject.known)[0] ?? []
        const rate = readRate(expected)
        const { source, text } = yield* devnetPriceOf(subject, asset)
        yield* ensureSame([text, source], [rate === undefined ? "" : rateText(rate), subject.name], "price and source")
      })
    ),
    ...broken === null ? [] : [portCheck(
      "fails by name when its provider is out of order",
      Effect.gen(function*() {
        const subject = yield* broken
        const { prices } = yield* priceSourceOf(subject.layer, subject.peers)
        const error = yield* failureOf(prices(Object.keys(subject.known)), "a source without its provider")
        yield* ensure(error instanceof PriceSourceError, `it fails with a PriceSourceError, not with ${String(error)}`)
        yield* ensureSame(error.source, subject.name, "the source that the error names")
      })
    )]
  ]
}
