/**
 * Goal: whoever asks how far a network was seen is never told more than the journal holds, whichever instance is asked.
 * Method: real PostgreSQL, two processes on one database, a driver whose events the test makes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { type ChainEvent, Chains, type InvoiceCoverage, type NetworkCoverage } from "../../../runtime/Chains.ts"
import { devnetBlockDelaySeconds } from "../../../runtime/chains/Confirmations.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

const process = (database: TestDatabase) =>
  Layer.fresh(chainsLayer.pipe(
    Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
    Layer.provideMerge(connect(database))
  ))

const run = <A, E>(database: TestDatabase, work: Effect.Effect<A, E, any>) =>
  work.pipe(Effect.scoped, Effect.provide(process(database), { local: true }))

const invoice = { id: "00000000-0000-4000-8000-000000000001", merchantId: 1 }
const other = { id: "00000000-0000-4000-8000-000000000002", merchantId: 1 }

/** An instance whose driver tells what is put into `events`, and what it says of the invoice. */
const instance = Effect.fnUntraced(function*(events: Queue.Queue<ChainEvent>, environment: Environment = "devnet") {
  const chains = yield* Chains
  const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  yield* chains.register({
    ...driver!,
    environment,
    follow: (_, watch) => Stream.tap(Stream.fromQueue(events), () => watch.refresh)
  })
  const found = Effect.map(chains.coverage(environment, [invoice, other]), (sights) => sights.get(invoice.id))
  const until = (holds: (network: NetworkCoverage, sight: InvoiceCoverage) => boolean) =>
    Effect.flatMap(
      found,
      (sight) => sight !== undefined && holds(sight.networks[0]!, sight) ? Effect.succeed(sight) : Effect.fail(sight)
    ).pipe(Effect.retry(Schedule.spaced(20)), Effect.orDie)
  return { chains, found, until, allocate: chains.allocate({ ...invoiceOf(environment) }) }
})

const invoiceOf = (environment: Environment) =>
  ({ merchantId: 1, invoiceId: invoice.id, environment, family: "evm" }) as const

const block = (height: bigint, time: number, matchKey?: string): ChainEvent => ({
  _tag: "Forward",
  point: { height, hash: `0x${height}` },
  time,
  transfers: matchKey === undefined ? [] : [{
    txHash: `0xaa${height}`,
    index: 1,
    kind: "direct",
    matchKey,
    tokenAddress: null,
    amount: baseUnits(1n),
    from: null
  }],
  isCatchingUp: false
})

describe("coverage", () => {
  it.live(
    "reaches to the second before the newest block, and goes back with what is rolled back",
    () =>
      Effect.gen(function*() {
        const events = yield* Queue.unbounded<ChainEvent>()
        yield* run(
          yield* freshDatabase,
          Effect.gen(function*() {
            const { allocate, chains, found, until } = yield* instance(events, "mainnet")
            assert.isUndefined(yield* found, "an invoice without an address waits for nothing")
            yield* allocate
            assert.deepStrictEqual(yield* found, {
              networks: [{ network: "base", seenUntil: null, isAdvancing: true }],
              handling: "done"
            })
            yield* Queue.offerAll(events, [block(1n, 1_000), block(2n, 1_012), block(3n, 1_012)])
            yield* until(({ seenUntil }) => seenUntil === 1_011)
            yield* Queue.offerAll(events, [{ _tag: "Rollback", to: { height: 1n, hash: "0x1" } }])
            yield* until(({ seenUntil }) => seenUntil === 999)
            // Where money is real a look that shows nothing new proves nothing.
            const look: ChainEvent = { _tag: "Finality", finalized: 1n }
            yield* Queue.offerAll(events, [look, look, { _tag: "Condition", condition: "frozen" }])
            const frozen = yield* until(({ isAdvancing }) => !isAdvancing)
            assert.strictEqual(frozen.networks[0]!.seenUntil, 999)
            yield* Queue.offer(events, { _tag: "Condition", condition: "disagreement" })
            yield* until(({ seenUntil }) => seenUntil === null)
            assert.deepStrictEqual(
              [...(yield* chains.coverage("devnet", [invoice])).values()].flatMap(({ networks }) => networks),
              []
            )
          })
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    "on devnet a look that finds no block is enough, for a node that mines on demand",
    () =>
      Effect.gen(function*() {
        const events = yield* Queue.unbounded<ChainEvent>()
        yield* run(
          yield* freshDatabase,
          Effect.gen(function*() {
            const { allocate, until } = yield* instance(events)
            yield* allocate
            const before = Math.floor(Date.now() / 1000)
            yield* Queue.offerAll(events, [block(1n, 1_000), { _tag: "Finality", finalized: null }])
            yield* until(({ seenUntil }) => seenUntil === 999)
            yield* Queue.offer(events, { _tag: "Finality", finalized: null })
            const { networks: [network] } = yield* until(({ seenUntil }) => seenUntil! > 999)
            const delay = 1 + devnetBlockDelaySeconds
            assert.isTrue(network!.seenUntil! >= before - delay && network!.seenUntil! <= Date.now() / 1000 - delay)
          })
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    "is the same on an instance that does not follow, and tells of transfers that wait to be handled",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const now = Math.floor(Date.now() / 1000)
        const [events, silent] = [yield* Queue.unbounded<ChainEvent>(), yield* Queue.unbounded<ChainEvent>()]
        const [leads, isSeen, isHandled] = [
          yield* Deferred.make<void>(),
          yield* Deferred.make<void>(),
          yield* Deferred.make<void>()
        ]
        const leader = Effect.gen(function*() {
          const { allocate, chains, until } = yield* instance(events)
          const commit = yield* Commit
          const { matchKey } = yield* allocate
          yield* Queue.offerAll(events, [block(1n, now - 10), block(2n, now, matchKey)])
          yield* until(({ seenUntil }, { handling }) => seenUntil === now - 1 && handling === "under_way")
          yield* Deferred.succeed(leads, undefined)
          yield* Deferred.await(isSeen)
          yield* chains.onTransfer((entry) =>
            commit.append({
              merchantId: 1,
              environment: "devnet",
              cause: noCause,
              events: [],
              writes: [chains.markHandled(entry, { blocks: 9, finalized: false })]
            })
          )
          yield* until((_, { handling }) => handling === "done")
          yield* Deferred.await(isHandled)
        })
        const follower = Effect.gen(function*() {
          yield* Deferred.await(leads)
          const { until } = yield* instance(silent)
          yield* until(({ seenUntil }, { handling }) => seenUntil === now - 1 && handling === "under_way")
          yield* Deferred.succeed(isSeen, undefined)
          yield* until((_, { handling }) => handling === "done")
          yield* Deferred.succeed(isHandled, undefined)
        })
        yield* Effect.all([run(database, leader), run(database, follower)], { concurrency: 2 })
      }).pipe(Effect.scoped)
  )
})
