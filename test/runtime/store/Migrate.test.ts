import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, References } from "effect"
import { SqlClient } from "effect/sql"
import { migrate, plan } from "../../../runtime/Migrate.ts"
import type { Migrations } from "../../../runtime/Plugin.ts"
import { connect, emptyDatabase } from "../../support/Database.ts"
import type { TestDatabase } from "../../support/Database.ts"

const statement = (text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text))

/** Two statements a step, so that there is a half-way; the second step needs the first. */
const steps: Migrations = {
  "0001_create": Effect.andThen(statement("create table ledger (n int)"), statement("insert into ledger values (1)")),
  "0002_fill": Effect.andThen(statement("insert into ledger values (2)"), statement("insert into ledger values (3)"))
}

/** An independent instance of the service: its own pool. */
const on = <A, E>(database: TestDatabase, work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(work, connect(database), { local: true }).pipe(
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )

const ledger = (database: TestDatabase) =>
  on(database, Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ n: number }>`select n from ledger order by n`)).pipe(
    Effect.map((rows) => rows.map((row) => row.n))
  )

describe("migrate", () => {
  it.live("runs each step once, also when it is called again", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      yield* on(database, migrate("ledger", steps))
      yield* on(database, migrate("ledger", steps))
      assert.deepStrictEqual(yield* ledger(database), [1, 2, 3])
    }))

  it.live("lets instances that start at once all succeed, and runs each step once", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      yield* Effect.forEach([1, 2, 3, 4], () => on(database, migrate("ledger", steps)), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* ledger(database), [1, 2, 3])
    }))

  it.live("completes on the next run, wherever it was cut off", () =>
    Effect.gen(function*() {
      for (const cutAfter of ["create table", "insert into ledger values (1)", "values (2)", "values (3)"]) {
        const database = yield* emptyDatabase
        const reached = yield* Deferred.make<void>()
        const cut = cutting(steps, cutAfter, reached)
        const first = yield* Effect.forkChild(on(database, migrate("ledger", cut)))
        yield* Deferred.await(reached)
        // What kill -9 looks like to the server: the session is gone in the middle of the transaction.
        yield* on(
          database,
          statement(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`)
        )
        yield* Fiber.interrupt(first)
        yield* on(database, migrate("ledger", steps))
        assert.deepStrictEqual(yield* ledger(database), [1, 2, 3], `cut after ${cutAfter}`)
      }
    }))

  it.live("keeps nothing of a step that fails, and says which one and why", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      const wrong = { ...steps, "0002_fill": Effect.andThen(steps["0002_fill"]!, statement("select no_such_column")) }
      const error = yield* Effect.flip(on(database, migrate("ledger", wrong)))
      assert.include(error.message, "0002_fill")
      assert.include(error.message, "no_such_column")
      assert.deepStrictEqual(yield* ledger(database), [1])
    }))

  it.live("refuses a database that a newer build has migrated, and changes nothing", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      yield* on(database, migrate("ledger", { ...steps, "0003_newer": statement("select 1") }))
      const exit = yield* Effect.exit(on(database, migrate("ledger", steps)))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "0003_newer, which this build does not know")
    }))

  it.live("keeps the records of plugins apart, whatever their names", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      yield* on(database, migrate("ledger", steps))
      yield* on(database, migrate("@acme/Till-slack", { "0001_own": statement("create table own (n int)") }))
      const rows = yield* on(database, statement("select name from migrations__acme_till_slack"))
      assert.deepStrictEqual(rows, [{ name: "0001_own" }])
    }))

  it.effect("plans forward only: a step put before one that ran is refused", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(plan(["0002_b", "0001_a"], ["0001_a"]), { pending: [{ id: 2, name: "0002_b" }] })
      assert.property(plan(["0001_a", "0002_b"], ["0002_b"]), "what")
      assert.property(plan(["0001_a", "0001_b"], []), "what")
      assert.property(plan(["first"], []), "what")
    }))
})

/** The same steps, which stand still for ever after the statement that contains `after`. */
const cutting = (of: Migrations, after: string, reached: Deferred.Deferred<void>): Migrations => {
  const pause = Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
  return {
    "0001_create": after === "create table"
      ? Effect.andThen(statement("create table ledger (n int)"), pause)
      : after.includes("(1)")
      ? Effect.andThen(of["0001_create"]!, pause)
      : of["0001_create"]!,
    "0002_fill": after === "values (2)"
      ? Effect.andThen(statement("insert into ledger values (2)"), pause)
      : Effect.andThen(of["0002_fill"]!, pause)
  }
}
