/**
 * Goal: every instance says the same of a network's nodes, also those that do not follow it.
 * Method: real PostgreSQL, two processes on one database, a driver whose events the test makes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { type ChainEvent, Chains, type NetworkStatus } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

const process = (database: TestDatabase) =>
  Layer.fresh(chainsLayer.pipe(
    Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
    Layer.provideMerge(connect(database))
  ))

/** An instance whose driver tells what is put into `events`. */
const instance = Effect.fnUntraced(function*(events: Queue.Queue<ChainEvent>) {
  const chains = yield* Chains
  const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  yield* chains.register({ ...driver!, follow: () => Stream.fromQueue(events) })
  return (holds: (status: NetworkStatus) => boolean) =>
    Effect.suspend(() => {
      const status = chains.status("devnet")[0]!
      return holds(status) ? Effect.succeed(status) : Effect.fail("not yet")
    }).pipe(Effect.retry(Schedule.spaced(20)), Effect.orDie)
})

describe("conditions of networks", () => {
  it.live("an instance that does not follow a network knows what is wrong with its nodes", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const events = yield* Queue.unbounded<ChainEvent>()
      const silent = yield* Queue.unbounded<ChainEvent>()
      const leads = yield* Deferred.make<void>()
      const seen = yield* Queue.unbounded<void>()
      const leader = Effect.gen(function*() {
        const status = yield* instance(events)
        yield* Queue.offer(events, {
          _tag: "Forward",
          point: { height: 7n, hash: "0x7" },
          time: 1,
          transfers: [],
          isCatchingUp: false
        })
        yield* status(({ head }) => head === 7n)
        yield* Deferred.succeed(leads, undefined)
        for (const condition of ["frozen", "disagreement", "ok"] as const) {
          yield* Queue.offer(events, { _tag: "Condition", condition })
          yield* status((found) => found.condition === condition && found.healthy === (condition === "ok"))
          yield* Queue.take(seen)
        }
      })
      const other = Effect.gen(function*() {
        yield* Deferred.await(leads)
        const status = yield* instance(silent)
        for (const condition of ["frozen", "disagreement", "ok"] as const) {
          const found = yield* status((each) => each.head === 7n && each.condition === condition)
          assert.strictEqual(found.healthy, condition === "ok")
          assert.isAbove(found.cursorTime!, 1_600_000_000)
          yield* Queue.offer(seen, undefined)
        }
      })
      const run = <E>(work: Effect.Effect<void, E, any>) =>
        work.pipe(Effect.scoped, Effect.provide(process(database), { local: true }))
      yield* Effect.all([run(leader), run(other)], { concurrency: 2 })
    }).pipe(Effect.scoped))
})
