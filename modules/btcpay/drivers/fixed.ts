/** Exchange rates for shops that stand in the config file: of currencies that are pegged to the dollar. */
import { Effect, Layer, Schema } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { RateText, readRate } from "../../../schemas/Money.ts"
import { FiatRates } from "../plugin.ts"

const Code = Schema.String.check(
  Schema.isPattern(/^[A-Z]{3}$/, { message: "Expected a currency such as AED, in upper case" })
)

const Usd = RateText.check(
  Schema.makeFilter((text: string) => readRate(text) !== undefined, { expected: "a rate above 0" })
)

const Options = Schema.Struct({
  /** Dollars that one of a currency is, as decimal texts, by its code: `{ "AED": "0.2723" }`. */
  usdPer: Schema.Record(Code, Usd)
})

export const plugin = Plugin.make({
  name: "btcpay/fixed",
  slot: "modules",
  needs: { btcpay: FiatRates },
  options: Options,
  layer: ({ usdPer }) =>
    Layer.effectDiscard(Effect.flatMap(FiatRates, (rates) =>
      rates.register({
        name: "fixed",
        usdPer: (code) =>
          Effect.map(nowSeconds, (asOf) => {
            const rate = Object.hasOwn(usdPer, code) ? readRate(usdPer[code]!) : undefined
            return rate === undefined ? null : { rate, asOf }
          })
      })))
})
