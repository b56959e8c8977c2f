/**
 * Prices of the exchange Kraken: the exact middle of best bid and ask of each pair against the dollar.
 * Source: Kraken REST API, "Get Ticker Information" (public, no key, about one request a second). It gives no
 * timestamp, so a price holds from when it was asked for. Prices are strings there.
 */
import { Clock, Effect, Layer, Result, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, Prices, type PriceSourceError } from "../../runtime/Prices.ts"
import {
  bookMiddle,
  everyEnvironment,
  httpSourceOptions,
  makePriceClient,
  makeUnlistedNames,
  requestWithBisect
} from "../../runtime/prices/HttpPriceSource.ts"
import { rateText } from "../../schemas/Money.ts"

/**
 * Kraken's name of each asset. Wrapped coins are redeemable one to one by their contract and priced as the coin.
 * An asset absent here, or a pair Kraken does not list, simply gets no price from this source.
 */
const krakenAssets: Readonly<Record<string, string>> = {
  "ethereum": "ETH",
  "weth": "ETH",
  "usd-coin": "USDC",
  "tether": "USDT",
  "dai": "DAI",
  "paypal-usd": "PYUSD",
  "euro-coin": "EURC",
  "solana": "SOL",
  "avalanche-2": "AVAX",
  "wrapped-avax": "AVAX",
  "binancecoin": "BNB",
  "wbnb": "BNB",
  "cardano": "ADA",
  "sui": "SUI",
  "the-open-network": "TON",
  "wrapped-bitcoin": "WBTC"
}

/** Pairs in one request: the URL stays under 1 KiB. */
const maximumPairs = 50

const AssetName = Schema.String.check(Schema.isPattern(/^[A-Z0-9]{1,12}$/, { message: "Expected a name like \"ETH\"" }))

/** `assets` holds Kraken's names, e.g. `{ "bitcoin": "XBT" }`. */
const Options = Schema.Struct(httpSourceOptions(AssetName))

const Side = Schema.NonEmptyArray(Schema.String)
const Ticker = Schema.Struct({ a: Side, b: Side })
const Answer = Schema.Struct({
  error: Schema.Array(Schema.String),
  result: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})

const decodeAnswer = Schema.decodeUnknownResult(Answer)
const decodeTicker = Schema.decodeUnknownResult(Ticker)

/** Names under which Kraken answers for a pair: older assets get an X in front, the dollar a Z. */
const resultKeys = (name: string): ReadonlyArray<string> => [`${name}USD`, `X${name}ZUSD`, `${name}ZUSD`, `X${name}USD`]

/** The middle of a book as text; undefined when there is none to rely on. */
const middle = (book: unknown): string | undefined => {
  const ticker = decodeTicker(book)
  const rate = Result.isFailure(ticker) ? undefined : bookMiddle(ticker.success.b[0], ticker.success.a[0])
  return rate === undefined ? undefined : rateText(rate)
}

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const oracle = yield* Prices
    const { failure, get } = yield* makePriceClient("kraken")
    const names = new Map(Object.entries({ ...krakenAssets, ...options.assets }))
    const unlistedNames = makeUnlistedNames()
    const url = `${(options.baseUrl ?? "https://api.kraken.com").replace(/\/+$/, "")}/0/public/Ticker`

    /** Books by Kraken's key; null when Kraken refused the request because it does not know one of the pairs. */
    const request = Effect.fnUntraced(function*(
      pairs: ReadonlyArray<string>
    ): Effect.fn.Return<ReadonlyMap<string, unknown> | null, PriceSourceError> {
      const { json } = yield* get({ url, params: [["pair", pairs.map((name) => `${name}USD`).join(",")]] })
      const answer = decodeAnswer(json)
      if (Result.isFailure(answer)) return yield* failure("answer that cannot be read")
      const { error, result } = answer.success
      if (error.some((text) => text.includes("Unknown asset pair"))) return null
      return error.length > 0 || result === undefined
        ? yield* failure(error.join(", ").slice(0, 200) || "answer without a result")
        : new Map(Object.entries(result))
    })

    const prices = Effect.fnUntraced(function*(assets: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      const wantedNames = new Set(assets.flatMap((asset) => {
        const name = names.get(asset)
        return name === undefined || unlistedNames.has(name, now) ? [] : [name]
      }))
      if (wantedNames.size === 0) return []
      const books = yield* requestWithBisect([...wantedNames].slice(0, maximumPairs), request, unlistedNames)
      const at = Math.floor(now / 1000)
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const name = names.get(asset)
        const key = name === undefined ? undefined : resultKeys(name).find((candidate) => books.has(candidate))
        const rate = key === undefined ? undefined : middle(books.get(key))
        return rate === undefined ? [] : [{ asset, rate, at }]
      })
    })

    yield* oracle.register({ name: "kraken", environments: options.environments ?? everyEnvironment, prices })
  })

/** Bid-ask middles from Kraken's public API. Source name `kraken`. */
export const plugin = Plugin.make({
  name: "kraken",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
