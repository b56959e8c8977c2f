/** Brings a set of tables to the version this build knows: forward only, once, whoever else starts at the same time. */
import { Array as Arr, Effect, Order } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "./Plugin.ts"
import { advisoryLock, lockSpace } from "./store/Locks.ts"
import { databaseMessage, sqlStateOf, StoreError } from "./store/StoreError.ts"

/** A single step may rewrite a big table; longer than this is a fault. */
const stepTimeout = "10min"

/** A step that waits for a table blocks every statement queued behind it, so it gives up and tries again. */
const tableLockTimeout = "5s"
const tableLockRetries = 5

/** PostgreSQL cuts longer names off, which would let two plugins share one table. */
const tableNameBytes = 63

interface Step {
  readonly id: number
  readonly name: string
}

const stepPattern = /^(\d{4})_[a-z0-9_]+$/

/**
 * The steps still to run, in order, or why the database and this build do not fit together.
 *
 * `knownSteps` are this build's step names (`0001_initial`), `appliedSteps` those the database recorded. Total.
 */
export const plan = (
  knownSteps: ReadonlyArray<string>,
  appliedSteps: ReadonlyArray<string>
): { readonly pending: ReadonlyArray<Step> } | Pick<StoreError, "what" | "hint"> => {
  const steps = knownSteps.map((name) => ({ id: Number.parseInt(stepPattern.exec(name)?.[1] ?? "0", 10), name }))
  const wrong = steps.find(({ id }, at) => id === 0 || steps.findIndex((other) => other.id === id) !== at)
  if (wrong !== undefined) {
    return {
      what: `Migration ${wrong.name} has no number of its own.`,
      hint: "Name steps 0001_<lower_case>, each with its own number."
    }
  }
  const sorted = Arr.sort(steps, Order.mapInput(Order.Number, (step: Step) => step.id))
  const sortedApplied = Arr.sort(appliedSteps, Order.String)
  const unknown = sortedApplied.find((name) => !knownSteps.includes(name))
  if (unknown !== undefined) {
    return {
      what: `The database holds migration ${unknown}, which this build does not know.`,
      hint: "It was written by a newer or a different version: start that version, or restore a backup made before it."
    }
  }
  const pending = sorted.filter(({ name }) => !sortedApplied.includes(name))
  const outOfOrder = pending.find(({ name }) => name < (sortedApplied.at(-1) ?? ""))
  if (outOfOrder !== undefined) {
    return {
      what: `Migration ${outOfOrder.name} comes before ${sortedApplied.at(-1)}, which the database already holds.`,
      hint: "Migrations only go forward: give the new step the next free number."
    }
  }
  return { pending }
}

const tableOf = (name: string) => `migrations_${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}`

/**
 * Runs the steps of `migrations` the database does not hold yet and records them in `migrations_<name>` (letters and
 * digits of `name`, lower case, the rest `_`).
 *
 * Each step is one transaction together with its record, under one advisory lock: killed at any statement, a rerun
 * completes; started twice at once, each step still runs once and both callers succeed. So a step cannot use
 * `create index concurrently`. Limits: 10 minutes a step; 5 s for each table lock, tried 6 times.
 * Fails with `StoreError` when a step fails, or the database holds steps this build does not know.
 */
export const migrate = Effect.fn("migrate")(
  function*(name: string, migrations: Migrations): Effect.fn.Return<void, StoreError, SqlClient.SqlClient> {
    const sql = yield* SqlClient.SqlClient
    const table = tableOf(name)
    if (table.length > tableNameBytes) {
      return yield* new StoreError({ what: `The name ${name} is too long.`, hint: "Use at most 52 characters." })
    }
    const setLocal = (setting: string, value: string) => sql`select set_config(${setting}, ${value}, true)`

    const lockMigrations = sql`select pg_advisory_xact_lock(${lockSpace}, ${advisoryLock.migrations})`

    const readPending = Effect.gen(function*() {
      yield* sql`create table if not exists ${sql(table)} (
        name text primary key, applied_at timestamptz not null default now())`
      const applied = yield* sql<{ name: string }>`select name from ${sql(table)}`
      const result = plan(Object.keys(migrations), applied.map((row) => row.name))
      return "pending" in result ? result.pending : yield* new StoreError(result)
    })

    /** Runs the earliest pending step, if any; says whether there was one. */
    const step = Effect.gen(function*() {
      yield* setLocal("statement_timeout", stepTimeout)
      yield* lockMigrations
      const [next] = yield* readPending
      if (next === undefined) return false
      yield* setLocal("lock_timeout", tableLockTimeout)
      yield* Effect.logInfo(`migrating ${name}: ${next.name}`)
      yield* (migrations[next.name] ?? Effect.void).pipe(
        Effect.mapError((cause) => migrationError(name, next.name, cause))
      )
      yield* sql`insert into ${sql(table)} ${sql.insert({ name: next.name })}`
      return true
    })

    yield* sql.withTransaction(step).pipe(
      Effect.retry({ times: tableLockRetries, while: (error) => isLockTimeout(error) }),
      Effect.mapError((error) => error._tag === "StoreError" ? error : migrationError(name, table, error)),
      Effect.repeat({ while: (more) => more })
    )
  }
)

/** What a database holds of a set of migrations, and what is still to run. Changes nothing. */
export const readMigrationState = Effect.fnUntraced(function*(name: string, migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const table = tableOf(name)
  const found = yield* sql<{ exists: boolean }>`select to_regclass(${table}) is not null as exists`
  const applied = found[0]?.exists === true
    ? yield* sql<{ name: string }>`select name from ${sql(table)} order by name`
    : []
  const result = plan(Object.keys(migrations), applied.map((row) => row.name))
  if (!("pending" in result)) return yield* new StoreError(result)
  return {
    name,
    applied: applied.map((row) => row.name),
    pending: result.pending.map((step) => step.name)
  }
})

/** 55P03: a table lock was not granted in time; the step was rolled back and can run again. */
const isLockTimeout = (error: unknown) => sqlStateOf(error instanceof StoreError ? error.cause : error) === "55P03"

const migrationError = (name: string, step: string, cause: unknown) =>
  new StoreError({
    what: `Migrating ${name} failed at ${step}: ${databaseMessage(cause)}.`,
    hint: "The step was rolled back and nothing is half done: fix the cause and start again.",
    cause
  })
