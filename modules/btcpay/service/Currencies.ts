/** The currencies that a shop may price in, with their rates at this moment. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { ShopCurrency } from "../rules/Amounts.ts"
import type { FieldError } from "../rules/Requests.ts"
import { FiatRates, maximumRateAgeSeconds } from "./FiatRates.ts"

const refuse = (message: string): FieldError => ({ path: "currency", message })

const dollarsOnly = refuse(
  "This server prices invoices in USD only. Set the shop's currency to USD, or ask the operator to load a source of "
    + "exchange rates."
)

/** The currencies of ISO 4217 that Node knows. Bitcoin and tokens are not among them. */
const isoCurrencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"))

const dollars: ShopCurrency = { code: "USD", rate: null }

export class Currencies extends Context.Service<Currencies, {
  /** The currency of a code in upper case with its rate now, or why no invoice can be priced in it. */
  readonly find: (code: string) => Effect.Effect<ShopCurrency | FieldError>
}>()("tillwire/modules/btcpay/Currencies") {
  static readonly layer = Layer.effect(
    Currencies,
    Effect.map(FiatRates, (rates) =>
      Currencies.of({
        find: Effect.fnUntraced(function*(code) {
          if (code === dollars.code) return dollars
          const source = rates.current()
          if (source === undefined || !isoCurrencies.has(code)) return dollarsOnly
          const found = yield* source.usdPer(code)
          if (found === null) {
            return refuse(`This server has no exchange rate of ${code}. Set the shop's currency to USD or another one.`)
          }
          return (yield* nowSeconds) - found.asOf > maximumRateAgeSeconds
            ? refuse(`The exchange rate of ${code} is out of date.`)
            : { code, rate: found.rate }
        })
      }))
  )
}
