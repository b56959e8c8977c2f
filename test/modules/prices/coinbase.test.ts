import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { plugin } from "../../../modules/prices/coinbase.ts"
import { type PriceLayer, providerConformance, sourceOf } from "../../conformance/prices.ts"
import { coinbasePrices, coinbaseServer } from "../../fixtures/priceSources/coinbase.ts"

const layerOf = (baseUrl: string) => plugin.layer({ baseUrl }) as PriceLayer

providerConformance("coinbase", {
  server: coinbaseServer,
  layer: layerOf,
  known: coinbasePrices,
  faults: ["missing", "negative", "zero", "NaN", "future", "stale", "crossed", "wide"]
})

describe("coinbase", () => {
  it.live("asks once a product, and not again for an hour for one it does not list", () =>
    Effect.gen(function*() {
      const server = yield* coinbaseServer
      const source = yield* sourceOf(layerOf(server.url))
      const assets = ["ethereum", "weth", "sui", "usd-coin"]
      const points = yield* source.prices(assets)
      assert.deepStrictEqual(points.map(({ asset }) => asset), ["ethereum", "weth"])
      assert.sameMembers(server.requests.map(({ path }) => path), [
        "/products/ETH-USD/ticker",
        "/products/SUI-USD/ticker"
      ])
      yield* source.prices(assets)
      assert.deepStrictEqual(server.requests.slice(2).map(({ path }) => path), ["/products/ETH-USD/ticker"])
    }))

  it.effect("starts at most eight requests a second", () =>
    Effect.gen(function*() {
      const server = yield* coinbaseServer
      const source = yield* sourceOf(layerOf(server.url))
      const asking = yield* Effect.forkChild(source.prices(["ethereum", "tether", "solana", "dai"]))
      const arrived = (count: number): Effect.Effect<void> =>
        Effect.suspend(() => server.requests.length >= count ? Effect.void : Effect.andThen(turn, arrived(count)))
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      for (const count of [1, 2, 3, 4]) {
        yield* arrived(count)
        yield* TestClock.adjust("124 millis")
        yield* Effect.repeat(turn, { times: 20 })
        assert.strictEqual(server.requests.length, count)
        yield* TestClock.adjust("1 millis")
      }
      assert.strictEqual((yield* Fiber.join(asking)).length, 4)
    }))
})
