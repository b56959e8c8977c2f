/** Prices the operator writes down: for devnet, tests and trying things out. They never reach mainnet. */
import { Clock, Effect, Layer, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { Prices } from "../../runtime/Prices.ts"
import { readRate } from "../../schemas/Money.ts"

/** Assets one list may price. */
const maximumPrices = 1_000

const Price = Schema.String.check(
  Schema.makeFilter((text: string) =>
    readRate(text) !== undefined || "Expected dollars per token as a positive plain decimal in quotes, e.g. \"3500.25\""
  )
)

const Options = Schema.Struct({
  /** US dollars per whole token by asset id (CoinGecko's ids), e.g. `{ "ethereum": "3500", "usd-coin": "1" }`. */
  prices: Schema.Record(Schema.String, Price).check(Schema.isMaxProperties(maximumPrices)),
  /** Devnet only: a price that never moves is a gift to whoever notices. */
  environments: Schema.optionalKey(
    Schema.NonEmptyArray(Schema.Literal("devnet").annotate({ message: "Fixed prices serve devnet only" }))
  )
})

/** The prices of `options.prices`, always fresh. Source name `fixed`. */
export const plugin = Plugin.make({
  name: "fixed",
  slot: "prices",
  options: Options,
  layer: ({ environments = ["devnet"] as const, prices }) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const oracle = yield* Prices
      const rates = new Map(Object.entries(prices))
      yield* oracle.register({
        name: "fixed",
        environments,
        prices: (assets) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            assets.flatMap((asset) => {
              const rate = rates.get(asset)
              return rate === undefined ? [] : [{ asset, rate, at: Math.floor(now / 1000) }]
            }))
      })
    }))
})
