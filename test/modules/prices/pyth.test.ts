import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { plugin } from "../../../modules/prices/pyth.ts"
import { type PriceLayer, providerConformance, sourceOf } from "../../conformance/prices.ts"
import { pythKey, pythPrices, pythServer } from "../../fixtures/priceSources/pyth.ts"

const layerOf = (baseUrl: string, apiKey = pythKey) =>
  plugin.layer({ baseUrl, apiKey: Redacted.make(apiKey) }) as PriceLayer

providerConformance("pyth", {
  server: pythServer,
  layer: (baseUrl) => layerOf(baseUrl),
  known: pythPrices,
  faults: ["missing", "negative", "zero", "NaN", "future", "stale", "wrong currency", "unsure"]
})

describe("pyth", () => {
  it.live("prices all else when the key may not read one feed, and does not ask for that one again", () =>
    Effect.gen(function*() {
      const server = yield* pythServer
      const source = yield* sourceOf(layerOf(server.url))
      const assets = ["ethereum", "sui", "solana"]
      assert.deepStrictEqual((yield* source.prices(assets)).map(({ asset }) => asset), ["ethereum", "solana"])
      const before = server.requests.length
      yield* source.prices(assets)
      assert.deepStrictEqual(server.requests.slice(before).map(({ query }) => query.getAll("ids[]").length), [2])
    }))

  it.live("fails by name with a key that is refused, and keeps the key out of the message", () =>
    Effect.gen(function*() {
      const server = yield* pythServer
      const wrong = yield* sourceOf(layerOf(server.url, "wrong-key"))
      const error = yield* Effect.flip(wrong.prices(["ethereum"]))
      assert.include(error.message, "401")
      assert.notInclude(error.message, "wrong-key")
    }))
})
