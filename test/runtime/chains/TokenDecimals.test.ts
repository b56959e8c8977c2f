/**
 * Goal: a token counts as payable only when its own contract agrees with the list on its decimals; a contract that
 * cannot be read keeps nothing waiting but its own token.
 * Method: the real catalogue and journal over PostgreSQL, and a driver whose contracts answer what the test says.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { type ChainDriver, Chains, DriverError } from "../../../runtime/Chains.ts"
import { verifyTokenDecimals } from "../../../runtime/chains/TokenDecimals.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { layer as catalogLayer } from "../../../runtime/tokencatalog/Memory.ts"
import { etherListing, usdcListing } from "../../fixtures/tokens.ts"
import { connect, freshDatabase } from "../../support/Database.ts"

const other = { ...usdcListing, symbol: "EURC", address: "0x808456652fdb597867f38412077A9182bf77359F" }
const absent = { ...usdcListing, symbol: "DAI", address: "0x1111111111111111111111111111111111111111" }

const noAnswer = new DriverError({ network: "base", reason: "no answer" })

/** A driver of contracts that answer as `decimals` says. */
const contracts = (decimals: (address: string) => Effect.Effect<number | null, DriverError>) =>
  Effect.map(
    makeSimulated({ networks: ["base"], blockMillis: 3_600_000 }),
    ({ drivers: [simulated] }): ChainDriver => ({ ...simulated!, tokenDecimals: decimals })
  )

/** Symbols that can be paid in. */
const active = Effect.map(
  TokenCatalog,
  (catalog) => catalog.list("devnet").filter((token) => token.active).map(({ symbol }) => symbol)
)

const database = Layer.unwrap(Effect.map(freshDatabase, connect))

describe("tokens of a chain with contracts", () => {
  it.effect("are inactive until attested, while there is no contract, and for good when theirs contradicts the list", () =>
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      yield* catalog.sync("test", [usdcListing, other, absent, etherListing])
      assert.deepStrictEqual(yield* active, ["DAI", "ETH", "EURC", "USDC"])
      const answers = yield* Deferred.make<void>()
      const decimals: Record<string, number> = { [usdcListing.address!]: 6, [other.address]: 18 }
      const asked: Array<string> = []
      yield* verifyTokenDecimals(
        yield* contracts((address) =>
          Effect.map(Deferred.await(answers), () => (asked.push(address), decimals[address] ?? null))
        ),
        catalog
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* active, ["ETH"], "the coin has no contract to ask")
      yield* Deferred.succeed(answers, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* active, ["ETH", "USDC"])
      yield* catalog.sync("test", [{ ...usdcListing, decimals: 18 }, other, absent, etherListing])
      assert.deepStrictEqual(yield* active, ["ETH"], "a list that changes its mind")
      yield* catalog.sync("test", [usdcListing, { ...other, decimals: 18 }, absent, etherListing])
      assert.deepStrictEqual(yield* active, ["ETH", "EURC", "USDC"])
      decimals[absent.address] = 6
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* active, ["DAI", "ETH", "EURC", "USDC"], "the node has caught up")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 4, "who has answered is not asked again")
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(catalogLayer, database))))

  it.effect("wait for none but their own contract, and are asked again while it cannot be read", () =>
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      yield* catalog.sync("test", [usdcListing, other, absent])
      const unreadable = new Set([usdcListing.address!, other.address])
      const asked: Array<string> = []
      yield* verifyTokenDecimals(
        yield* contracts((address) =>
          Effect.suspend(() => {
            asked.push(address)
            return !unreadable.has(address)
              ? Effect.succeed(6)
              : asked.length === 1
              ? Effect.die(new Error("a bug of the driver"))
              : Effect.fail(noAnswer)
          })
        ),
        catalog
      )
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* active, ["DAI"])
      unreadable.delete(other.address)
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* active, ["DAI", "EURC"])
      assert.isAtMost(asked.length, 4 * 6, "a node that is gone is asked little")
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(catalogLayer, database))))

  it.live("do not keep their chain from being followed", () =>
    Effect.gen(function*() {
      const followed = yield* Deferred.make<void>()
      const driver = yield* contracts(() => Effect.fail(noAnswer))
      const catalog = yield* TokenCatalog
      yield* catalog.sync("test", [usdcListing])
      yield* (yield* Chains).register({
        ...driver,
        follow: () => Stream.fromEffectDrain(Effect.andThen(Deferred.succeed(followed, undefined), Effect.never))
      })
      yield* Deferred.await(followed)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        chainsLayer.pipe(
          Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogLayer)),
          Layer.provideMerge(database)
        )
      )
    ))
})
