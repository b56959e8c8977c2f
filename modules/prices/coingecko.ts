/**
 * Prices of CoinGecko, an average over many exchanges, by the asset ids the catalogue uses.
 * Source: CoinGecko API, "Coin Price by IDs" (`/simple/price`). Prices are asked for twice a minute, which is 90,000
 * calls a month: more than a demo key's 10,000, so use no key or a paid one. Prices are JSON numbers there and are read
 * as the text they are sent as; `last_updated_at` is when CoinGecko made the price.
 */
import { Effect, Layer, Redacted, Result, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, Prices, type PriceSourceError } from "../../runtime/Prices.ts"
import {
  epochSeconds,
  everyEnvironment,
  httpSourceOptions,
  makePriceClient,
  positiveDecimal
} from "../../runtime/prices/HttpPriceSource.ts"

/** Ids in one request: the URL stays under 4 KiB. */
const idsPerRequest = 100

/** Ids that are asked for at all, in one round of five requests. */
const maximumIds = 500

/** Requests under way at once. */
const requestsAtOnce = 2

const AssetId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9._-]{1,100}$/, { message: "Expected a CoinGecko id" }))
const isAssetId = Schema.is(AssetId)

const Options = Schema.Struct({
  /** `assets` holds CoinGecko's ids where they are not the catalogue's. */
  ...httpSourceOptions(AssetId),
  /** A secret: `"${env:COINGECKO_API_KEY}"`. Absent: the public API, which is slower to change. */
  apiKey: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  /** What the key is for: it decides the host and the header. Default `pro`. */
  plan: Schema.optionalKey(Schema.Literals(["demo", "pro"]))
})

const decodeAnswer = Schema.decodeUnknownResult(Schema.Record(Schema.String, Schema.Unknown))
/** Numbers arrive as their text. */
const decodePrice = Schema.decodeUnknownResult(Schema.Struct({ usd: Schema.String, last_updated_at: Schema.String }))

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const oracle = yield* Prices
    const { failure, get } = yield* makePriceClient("coingecko")
    const names = new Map(Object.entries(options.assets ?? {}))
    const { apiKey, plan = "pro" } = options
    const isPro = apiKey !== undefined && plan === "pro"
    const host = isPro ? "https://pro-api.coingecko.com" : "https://api.coingecko.com"
    const url = `${(options.baseUrl ?? host).replace(/\/+$/, "")}/api/v3/simple/price`
    const headers = apiKey === undefined
      ? {}
      : { [isPro ? "x-cg-pro-api-key" : "x-cg-demo-api-key"]: Redacted.value(apiKey) }

    const request = Effect.fnUntraced(function*(
      ids: ReadonlyArray<string>
    ): Effect.fn.Return<Readonly<Record<string, unknown>>, PriceSourceError> {
      const { json } = yield* get({
        url,
        headers,
        params: [
          ["ids", ids.join(",")],
          ["vs_currencies", "usd"],
          ["include_last_updated_at", "true"],
          ["precision", "full"]
        ]
      })
      const answer = decodeAnswer(json)
      return Result.isSuccess(answer) ? answer.success : yield* failure("answer that cannot be read")
    })

    const prices = Effect.fnUntraced(function*(assets: ReadonlyArray<string>) {
      const idOf = (asset: string) => names.get(asset) ?? asset
      const ids = [...new Set(assets.map(idOf).filter(isAssetId))].slice(0, maximumIds)
      const requests = Array.from({ length: Math.ceil(ids.length / idsPerRequest) }, (_, index) =>
        request(ids.slice(index * idsPerRequest, (index + 1) * idsPerRequest)))
      const answers = yield* Effect.all(requests, { concurrency: requestsAtOnce })
      const pricesById = new Map(answers.flatMap((answer) =>
        Object.entries(answer)
      ))
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const price = decodePrice(pricesById.get(idOf(asset)))
        if (Result.isFailure(price)) return []
        const rate = positiveDecimal(price.success.usd)
        const at = epochSeconds(price.success.last_updated_at)
        return rate === undefined || at === undefined ? [] : [{ asset, rate, at }]
      })
    })

    yield* oracle.register({ name: "coingecko", environments: options.environments ?? everyEnvironment, prices })
  })

/** Averages from CoinGecko's API. Source name `coingecko`. */
export const plugin = Plugin.make({
  name: "coingecko",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
