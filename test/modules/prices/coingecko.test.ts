import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { plugin } from "../../../modules/prices/coingecko.ts"
import { type PriceLayer, providerConformance, sourceOf } from "../../conformance/prices.ts"
import { coingeckoPrices, coingeckoServer } from "../../fixtures/priceSources/coingecko.ts"

const layerOf = (baseUrl: string) => plugin.layer({ baseUrl }) as PriceLayer

providerConformance("coingecko", {
  server: coingeckoServer,
  layer: layerOf,
  known: coingeckoPrices,
  faults: ["missing", "negative", "zero", "NaN", "future", "stale", "wrong currency"]
})

describe("coingecko", () => {
  it.live("sends a demo and a paid key in their own headers, and no key where there is none", () =>
    Effect.gen(function*() {
      const server = yield* coingeckoServer
      const apiKey = Redacted.make("CG-secret")
      for (const options of [{}, { apiKey, plan: "demo" }, { apiKey, plan: "pro" }, { apiKey }] as const) {
        const source = yield* sourceOf(plugin.layer({ baseUrl: server.url, ...options }) as PriceLayer)
        yield* source.prices(["ethereum"])
      }
      assert.deepStrictEqual(
        server.requests.map(({ headers }) => [headers["x-cg-demo-api-key"], headers["x-cg-pro-api-key"]]),
        [[undefined, undefined], ["CG-secret", undefined], [undefined, "CG-secret"], [undefined, "CG-secret"]]
      )
    }))

  it.live("asks for a hundred ids at a time", () =>
    Effect.gen(function*() {
      const server = yield* coingeckoServer
      const source = yield* sourceOf(layerOf(server.url))
      const points = yield* source.prices([...Array.from({ length: 150 }, (_, index) => `coin-${index}`), "ethereum"])
      assert.deepStrictEqual(points.map(({ asset }) => asset), ["ethereum"])
      assert.sameMembers(server.requests.map(({ query }) => query.get("ids")!.split(",").length), [100, 51])
    }))
})
