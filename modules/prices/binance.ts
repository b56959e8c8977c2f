/**
 * Prices of the exchange Binance: the exact middle of best bid and ask against USDT, times what the other sources say a
 * USDT is worth. Without their price of USDT there is none here: a book against USDT says nothing of dollars.
 * Source: Binance Spot API, "Symbol order book ticker" (public, no key, weight 4 of 6,000 a minute). It gives no
 * timestamp, so a price holds from when it was asked for, or from the time of the USDT price if that is older. Binance
 * answers 451 where the law keeps it out: then it is left alone for an hour.
 */
import { Clock, Effect, Layer, Result, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, Prices, type PriceSource, type PriceSourceError } from "../../runtime/Prices.ts"
import {
  bookMiddle,
  everyEnvironment,
  httpSourceOptions,
  makePriceClient,
  makeUnlistedNames,
  requestWithBisect
} from "../../runtime/prices/HttpPriceSource.ts"
import { type Rate, rateText, timesRate } from "../../schemas/Money.ts"

/** Binance's name of each asset; a wrapped coin is priced as the coin its contract redeems it for. */
const binanceAssets: Readonly<Record<string, string>> = {
  "ethereum": "ETH",
  "weth": "ETH",
  "usd-coin": "USDC",
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

/** The asset every book is against. */
const quoteAsset = "tether"

/** Symbols in one request: the URL stays under 2 KiB. */
const maximumSymbols = 50

/** Binance's code for a request that names a symbol it does not list. */
const invalidSymbol = "-1121"

const AssetName = Schema.String.check(Schema.isPattern(/^[A-Z0-9]{1,12}$/, { message: "Expected a name like \"ETH\"" }))

/** `assets` holds the base assets of Binance's USDT pairs, e.g. `{ "bitcoin": "BTC" }`. */
const Options = Schema.Struct(httpSourceOptions(AssetName))

const decodeBooks = Schema.decodeUnknownResult(Schema.Array(Schema.Struct({
  symbol: Schema.String,
  bidPrice: Schema.String,
  askPrice: Schema.String
})))
/** Numbers arrive as their text. */
const decodeRefusal = Schema.decodeUnknownResult(Schema.Struct({ code: Schema.String }))

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const oracle = yield* Prices
    const { failure, get } = yield* makePriceClient("binance")
    const names = new Map(Object.entries({ ...binanceAssets, ...options.assets }))
    const unlistedNames = makeUnlistedNames()
    const url = `${(options.baseUrl ?? "https://api.binance.com").replace(/\/+$/, "")}/api/v3/ticker/bookTicker`

    /** Middles in USDT by name; null when Binance refused the request because it does not know one of the symbols. */
    const request = Effect.fnUntraced(function*(
      assetNames: ReadonlyArray<string>
    ): Effect.fn.Return<ReadonlyMap<string, Rate> | null, PriceSourceError> {
      const symbols = JSON.stringify(assetNames.map((name) => `${name}USDT`))
      const { json, status } = yield* get({ url, params: [["symbols", symbols]], readable: [400] })
      if (status === 400) {
        const refusal = decodeRefusal(json)
        return Result.isSuccess(refusal) && refusal.success.code === invalidSymbol
          ? null
          : yield* failure("HTTP status 400")
      }
      const books = decodeBooks(json)
      if (Result.isFailure(books)) return yield* failure("answer that cannot be read")
      const middles = new Map(
        books.success.map(({ askPrice, bidPrice, symbol }) => [symbol, bookMiddle(bidPrice, askPrice)])
      )
      return new Map(assetNames.flatMap((name) => {
        const middle = middles.get(`${name}USDT`)
        return middle === undefined ? [] : [[name, middle]]
      }))
    })

    const prices: PriceSource["prices"] = Effect.fnUntraced(function*(assets, peers) {
      const now = yield* Clock.currentTimeMillis
      const wantedNames = new Set(assets.flatMap((asset) => {
        const name = names.get(asset)
        return name === undefined || unlistedNames.has(name, now) ? [] : [name]
      }))
      if (wantedNames.size === 0) return []
      const tether = peers(quoteAsset)
      if (tether === null) {
        return yield* failure("no other source has a fresh price of USDT to turn its prices into dollars")
      }
      const middles = yield* requestWithBisect([...wantedNames].slice(0, maximumSymbols), request, unlistedNames)
      const at = Math.min(Math.floor(now / 1000), tether.at)
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const middle = middles.get(names.get(asset) ?? "")
        return middle === undefined ? [] : [{ asset, rate: rateText(timesRate(middle, tether.rate)), at }]
      })
    })

    yield* oracle.register({
      name: "binance",
      environments: options.environments ?? everyEnvironment,
      requiredAssets: [quoteAsset],
      prices
    })
  })

/** Bid-ask middles from Binance's public API, in dollars by the other sources' USDT. Source name `binance`. */
export const plugin = Plugin.make({
  name: "binance",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
