/**
 * Goal: of instances that give out addresses of one wallet, each derives its own, and none waits for one that is gone.
 * Method: the pure steps, the repository on PostgreSQL, and instances as processes of which one is killed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Client } from "pg"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import type { IndexedWallet } from "../../../runtime/Chains.ts"
import { MachineClock } from "../../../runtime/Clock.ts"
import {
  claimPatienceMillis,
  claimSize,
  maximumClaimedAhead,
  nextDerivation,
  nothingDerived
} from "../../../runtime/chains/DerivationClaims.ts"
import { makeDerivationQueries } from "../../../runtime/chains/repo/Derivations.ts"
import type { AllocationAnswer, AllocationProcessSpecification } from "../../support/allocationProcess.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { indexedWalletOf } from "../../support/Drivers.ts"
import { serveRole } from "../../support/Process.ts"
import { until } from "../../support/Service.ts"
import { allocate, follow, inInstance, instance } from "./ChainsInstance.ts"

const quiet = { networks: ["base"], blockMillis: 3_600_000 } as const

const sqlOf = (database: TestDatabase) =>
  Effect.map(Layer.build(connect(database)), (context) => Context.get(context, SqlClient.SqlClient))

/** The indices of a wallet that were given out, in order. */
const givenIndices = (sql: SqlClient.SqlClient) =>
  Effect.map(
    Effect.orDie(sql<{ wallet_index: bigint }>`SELECT wallet_index FROM receive_targets ORDER BY wallet_index`),
    (rows) => rows.map(({ wallet_index }) => Number(wallet_index))
  )

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

describe("an allocation whose next address is not derived", () => {
  it("claims the next ones, and again once what it derived is used up", () => {
    assert.deepStrictEqual(nextDerivation(nothingDerived, 0, 0), { _tag: "Claim" })
    assert.deepStrictEqual(nextDerivation({ derivedTo: 60, awaited: null }, 60, 0), { _tag: "Claim" })
  })

  it("waits for what others claimed before it, and takes it over when it does not come", () => {
    const first = nextDerivation({ derivedTo: 60, awaited: null }, 20, 1_000)
    assert.deepStrictEqual(first, {
      _tag: "Wait",
      state: { derivedTo: 60, awaited: { index: 20, sinceMillis: 1_000 } }
    })
    const { state } = first as Extract<typeof first, { _tag: "Wait" }>
    assert.strictEqual(nextDerivation(state, 20, 999 + claimPatienceMillis)._tag, "Wait")
    assert.deepStrictEqual(nextDerivation(state, 20, 1_000 + claimPatienceMillis), {
      _tag: "Takeover",
      from: 20,
      to: 60
    })
  })

  it("waits anew for each index: one that comes up shows that its instance is alive", () => {
    const state = { derivedTo: 60, awaited: { index: 20, sinceMillis: 0 } }
    assert.deepStrictEqual(nextDerivation(state, 40, claimPatienceMillis), {
      _tag: "Wait",
      state: { derivedTo: 60, awaited: { index: 40, sinceMillis: claimPatienceMillis } }
    })
  })
})

describe("a claim", () => {
  it("grows where others gave out what was derived, until there is enough for all", () => {
    assert.deepStrictEqual([0, 1, 2, 19, 40].map((claims) => claimSize(20, claims)), [20, 40, 60, 400, 400])
    assert.strictEqual(claimSize(500, 3), 500)
  })

  it.live("is of indices that nobody else claimed, and starts again near the counter when others failed far ahead", () =>
    Effect.gen(function*() {
      const sql = yield* sqlOf(yield* freshDatabase)
      const { claimDerivation } = makeDerivationQueries(sql)
      const claim = (from: number, count: number, below: number | null = null) =>
        claimDerivation({ fingerprint: "one", from, count, below })
      assert.strictEqual(yield* claim(40, 20), 40)
      assert.strictEqual(yield* claim(40, 20), 60)
      assert.strictEqual(yield* claim(45, 10), 80)
      // Enough is claimed ahead already.
      assert.isNull(yield* claim(50, 10, 90))
      assert.strictEqual(yield* claim(50, 10, 91), 90)
      // The counter went past all claims, as after a declared restore.
      assert.strictEqual(yield* claim(5_000, 20), 5_000)
      // Claims that nobody kept.
      assert.strictEqual(yield* claim(5_020 - maximumClaimedAhead, 20), 5_020)
      assert.strictEqual(yield* claim(5_039 - maximumClaimedAhead, 20, 4_050), 5_039 - maximumClaimedAhead)
    }).pipe(Effect.scoped))
})

/** Nobody takes over what another one derives a moment later, as on a machine that stands still for half a second. */
const patiently = Effect.provideService(
  MachineClock,
  Object.assign(Object.create(Clock.Clock.defaultValue()) as Clock.Clock, { monotonicTimeNanosUnsafe: () => 0n })
)

