/**
 * What the runtime's SQL relies on, as one suite every store driver runs: how values come back, what a transaction
 * promises, locks and notifications. A driver that passes can stand in for another.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import type { Layer } from "effect"
import { SqlClient } from "effect/sql"
import { sqlStateOf } from "../../runtime/store/StoreError.ts"
import type { Store, StoreError } from "../../runtime/Store.ts"

/** Longer than any signed 64-bit number can hold, shorter than numeric(78, 0). */
const hugeAmount = "9".repeat(78)

export const storeSuite = (name: string, store: Layer.Layer<Store, StoreError>) =>
  layer(store, { excludeTestServices: true })(`${name} store`, (it) => {
    it.effect("reads integers of 64 bits and counts as bigint, exactly", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ big: unknown; n: unknown }>`
          select ${9223372036854775807n}::bigint as big, count(*) as n from generate_series(1, 3)`
        assert.deepStrictEqual(row, { big: 9223372036854775807n, n: 3n })
      }))

    it.effect("reads numeric as text, all 78 digits", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ amount: unknown }>`select ${hugeAmount}::numeric(78, 0) as amount`
        assert.strictEqual(row?.amount, hugeAmount)
      }))

    it.effect("turns a JSON array of rows into table rows, with jsonb, text[] and numeric columns", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table rows_from_json
          (id text primary key, version bigint, data jsonb, filters text[], amount numeric(78, 0))`
        const rows = [{
          id: "a",
          version: "9007199254740993",
          data: { nested: [1, "two", null] },
          filters: ["invoice.*", "it's, \"quoted\" \\ {braces}"],
          amount: hugeAmount
        }]
        yield* sql`insert into rows_from_json
          select * from json_populate_recordset(null::rows_from_json, ${JSON.stringify(rows)}::json)`
        const [read] = yield* sql`select * from rows_from_json`
        assert.deepStrictEqual(read, { ...rows[0], version: 9007199254740993n })
      }))

    it.effect("keeps nothing of a transaction that fails, and only that much of one that fails inside another", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table kept (n int)`
        const insert = (n: number) => sql`insert into kept values (${n})`
        yield* Effect.exit(sql.withTransaction(Effect.andThen(insert(1), Effect.fail("stop"))))
        yield* sql.withTransaction(
          Effect.gen(function*() {
            yield* insert(2)
            yield* Effect.exit(sql.withTransaction(Effect.andThen(insert(3), Effect.fail("stop"))))
            yield* insert(4)
          })
        )
        const rows = yield* sql<{ n: number }>`select n from kept order by n`
        assert.deepStrictEqual(rows.map((row) => row.n), [2, 4])
      }))

    it.effect("rolls back when the fiber in a transaction is interrupted", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table interrupted (n int)`
        const inside = yield* Deferred.make<void>()
        const fiber = yield* sql`insert into interrupted values (1)`.pipe(
          Effect.andThen(Deferred.succeed(inside, undefined)),
          Effect.andThen(Effect.never),
          sql.withTransaction,
          Effect.forkChild
        )
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* sql`select n from interrupted`, [])
      }))

    it.effect("says which SQLSTATE a statement failed with", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table unique_keys (id int primary key)`
        yield* sql`insert into unique_keys values (1)`
        const error = yield* Effect.flip(sql`insert into unique_keys values (1)`)
        assert.strictEqual(sqlStateOf(error), "23505")
        assert.strictEqual(error.reason._tag, "UniqueViolation")
      }))

    it.effect("grants an advisory lock to one transaction at a time", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const take = sql<{ got: boolean }>`select pg_try_advisory_xact_lock(7, 7) as got`
        const holding = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const holder = yield* take.pipe(
          Effect.andThen(Deferred.succeed(holding, undefined)),
          Effect.andThen(Deferred.await(release)),
          sql.withTransaction,
          Effect.forkChild
        )
        yield* Deferred.await(holding)
        const [refused] = yield* sql.withTransaction(take)
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(holder)
        const [granted] = yield* sql.withTransaction(take)
        assert.deepStrictEqual([refused?.got, granted?.got], [false, true])
      }))

    it.effect("delivers notifications to a listener, in order", () =>
      Effect.gen(function*() {
        const pg = yield* PgClient.PgClient
        const queue = yield* pg.listen("conformance")
        yield* pg.notify("conformance", "one")
        yield* pg.notify("conformance", "two")
        const heard = [yield* Queue.take(queue), yield* Queue.take(queue)]
        assert.deepStrictEqual(heard.map((notification) => notification.payload), ["one", "two"])
      }))

    it.effect("starts every session with limits on statements and idle transactions, in UTC", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql`select current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle,
          current_setting('TimeZone') as zone, current_setting('transaction_isolation') as isolation`
        assert.deepStrictEqual(row, { statement: "30s", idle: "10s", zone: "UTC", isolation: "read committed" })
      }))

    it.effect("opens a new connection when the server ended the old ones", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [before] = yield* sql<{ pid: number }>`select pg_backend_pid() as pid`
        yield* Effect.exit(sql`select pg_terminate_backend(pg_backend_pid())`)
        const [after] = yield* sql<{ pid: number }>`select pg_backend_pid() as pid`.pipe(Effect.retry({ times: 3 }))
        assert.notStrictEqual(after?.pid, before?.pid)
      }))
  })
