/**
 * Prices of the oracle network Pyth, from its service Hermes. Source: Pyth Hermes API v2, "Latest price updates"; an
 * API key is needed since August 2026. A price is an integer and a power of ten, with a confidence interval: a price
 * whose interval is wider than half a percent of it is left out. A request with one feed that the key may not read is
 * refused as a whole, so such feeds are found and left out. `publish_time` is when the network agreed on it. Feed ids:
 * Pyth's list of price feeds, "Crypto.<symbol>/USD".
 */
import { Clock, Effect, Layer, Redacted, Result, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, Prices, type PriceSourceError } from "../../runtime/Prices.ts"
import {
  epochSeconds,
  everyEnvironment,
  httpSourceOptions,
  makePriceClient,
  makeUnlistedNames,
  positiveDecimal,
  requestWithBisect
} from "../../runtime/prices/HttpPriceSource.ts"

/** Pyth's dollar feed of each asset. A wrapped coin has the feed of its coin; an option adds or replaces feeds. */
const pythFeeds: Readonly<Record<string, string>> = {
  "ethereum": "ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace",
  "weth": "ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace",
  "usd-coin": "eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a",
  "tether": "2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b",
  "dai": "b0948a5e5313200c632b51bb5ca32f6de0d36e9950a942d19751e833f70dabfd",
  "paypal-usd": "c1da1b73d7f01e7ddd54b3766cf7fcd644395ad14f70aa706ec5384c59e76692",
  "euro-coin": "76fa85158bf14ede77087fe3ae472f66213f6ea2f5b411cb2de472794990fa5c",
  "solana": "ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d",
  "avalanche-2": "93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7",
  "wrapped-avax": "93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7",
  "binancecoin": "2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f",
  "wbnb": "2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f",
  "cardano": "2a01deaec9e51a579277b34b122399984d0bbf57e2458a7e42fecd2829867a0d",
  "sui": "23d7315113f5b1d3ba7a83604c44b94d79f4fd69af77f804fc7f920a6dc65744",
  "the-open-network": "8963217838ab4cf5cadc172203c1f0b763fbaa45f346d8ee50ba994bbcac3026",
  "wrapped-bitcoin": "c9d8b075a5c69303365ae23633d4e085199bf5c520a3b90fed1322a0342ffc33"
}

/** Feeds in one request: the URL stays under 4 KiB. */
const maximumFeeds = 50

/** The widest confidence interval, as a part of the price: one in this many is half a percent. */
const confidenceParts = 200n

const FeedId = Schema.String.check(
  Schema.isPattern(/^(0x)?[0-9a-f]{64}$/, { message: "Expected a feed id of 64 hex digits" })
)

const Options = Schema.Struct({
  /** `assets` holds Pyth's feed ids. */
  ...httpSourceOptions(FeedId),
  /** A secret: `"${env:PYTH_API_KEY}"`, sent as a bearer token. Absent: for a Hermes of your own, by `baseUrl`. */
  apiKey: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString))
})

/** Numbers arrive as their text. */
const decodeAnswer = Schema.decodeUnknownResult(Schema.Struct({ parsed: Schema.Array(Schema.Unknown) }))
const decodeUpdate = Schema.decodeUnknownResult(Schema.Struct({
  id: Schema.String,
  price: Schema.Struct({
    price: Schema.String.check(Schema.isPattern(/^\d{1,30}$/)),
    conf: Schema.String.check(Schema.isPattern(/^\d{1,30}$/)),
    expo: Schema.String.check(Schema.isPattern(/^-?\d{1,2}$/)),
    publish_time: Schema.String
  })
}))

const withoutHexPrefix = (id: string): string => id.replace(/^0x/, "")

/** The price of one update and its time; undefined when it is not positive, not sure enough or unreadable. */
const readUpdate = (update: unknown): readonly [id: string, point: Omit<PricePoint, "asset">] | undefined => {
  const decoded = decodeUpdate(update)
  if (Result.isFailure(decoded)) return undefined
  const { id, price: { conf, expo, price, publish_time } } = decoded.success
  const rate = positiveDecimal(`${price}e${expo}`)
  const at = epochSeconds(publish_time)
  const isSure = BigInt(conf) * confidenceParts <= BigInt(price)
  return rate === undefined || at === undefined || !isSure ? undefined : [withoutHexPrefix(id), { rate, at }]
}

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const oracle = yield* Prices
    const { failure, get } = yield* makePriceClient("pyth")
    const feeds = new Map(
      Object.entries({ ...pythFeeds, ...options.assets }).map(([asset, id]) => [asset, withoutHexPrefix(id)])
    )
    const url = `${(options.baseUrl ?? "https://hermes.pyth.network").replace(/\/+$/, "")}/v2/updates/price/latest`
    const headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(options.apiKey)}` }

    const unlistedFeeds = makeUnlistedNames()

    /** Prices by feed id; null when Hermes refused the request because of a feed it does not give to this key. */
    const request = Effect.fnUntraced(function*(
      ids: ReadonlyArray<string>
    ): Effect.fn.Return<ReadonlyMap<string, Omit<PricePoint, "asset">> | null, PriceSourceError> {
      const params = [...ids.map((id) => ["ids[]", id] as const), ["parsed", "true"] as const]
      const { json, status } = yield* get({ url, headers, params, readable: [403, 404] })
      if (status !== 200) return null
      const answer = decodeAnswer(json)
      if (Result.isFailure(answer)) return yield* failure("answer that cannot be read")
      return new Map(answer.success.parsed.flatMap((update) => {
        const read = readUpdate(update)
        return read === undefined ? [] : [read]
      }))
    })

    const prices = Effect.fnUntraced(function*(assets: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      const wantedFeeds = new Set(assets.flatMap((asset) => {
        const id = feeds.get(asset)
        return id === undefined || unlistedFeeds.has(id, now) ? [] : [id]
      }))
      if (wantedFeeds.size === 0) return []
      const feedIds = [...wantedFeeds].slice(0, maximumFeeds)
      const points = yield* requestWithBisect(feedIds, request, unlistedFeeds)
      if (feedIds.every((id) => unlistedFeeds.has(id, now))) return yield* failure("no feed is given to this key")
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const point = points.get(feeds.get(asset) ?? "")
        return point === undefined ? [] : [{ asset, ...point }]
      })
    })

    yield* oracle.register({ name: "pyth", environments: options.environments ?? everyEnvironment, prices })
  })

/** Prices the Pyth network agreed on, from Hermes. Source name `pyth`. */
export const plugin = Plugin.make({
  name: "pyth",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
