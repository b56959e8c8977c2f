/**
 * Goal: a look that reads only what changed since the look before misses no address, however commits and looks cross,
 * and whoever changed a wallet in whatever way.
 * Method: real PostgreSQL with connections of their own for whoever looks and whoever writes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeRepo } from "../../../runtime/chains/ChainsRepo.ts"
import { isSameServer, make as makeWatchedKeys } from "../../../runtime/chains/WatchedKeys.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"

const onDatabase = <A, E, R>(database: TestDatabase, work: Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
  work.pipe(Effect.provide(Layer.fresh(connect(database)), { local: true }))

const keyOf = (fingerprint: string, index: number) => `key-${fingerprint}-${index}`

/** Gives out the next address of a wallet, as its allocation does: target and counter in one transaction. */
const giveOut = Effect.fnUntraced(function*(fingerprint: string, index: number) {
  const sql = yield* SqlClient.SqlClient
  const key = keyOf(fingerprint, index)
  yield* sql`INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index)
    VALUES (${fingerprint}, 0, 1, ${index + 1}) ON CONFLICT (fingerprint) DO UPDATE SET next_index = ${index + 1}`
  yield* sql`INSERT INTO receive_targets (id, merchant_id, version, family, match_key, invoice_id, environment, address,
      fingerprint, wallet_index, created_at)
    VALUES (${`solana:${key}`}, 1, 1, 'solana', ${key}, ${key}, 'devnet', ${key}, ${fingerprint}, ${index}, 1)`
  return key
})

/**
 * Waits until no transaction of the server is under way that is as old as what is committed. Transactions are numbered
 * by the server, so one of another test would have the next look show once more what this one has shown.
 */
const olderTransactionsEnd = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [newest] = yield* sql<{ id: string }>`SELECT pg_current_xact_id()::text AS id`
  yield* until(
    "older transactions end",
    Effect.orDie(
      sql<{ lowest: string }>`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS lowest`
    ),
    ([found]) => BigInt(found!.lowest) > BigInt(newest!.id)
  )
})

/** The keys as one instance has them, and how many wallets each of its looks was shown. */
const watching = (database: TestDatabase) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(Layer.fresh(connect(database)))
    const repo = yield* Effect.provide(makeRepo, context)
    const shown: Array<number> = []
    const keys = yield* makeWatchedKeys({
      ...repo,
      walletsChangedSince: (lowestRunning) =>
        Effect.tap(repo.walletsChangedSince(lowestRunning), ({ wallets }) =>
          Effect.sync(() => void shown.push(wallets.length)))
    })
    return { ...keys, ...keys.watch("solana", "devnet"), repo, shown }
  })

