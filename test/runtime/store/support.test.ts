import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { connect, databaseLayer, freshDatabase } from "../../support/Database.ts"

layer(databaseLayer)("a test database", (it) => {
  it.effect("holds the runtime's tables, and no rows", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ n: bigint }>`select count(*) n from events`
      assert.strictEqual(row?.n, 0n)
    }))

  it.effect("takes several independent pools", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const name = Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ name: string; pid: number }>`select current_database() name, pg_backend_pid() pid`
        return row
      })
      const one = yield* Effect.provide(name, connect(database), { local: true })
      const two = yield* Effect.provide(name, connect(database), { local: true })
      assert.strictEqual(one?.name, database.database)
      assert.strictEqual(two?.name, database.database)
      assert.notStrictEqual(one?.pid, two?.pid)
    }))
})
