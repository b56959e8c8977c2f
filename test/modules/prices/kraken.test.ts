import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { plugin } from "../../../modules/prices/kraken.ts"
import { type PriceLayer, providerConformance, sourceOf } from "../../conformance/prices.ts"
import { krakenPrices, krakenServer } from "../../fixtures/priceSources/kraken.ts"

const layerOf = (baseUrl: string) => plugin.layer({ baseUrl }) as PriceLayer

providerConformance("kraken", {
  server: krakenServer,
  layer: layerOf,
  known: krakenPrices,
  faults: ["missing", "negative", "zero", "NaN", "wrong currency", "crossed", "wide"]
})

describe("kraken", () => {
  const running = Effect.flatMap(
    krakenServer,
    (server) => Effect.map(sourceOf(layerOf(server.url)), (source) => ({ server, source }))
  )

  it.live("gives no price where the book is crossed, too wide, empty or unreadable, and the others all the same", () =>
    Effect.gen(function*() {
      const { source } = yield* running
      const bad = ["dai", "sui", "avalanche-2", "binancecoin"]
      const points = yield* source.prices([...bad, "solana"])
      assert.deepStrictEqual(points.map(({ asset, rate }) => [asset, rate]), [["solana", krakenPrices.solana]])
    }))

  it.live("prices all else when Kraken does not know one pair, and does not ask for that one again", () =>
    Effect.gen(function*() {
      const { server, source } = yield* running
      const assets = ["ethereum", "usd-coin", "the-open-network", "solana", "tether"]
      const first = yield* source.prices(assets)
      assert.deepStrictEqual(
        Object.fromEntries(first.map(({ asset, rate }) => [asset, rate])),
        Object.fromEntries(Object.entries(krakenPrices).filter(([asset]) => assets.includes(asset)))
      )
      const before = server.requests.length
      yield* source.prices(assets)
      assert.deepStrictEqual(
        server.requests.slice(before).map(({ query }) => query.get("pair")),
        ["ETHUSD,USDCUSD,SOLUSD,USDTUSD"]
      )
    }))

  it.live("asks once for all pairs, and prices wrapped coins as the coin", () =>
    Effect.gen(function*() {
      const { server, source } = yield* running
      const points = yield* source.prices(["weth", "ethereum", "solana"])
      assert.deepStrictEqual(server.requests.map(({ query }) => query.get("pair")), ["ETHUSD,SOLUSD"])
      assert.strictEqual(points[0]?.rate, points[1]?.rate)
    }))
})
