import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { plugin } from "../../../modules/prices/fixed.ts"
import { type PriceLayer, priceSourceConformance } from "../../conformance/prices.ts"

const known = { "ethereum": "3500.25", "usd-coin": "1" }

priceSourceConformance(
  "fixed",
  Effect.succeed({ name: "fixed", layer: plugin.layer({ prices: known }) as PriceLayer, known }),
  null
)

describe("fixed prices", () => {
  const decode = Schema.decodeUnknownExit(plugin.options!)

  it("serve devnet only, whatever the options say", () => {
    assert.isTrue(Exit.isSuccess(decode({ prices: known, environments: ["devnet"] })))
    assert.isTrue(Exit.isFailure(decode({ prices: known, environments: ["mainnet"] })))
    assert.isTrue(Exit.isFailure(decode({ prices: known, environments: ["devnet", "mainnet"] })))
  })

  it("refuse a price that is no positive plain decimal", () => {
    for (const price of ["0", "-1", "1e3", "", " 1", "0.000", "1,5", 1, null]) {
      assert.isTrue(Exit.isFailure(decode({ prices: { ethereum: price } })), JSON.stringify(price))
    }
  })
})
