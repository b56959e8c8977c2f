/**
 * Goal: one provider that dies, hangs, lies or sleeps changes no price; three of four take the price away, never the
 * truth.
 * Method: four real drivers on four local servers as a mainnet deployment has them, each fault in turn.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { plugin as binance } from "../../../modules/prices/binance.ts"
import { plugin as coinbase } from "../../../modules/prices/coinbase.ts"
import { plugin as coingecko } from "../../../modules/prices/coingecko.ts"
import { plugin as kraken } from "../../../modules/prices/kraken.ts"
import { Prices, type PriceUnavailable, type Spot } from "../../../runtime/Prices.ts"
import { layerWith } from "../../../runtime/prices/Oracle.ts"
import { compareRates, isWithin, readRate } from "../../../schemas/Money.ts"
import type { PriceLayer } from "../../conformance/prices.ts"
import { binanceServer } from "../../fixtures/priceSources/binance.ts"
import { coinbaseServer } from "../../fixtures/priceSources/coinbase.ts"
import { coingeckoServer } from "../../fixtures/priceSources/coingecko.ts"
import { krakenServer } from "../../fixtures/priceSources/kraken.ts"
import type { ProviderFault, ProviderServer } from "../../fixtures/priceSources/Server.ts"
import { catalogOf, mainnetEther } from "../../fixtures/tokens.ts"

const names = ["kraken", "coinbase", "coingecko", "binance"] as const
type Servers = Readonly<Record<typeof names[number], ProviderServer>>

/** The price of ether after `prepare` has had its way with the providers. */
const priced = (
  prepare: (servers: Servers) => void
): Effect.Effect<Spot, PriceUnavailable, Scope.Scope> =>
  Effect.gen(function*() {
    const servers = yield* Effect.all({
      kraken: krakenServer,
      coinbase: coinbaseServer,
      coingecko: coingeckoServer,
      binance: binanceServer
    })
    prepare(servers)
    const sources = Layer.mergeAll(
      kraken.layer({ baseUrl: servers.kraken.url }) as PriceLayer,
      coinbase.layer({ baseUrl: servers.coinbase.url }) as PriceLayer,
      coingecko.layer({ baseUrl: servers.coingecko.url }) as PriceLayer,
      binance.layer({ baseUrl: servers.binance.url }) as PriceLayer
    )
    const running = sources.pipe(
      Layer.provideMerge(layerWith({ depeg: "market", quorum: 2 }).pipe(Layer.provide(catalogOf(mainnetEther)))),
      Layer.provide(NodeHttpClient.layerUndici)
    )
    return yield* Effect.flatMap(Prices, (quotes) => quotes.spot(mainnetEther)).pipe(Effect.provide(running))
  }) as never

/** All say between $3,500.25 and $3,500.36. */
const truth = readRate("3500.3")!

describe("four providers, two of which must agree", () => {
  it.live("give the median of them all", () =>
    Effect.gen(function*() {
      const spot = yield* priced(() => undefined)
      assert.strictEqual(spot.source, "median")
      assert.isTrue(isWithin(spot.rate, truth, 1n), spot.text)
    }))

  const faults: ReadonlyArray<ProviderFault> = ["status 500", "status 429", "malformed", "stale", "missing", "crossed"]
  for (const name of names) {
    for (const fault of faults) {
      it.live(`price the same when ${name} answers with ${fault}`, () =>
        Effect.gen(function*() {
          const spot = yield* priced((servers) => void (servers[name].fault = fault))
          assert.isTrue(isWithin(spot.rate, truth, 2n), spot.text)
        }))
    }

    it.live(`price the same when ${name} says ten times the truth`, () =>
      Effect.gen(function*() {
        const spot = yield* priced((servers) => void (servers[name].lies = true))
        assert.isTrue(isWithin(spot.rate, truth, 2n), spot.text)
        assert.isBelow(compareRates(spot.rate, readRate("35000")!), 0)
      }))

    it.live(`give no price when ${name} is all that is left`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(priced((servers) => {
          for (const [other, server] of Object.entries(servers)) if (other !== name) server.fault = "status 500"
        }))
        assert.deepStrictEqual([error.reason, error.retryAfterSeconds], [
          "Too few price sources answered",
          15
        ])
      }))
  }

  it.live("price the same when one gives no answer at all, as soon as its time is up", () =>
    Effect.gen(function*() {
      const spot = yield* priced(({ kraken }) => void (kraken.fault = "hang"))
      assert.isTrue(isWithin(spot.rate, truth, 2n), spot.text)
    }))

  it.live("give no price, and say so, when two contradict each other and the others are gone", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(priced(({ binance, coinbase, kraken }) => {
        binance.fault = "status 500"
        coinbase.fault = "status 500"
        kraken.lies = true
      }))
      assert.strictEqual(error.reason, "Price sources disagree")
    }))
})
