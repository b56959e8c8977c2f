/**
 * Prices of Coinbase Exchange: the exact middle of best bid and ask of each product against the dollar.
 * Source: Coinbase Exchange REST API, "Get product ticker" (public, no key, about ten requests a second; it refuses
 * requests without a User-Agent). One product a request. `time` is that of the last trade: a product nobody trades
 * grows stale here, and is left to the other sources. Coinbase takes a USDC for a dollar, so it has no price of one.
 */
import { Clock, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, Prices, type PriceSourceError } from "../../runtime/Prices.ts"
import {
  bookMiddle,
  everyEnvironment,
  httpSourceOptions,
  makePriceClient,
  makeUnlistedNames
} from "../../runtime/prices/HttpPriceSource.ts"
import { rateText } from "../../schemas/Money.ts"

/** Coinbase's name of each asset; a wrapped coin is priced as the coin its contract redeems it for. */
const coinbaseAssets: Readonly<Record<string, string>> = {
  "ethereum": "ETH",
  "weth": "ETH",
  "tether": "USDT",
  "dai": "DAI",
  "paypal-usd": "PYUSD",
  "euro-coin": "EURC",
  "solana": "SOL",
  "avalanche-2": "AVAX",
  "wrapped-avax": "AVAX",
  "cardano": "ADA",
  "sui": "SUI"
}

/**
 * Products asked for in one round, and requests under way at most: with {@link pauseMillis} between them it takes 2.5
 * s.
 */
const maximumProducts = 20

/** Milliseconds between the starts of two requests: eight a second, under the ten that Coinbase allows. */
const pauseMillis = 125

const AssetName = Schema.String.check(Schema.isPattern(/^[A-Z0-9]{1,12}$/, { message: "Expected a name like \"ETH\"" }))

/** `assets` holds the base currencies of Coinbase's dollar products, e.g. `{ "bitcoin": "BTC" }`. */
const Options = Schema.Struct(httpSourceOptions(AssetName))

const decodeTicker = Schema.decodeUnknownResult(Schema.Struct({
  bid: Schema.String,
  ask: Schema.String,
  time: Schema.String
}))

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const oracle = yield* Prices
    const { failure, get } = yield* makePriceClient("coinbase")
    const names = new Map(Object.entries({ ...coinbaseAssets, ...options.assets }))
    const unlistedNames = makeUnlistedNames()
    const baseUrl = (options.baseUrl ?? "https://api.exchange.coinbase.com").replace(/\/+$/, "")

    /** The price of one product and its time; null when Coinbase has none to rely on. */
    const request = Effect.fnUntraced(function*(
      name: string
    ): Effect.fn.Return<Omit<PricePoint, "asset"> | null, PriceSourceError> {
      const { json, status } = yield* get({ url: `${baseUrl}/products/${name}-USD/ticker`, readable: [404] })
      if (status === 404) {
        yield* unlistedNames.add(name)
        return null
      }
      const ticker = decodeTicker(json)
      if (Result.isFailure(ticker)) return yield* failure("answer that cannot be read")
      const rate = bookMiddle(ticker.success.bid, ticker.success.ask)
      const time = DateTime.make(ticker.success.time)
      return rate === undefined || Option.isNone(time)
        ? null
        : { rate: rateText(rate), at: Math.floor(DateTime.toEpochMillis(time.value) / 1000) }
    })

    const prices = Effect.fnUntraced(function*(assets: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      const wantedNames = new Set(assets.flatMap((asset) => {
        const name = names.get(asset)
        return name === undefined || unlistedNames.has(name, now) ? [] : [name]
      }))
      const products = [...wantedNames].slice(0, maximumProducts)
      const answers = yield* Effect.forEach(
        products,
        (name, index) => Effect.delay(Effect.result(request(name)), index * pauseMillis),
        { concurrency: maximumProducts }
      )
      // One product out of order does not hide the others; all of them out of order is Coinbase out of order.
      const [first] = answers
      if (first !== undefined && Result.isFailure(first) && answers.every(Result.isFailure)) {
        return yield* first.failure
      }
      const points = new Map(answers.flatMap((answer, index) =>
        Result.isSuccess(answer) && answer.success !== null ? [[products[index]!, answer.success] as const] : []
      ))
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const point = points.get(names.get(asset) ?? "")
        return point === undefined ? [] : [{ asset, ...point }]
      })
    })

    yield* oracle.register({ name: "coinbase", environments: options.environments ?? everyEnvironment, prices })
  })

/** Bid-ask middles from Coinbase Exchange's public API. Source name `coinbase`. */
export const plugin = Plugin.make({
  name: "coinbase",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
