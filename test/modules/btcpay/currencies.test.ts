/** Goal: a shop prices in a currency only while its rate is known and fresh. Method: the service over sources of a test. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plugin as fixed } from "../../../modules/btcpay/drivers/fixed.ts"
import { Currencies } from "../../../modules/btcpay/service/Currencies.ts"
import { FiatRates, maximumRateAgeSeconds } from "../../../modules/btcpay/service/FiatRates.ts"

const rate = { numerator: 11n, denominator: 10n }

const withSource = (ageSeconds: number) =>
  Layer.effectDiscard(Effect.flatMap(FiatRates, (rates) =>
    rates.register({
      name: "test",
      usdPer: (code) =>
        Effect.succeed(code === "EUR" ? { rate, asOf: Math.floor(Date.now() / 1_000) - ageSeconds } : null)
    })))

const find = (code: string, source: Layer.Layer<never, unknown, any> = Layer.empty) =>
  Effect.flatMap(Currencies, (currencies) => currencies.find(code)).pipe(
    Effect.provide(
      Currencies.layer.pipe(
        Layer.provide(source as Layer.Layer<never, never, FiatRates>),
        Layer.provide(FiatRates.layer)
      ),
      { local: true }
    )
  )

describe("the currency of a shop", () => {
  it.live("is dollars alone while no source of rates is loaded", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* find("USD"), { code: "USD", rate: null })
      assert.include(JSON.stringify(yield* find("EUR")), "prices invoices in USD only")
    }))

  it.live("has the rate of its source, and is refused where that is more than five days old", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* find("EUR", withSource(60)), { code: "EUR", rate })
      assert.include(
        JSON.stringify(yield* find("EUR", withSource(maximumRateAgeSeconds + 60))),
        "The exchange rate of EUR is out of date."
      )
      assert.include(JSON.stringify(yield* find("BTC", withSource(60))), "prices invoices in USD only")
    }))

  it.live("may have a rate that stands in the config file", () =>
    Effect.gen(function*() {
      const source = fixed.layer({ usdPer: { AED: "0.25" } }) as Layer.Layer<never, unknown, any>
      assert.deepStrictEqual(yield* find("AED", source), { code: "AED", rate: { numerator: 25n, denominator: 100n } })
      assert.include(JSON.stringify(yield* find("EUR", source)), "This server has no exchange rate of EUR.")
      assert.include(JSON.stringify(yield* find("XBT", source)), "prices invoices in USD only")
    }))
})
