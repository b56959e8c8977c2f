import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { plugin } from "../../../modules/prices/binance.ts"
import { type PriceLayer, providerConformance, sourceOf } from "../../conformance/prices.ts"
import { binancePrices, binanceServer, tetherPrice } from "../../fixtures/priceSources/binance.ts"

const layerOf = (baseUrl: string) => plugin.layer({ baseUrl, environments: ["devnet"] }) as PriceLayer
const peers = { tether: tetherPrice }

providerConformance("binance", {
  server: binanceServer,
  layer: layerOf,
  known: binancePrices,
  peers,
  faults: ["missing", "negative", "zero", "NaN", "wrong currency", "crossed", "wide"]
})

describe("binance", () => {
  it.live("gives no price, and asks nobody, while nobody else knows what a USDT is worth", () =>
    Effect.gen(function*() {
      const server = yield* binanceServer
      const source = yield* sourceOf(layerOf(server.url))
      const error = yield* Effect.flip(source.prices(["ethereum"]))
      assert.include(error.message, "USDT")
      assert.strictEqual(server.requests.length, 0)
    }))

  it.live("turns its books into dollars by the others' USDT, exactly", () =>
    Effect.gen(function*() {
      const server = yield* binanceServer
      const source = yield* sourceOf(layerOf(server.url), { tether: "0.97" })
      const [point] = yield* source.prices(["ethereum"])
      assert.strictEqual(point?.rate, "3395.000000")
    }))

  it.live("prices all else when Binance does not list one symbol, and does not ask for that one again", () =>
    Effect.gen(function*() {
      const server = yield* binanceServer
      const source = yield* sourceOf(layerOf(server.url), peers)
      const assets = ["ethereum", "sui", "solana"]
      assert.deepStrictEqual((yield* source.prices(assets)).map(({ asset }) => asset), ["ethereum", "solana"])
      const before = server.requests.length
      yield* source.prices(assets)
      assert.deepStrictEqual(
        server.requests.slice(before).map(({ query }) => query.get("symbols")),
        ["[\"ETHUSDT\",\"SOLUSDT\"]"]
      )
    }))
})
