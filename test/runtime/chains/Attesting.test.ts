/**
 * Goal: a token counts as payable only when its own contract agrees with the list on its decimals, and no block is read
 * before that is known.
 * Method: the real catalogue and journal over PostgreSQL, and a driver whose contracts answer what the test says.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schedule, Stream } from "effect"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { type ChainDriver, Chains, DriverError } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/Journal.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { layer as catalogLayer } from "../../../runtime/tokencatalog/Memory.ts"
import { etherListing, usdcListing } from "../../fixtures/tokens.ts"
import { connect, freshDatabase } from "../../support/Database.ts"

const other = { ...usdcListing, symbol: "EURC", address: "0x808456652fdb597867f38412077A9182bf77359F" }
const absent = { ...usdcListing, symbol: "DAI", address: "0x1111111111111111111111111111111111111111" }

const eventually = (holds: () => boolean) =>
  Effect.suspend(() => holds() ? Effect.void : Effect.fail("not yet")).pipe(Effect.retry(Schedule.spaced(10)), Effect.orDie)

describe("tokens of a chain with contracts", () => {
  it.live("are inactive until attested, and for good when their contract contradicts the list or is not there", () =>
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      yield* catalog.sync("test", [usdcListing, other, absent, etherListing])
      const { drivers: [simulated] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
      const answers = yield* Deferred.make<void>()
      let refusals = 2
      let followed = false
      const driver: ChainDriver = {
        ...simulated!,
        tokenDecimals: (address) =>
          Effect.suspend(() =>
            refusals-- > 0
              ? Effect.fail(new DriverError({ network: "base", reason: "no answer" }))
              : Effect.as(Deferred.await(answers), { [usdcListing.address!]: 6, [other.address]: 18 }[address] ?? null)
          ),
        follow: () => {
          followed = true
          return Stream.never
        }
      }
      const active = () => catalog.list("devnet").filter((token) => token.active).map(({ symbol }) => symbol)
      assert.deepStrictEqual(active(), ["DAI", "ETH", "EURC", "USDC"])
      yield* chains.register(driver)
      assert.deepStrictEqual(active(), ["ETH"], "the coin has no contract to ask")
      yield* Effect.sleep(50)
      assert.isFalse(followed)
      yield* Deferred.succeed(answers, undefined)
      yield* eventually(() => followed)
      assert.deepStrictEqual(active(), ["ETH", "USDC"])
      yield* catalog.sync("test", [{ ...usdcListing, decimals: 18 }, other, absent, etherListing])
      assert.deepStrictEqual(active(), ["ETH"], "a list that changes its mind")
      yield* catalog.sync("test", [usdcListing, { ...other, decimals: 18 }, absent, etherListing])
      assert.deepStrictEqual(active(), ["ETH", "EURC", "USDC"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        chainsLayer.pipe(
          Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogLayer)),
          Layer.provideMerge(Layer.unwrap(Effect.map(freshDatabase, connect)))
        )
      )
    ))
})
