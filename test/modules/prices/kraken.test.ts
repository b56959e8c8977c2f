import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { plugin } from "../../../modules/prices/kraken.ts"
import { type PriceLayer, priceSourceConformance, sourceOf } from "../../conformance/prices.ts"
import { type KrakenFault, krakenMiddles, krakenServer } from "../../fixtures/kraken.ts"

const layerOf = (baseUrl: string) => plugin.layer({ baseUrl }) as PriceLayer

const subject = (fault: KrakenFault | null) =>
  Effect.map(krakenServer, (server) => {
    server.fault = fault
    return { name: "kraken", layer: layerOf(server.url), known: krakenMiddles }
  })

priceSourceConformance("kraken", subject(null), subject("error"))

describe("kraken", () => {
  const faults = ["status 500", "status 429", "malformed", "huge", "no result", "error", "cut"] as const

  for (const fault of faults) {
    it.live(`fails, and recovers, on ${fault}`, () =>
      Effect.gen(function*() {
        const server = yield* krakenServer
        const source = yield* sourceOf(layerOf(server.url))
        server.fault = fault
        const error = yield* Effect.flip(source.prices(["ethereum"]))
        assert.strictEqual(error._tag, "PriceSourceFailed")
        assert.isBelow(error.message.length, 400)
        assert.notInclude(error.message, "no answer in", "it does not wait for the time limit")
        server.fault = null
        assert.strictEqual((yield* source.prices(["ethereum"]))[0]?.rate, krakenMiddles.ethereum)
      }))
  }

  it.effect("fails after its own timeout when Kraken hangs", () =>
    Effect.gen(function*() {
      const server = yield* krakenServer
      server.fault = "hang"
      const source = yield* sourceOf(layerOf(server.url))
      const asking = yield* Effect.forkChild(Effect.flip(source.prices(["ethereum"])))
      yield* Deferred.await(server.asked)
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(asking)
      assert.include(error.message, "no answer in 5000 ms")
    }))

  it.live("gives no price where the answer lacks the pair, the book is crossed, too wide, empty or unreadable", () =>
    Effect.gen(function*() {
      const server = yield* krakenServer
      const source = yield* sourceOf(layerOf(server.url))
      const bad = ["dai", "sui", "avalanche-2", "binancecoin"]
      const points = yield* source.prices([...bad, "solana"])
      assert.deepStrictEqual(points.map(({ asset, rate }) => [asset, rate]), [["solana", krakenMiddles.solana]])
      server.fault = "missing"
      assert.deepStrictEqual(yield* source.prices(["ethereum"]), [])
    }))

  it.live("prices all else when Kraken does not know one pair, and does not ask for that one again", () =>
    Effect.gen(function*() {
      const server = yield* krakenServer
      const source = yield* sourceOf(layerOf(server.url))
      const assets = ["ethereum", "usd-coin", "the-open-network", "solana", "tether"]
      const first = yield* source.prices(assets)
      assert.deepStrictEqual(
        Object.fromEntries(first.map(({ asset, rate }) => [asset, rate])),
        Object.fromEntries(
          Object.entries(krakenMiddles).filter(([asset]) => assets.includes(asset))
        )
      )
      const before = server.requests.length
      yield* source.prices(assets)
      assert.deepStrictEqual(server.requests.slice(before), ["ETHUSD,USDCUSD,SOLUSD,USDTUSD"])
    }))

  it.live("asks once for all pairs, and prices wrapped coins as the coin", () =>
    Effect.gen(function*() {
      const server = yield* krakenServer
      const source = yield* sourceOf(layerOf(server.url))
      const points = yield* source.prices(["weth", "ethereum", "solana"])
      assert.deepStrictEqual(server.requests, ["ETHUSD,SOLUSD"])
      assert.strictEqual(points[0]?.rate, points[1]?.rate)
    }))
})