describe("a look at the wallets", () => {
  it.live("misses no address of a transaction that began before it and is committed after it", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { has, refresh } = yield* watching(database)
      const hasWritten = yield* Deferred.make<void>()
      const mayCommit = yield* Deferred.make<void>()
      const slow = yield* Effect.forkChild(onDatabase(
        database,
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql.withTransaction(Effect.gen(function*() {
            yield* giveOut("slow", 0)
            yield* Deferred.succeed(hasWritten, undefined)
            yield* Deferred.await(mayCommit)
          })))
      ))
      yield* Deferred.await(hasWritten)
      // Later transactions are committed meanwhile, so the newest change that is shown is newer than the slow one.
      for (let index = 0; index < 3; index++) {
        const key = yield* onDatabase(database, giveOut("quick", index))
        yield* refresh
        assert.isTrue(has(key))
        assert.isFalse(has(keyOf("slow", 0)))
      }
      yield* Deferred.succeed(mayCommit, undefined)
      yield* Fiber.join(slow)
      yield* refresh
      assert.isTrue(has(keyOf("slow", 0)))
    }).pipe(Effect.scoped))

  it.live("is shown the wallets that changed and no others, also where a statement does not say that it changed one", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { has, refresh, repo, shown } = yield* watching(database)
      const change = (work: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
        onDatabase(database, Effect.andThen(work, olderTransactionsEnd))
      yield* change(Effect.forEach(["a", "b", "c"], (fingerprint) => giveOut(fingerprint, 0)))
      yield* refresh
      yield* refresh
      yield* change(giveOut("b", 1))
      yield* refresh
      yield* change(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) =>
            Effect.andThen(giveOut("c", 1), sql`UPDATE wallet_counters SET next_index = 2 WHERE fingerprint = 'c'`)
        )
      )
      yield* refresh
      yield* change(repo.storeAddresses("c", "solana", [
        { address: "ahead", matchKey: "ahead", memo: null, family: "solana", fingerprint: "c", walletIndex: 2 }
      ]))
      yield* refresh
      yield* refresh
      assert.deepStrictEqual(shown, [3, 0, 1, 1, 1, 0])
      assert.isTrue([keyOf("b", 1), keyOf("c", 1), "ahead"].every(has))
    }).pipe(Effect.scoped))

  it.live("finds what changes in rows of another server's backup, whose transactions had higher numbers", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* onDatabase(database, giveOut("old", 0))
      yield* onDatabase(
        database,
        Effect.gen(function*() {
          // A backup is loaded before its triggers are made.
          const sql = yield* SqlClient.SqlClient
          yield* sql`ALTER TABLE wallet_counters DISABLE TRIGGER mark_change`
          yield* sql`UPDATE wallet_counters SET changed_by = '9000000000'`
          yield* sql`ALTER TABLE wallet_counters ENABLE TRIGGER mark_change`
        })
      )
      const { has, refresh, shown } = yield* watching(database)
      assert.isTrue(has(keyOf("old", 0)))
      yield* refresh
      yield* onDatabase(database, giveOut("old", 1))
      yield* refresh
      assert.isTrue(has(keyOf("old", 1)))
      assert.deepStrictEqual(shown, [0, 1])
    }).pipe(Effect.scoped))

  it.live("reads every wallet where another server answers, whose transactions may have lower numbers", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const context = yield* Layer.build(connect(database))
      const repo = yield* Effect.provide(makeRepo, context)
      let server = "the first"
      const { watch } = yield* makeWatchedKeys({
        ...repo,
        wallets: Effect.map(repo.wallets, (look) => ({ ...look, server })),
        // Of what this server has changed, nothing has so high a number.
        walletsChangedSince: () => Effect.map(repo.wallets, (look) => ({ ...look, server, wallets: [] }))
      })
      const { has, refresh } = watch("solana", "devnet")
      const key = yield* onDatabase(database, giveOut("a", 0))
      yield* refresh
      assert.isFalse(has(key))
      server = "the one that took over"
      yield* refresh
      assert.isTrue(has(key))
    }).pipe(Effect.scoped))

  it("knows another server by its start, and by transactions whose numbers begin again", () => {
    const mark = { server: "2026-11-23", lowestRunning: 100n }
    assert.isTrue(isSameServer(mark, { server: "2026-11-23", lowestRunning: 100n }))
    assert.isFalse(isSameServer(mark, { server: "2026-11-24", lowestRunning: 200n }))
    assert.isFalse(isSameServer(mark, { server: "2026-11-23", lowestRunning: 99n }))
  })

  it.live("tells accounts everything that are asked for while another network looks", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      yield* onDatabase(database, Effect.forEach([0, 1], (index) => giveOut("a", index)))
      const context = yield* Layer.build(connect(database))
      const repo = yield* Effect.provide(makeRepo, context)
      const isReading = yield* Deferred.make<void>()
      const mayRead = yield* Deferred.make<void>()
      let isHeld = false
      const { watch, watchAccounts } = yield* makeWatchedKeys({
        ...repo,
        targetsOfWallet: (...args) =>
          Effect.suspend(() =>
            isHeld ? Effect.andThen(Deferred.succeed(isReading, undefined), Deferred.await(mayRead)) : Effect.void
          ).pipe(Effect.andThen(repo.targetsOfWallet(...args)))
      })
      const { refresh } = watch("solana", "devnet")
      yield* onDatabase(database, giveOut("a", 2))
      isHeld = true
      const looking = yield* Effect.forkChild(refresh)
      yield* Deferred.await(isReading)
      const accounts = watchAccounts("solana", "devnet")
      yield* Deferred.succeed(mayRead, undefined)
      yield* Fiber.join(looking)
      yield* refresh
      assert.sameMembers(accounts.list(0).map(({ key }) => key), [0, 1, 2].map((index) => keyOf("a", index)))
    }).pipe(Effect.scoped))
})