describe("instances that give out addresses of one wallet", () => {
  it.live("derive each address once, whichever of them gives it out", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { drivers } = yield* makeSimulated(quiet)
      const derived: Array<number> = []
      const base = indexedWalletOf(drivers[0]!)
      const wallet: IndexedWallet = { ...base, derive: (index) => (derived.push(index), base.derive(index)) }
      const instances = yield* patiently(Effect.forEach([1, 2], () => Layer.build(instance(database))))
      for (const each of instances) yield* follow([{ ...drivers[0]!, wallet }]).pipe(Effect.provideContext(each))
      const sql = yield* sqlOf(database)
      const stored = Effect.orDie(sql<{ count: number }>`SELECT count(*)::integer AS count FROM wallet_addresses`)
      yield* until("addresses are derived ahead", stored, ([row]) => row!.count === 40)
      const started = derived.length
      yield* Effect.forEach(instances, (each, which) =>
        Effect.forEach(upTo(200), (number) =>
          allocate(which * 1_000 + number), { concurrency: 40 }).pipe(
            Effect.provideContext(each)
          ), { concurrency: "unbounded" })
      // What is derived ahead at the end comes on top, and what two looks at the same moment both find missing.
      assert.isBelow(derived.length - started, 400 * 1.35)
      assert.deepStrictEqual(yield* givenIndices(sql), upTo(400))
    }).pipe(Effect.scoped))

  it.live("derive what an instance claimed that was killed before it derived it, and leave no gap", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const sql = yield* sqlOf(database)
      const { drivers } = yield* makeSimulated(quiet)
      const { fingerprint } = indexedWalletOf(drivers[0]!)
      yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow(drivers)
          const ahead = Effect.orDie(sql<{ count: number }>`SELECT count(*)::integer AS count FROM wallet_addresses`)
          yield* until("addresses are derived ahead", ahead, ([row]) => row!.count === 40)
          yield* sql`INSERT INTO wallet_derivations (fingerprint, claimed_to) VALUES (${fingerprint}, 100)`
          yield* Effect.forEach(upTo(60), (number) => allocate(number), { concurrency: "unbounded" })
        })
      )
      assert.deepStrictEqual(yield* givenIndices(sql), upTo(60))
    }).pipe(Effect.scoped))

  it.live("are served in turn: one that asks again and again does not pass those that wait", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const sql = yield* sqlOf(database)
      const { drivers } = yield* makeSimulated(quiet)
      const { fingerprint } = indexedWalletOf(drivers[0]!)
      yield* inInstance(database, Effect.andThen(follow(drivers), allocate(0)))
      const connectOne = Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new Client({ connectionString: database.url })
          await client.connect()
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      const call = (invoice: string) =>
        `SELECT targets -> 0 ->> 'wallet_index' AS index FROM allocate_targets_v2('${fingerprint}', 'evm', 0, NULL, 0, '{}',
          '[{"invoice_id":"${invoice}","merchant_id":1,"environment":"devnet","refused_tokens":[]}]')`
      const [busy, second, third] = [yield* connectOne, yield* connectOne, yield* connectOne]
      const waiting = (count: number) =>
        until(
          `${count} wait`,
          Effect.orDie(sql<{ count: number }>`SELECT count(*)::integer AS count FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`),
          ([row]) => row!.count === count
        )
      const indexOf = (client: Client, text: string) =>
        client.query(text).then((found) => {
          const results = Array.isArray(found) ? found : [found]
          return Number(results.at(-1)!.rows[0].index)
        })
      yield* Effect.promise(() => busy.query(`BEGIN; ${call("busy")}`))
      const seconds = indexOf(second, call("second"))
      yield* waiting(1)
      const thirds = indexOf(third, call("third"))
      yield* waiting(2)
      const again = indexOf(busy, `COMMIT; ${call("again")}`)
      assert.deepStrictEqual(yield* Effect.promise(() => Promise.all([seconds, thirds, again])), [2, 3, 4])
    }).pipe(Effect.scoped))

  it.live(
    "go on when one of them is killed, and no address is given twice or passed over",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const spec: AllocationProcessSpecification = { database, wallet: "xpub" }
        const start = serveRole<object>(new URL("../../support/allocationProcess.ts", import.meta.url), spec)
        const [killed, ...others] = yield* Effect.all([start, start, start], { concurrency: 3 })
        const load = (role: typeof killed, which: number) =>
          role.ask<AllocationAnswer>({ first: which * 100_000, callers: 20, seconds: 1 })
        const sql = yield* sqlOf(database)
        yield* Effect.forkChild(Effect.exit(load(killed, 1)))
        const answers = yield* Effect.all([
          ...others.map((role, at) => load(role, 2 + at)),
          Effect.andThen(
            until("addresses are given out", givenIndices(sql), (given) => given.length > 50),
            Effect.sync(() => (process.kill(killed.pid, "SIGKILL"), { waits: [] }))
          )
        ], { concurrency: "unbounded" })
        const given = yield* givenIndices(sql)
        assert.deepStrictEqual(given, upTo(given.length))
        assert.isAtLeast(given.length, answers.reduce((sum, { waits }) => sum + waits.length, 0))
      }).pipe(Effect.scoped)
  )
})
