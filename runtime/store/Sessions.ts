/**
 * Sessions of the database as the service needs them. A pooler between may drop their settings, or give the statements
 * of one connection to several sessions. Both are found at the start, because without locks that hold and statements
 * that end a payment may be credited twice or not at all.
 */
import { Effect } from "effect"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import { planSettings } from "./IndexPlans.ts"
import { StoreError } from "./StoreError.ts"

/**
 * Session settings every connection starts with. A statement longer than 30 s or a transaction idle for 10 s is a fault
 * that would hold locks, so the server ends it. Isolation and time zone are fixed because the SQL of the service relies
 * on them.
 */
export const sessionSettings = {
  statement_timeout: "30s",
  idle_in_transaction_session_timeout: "10s",
  default_transaction_isolation: "read committed",
  TimeZone: "UTC",
  ...planSettings
} as const

/** A setting as a session has it, and as it should be, both as the server writes them. */
export interface SettingReading {
  readonly name: string
  readonly actual: string
  readonly wanted: string
}

/** Statements by which a role's sessions in a database have `settings`. Pure. `role`, `database`: quoted identifiers. */
export const roleStatements = (
  role: string,
  database: string,
  settings: ReadonlyArray<Pick<SettingReading, "name" | "wanted">>
): string =>
  settings
    .map(({ name, wanted }) => `ALTER ROLE ${role} IN DATABASE ${database} SET ${name} = '${wanted}';`)
    .join(" ")

/** Reads every setting, and what the server makes of the value that it should have, which holds for the statement. */
const readSettings = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const names = Object.keys(sessionSettings)
  const values: ReadonlyArray<string> = Object.values(sessionSettings)
  const actual = yield* sql<{ name: string; actual: string; role: string; database: string }>`
    select name, current_setting(name) as actual, quote_ident(current_user) as role,
      quote_ident(current_database()) as database
    from unnest(${names}::text[]) as name`
  const wanted = yield* sql<{ name: string; wanted: string }>`
    select name, set_config(name, value, true) as wanted
    from unnest(${names}::text[], ${values}::text[]) as setting (name, value)`
  const { database = "", role = "" } = actual[0] ?? {}
  return {
    database,
    role,
    settings: actual.map(({ actual, name }): SettingReading => ({
      name,
      actual,
      wanted: wanted.find((one) => one.name === name)?.wanted ?? ""
    }))
  }
})

/**
 * Rounds of {@link keepsSession}: a pooler in transaction mode may give the same session again by chance. See
 * `test/deployment/pgbouncer.test.ts`.
 */
const sessionRounds = 3

const pidOf = (connection: SqlConnection.Connection) =>
  Effect.map(connection.executeValues("select pg_backend_pid()", []), ([row]) => row?.[0])

/**
 * Whether a connection keeps its session: the session that it has while another connection is in a transaction is the
 * one that it had before. Takes two connections of the pool.
 */
const keepsSession: Effect.Effect<boolean, SqlError.SqlError, SqlClient.SqlClient> = Effect.scoped(
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const watched = yield* sql.reserve
    for (let round = 0; round < sessionRounds; round++) {
      const before = yield* pidOf(watched)
      const after = yield* Effect.scoped(Effect.gen(function*() {
        const other = yield* sql.reserve
        yield* other.executeRaw("begin", [])
        yield* pidOf(other)
        return yield* Effect.ensuring(pidOf(watched), Effect.ignore(other.executeRaw("rollback", [])))
      }))
      if (before !== after) return false
    }
    return true
  })
)

/** Fails where sessions lack a setting, or where a pooler changes the session below a connection. */
export const checkSessions = (
  where: string
): Effect.Effect<void, StoreError | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const { database, role, settings } = yield* readSettings
    const wrong = settings.filter(({ actual, wanted }) => actual !== wanted)
    if (wrong.length > 0) {
      return yield* new StoreError({
        what: `Sessions at ${where} lack settings: ${
          wrong.map(({ actual, name, wanted }) => `${name} is '${actual}', not '${wanted}'`).join(", ")
        }.`,
        hint:
          `Run ${roleStatements(role, database, settings)} Then end the pooler's sessions (pgbouncer: RECONNECT), and `
          + "start again."
      })
    }
    if (yield* keepsSession) return
    return yield* new StoreError({
      what: `A pooler at ${where} gives one connection the sessions of several, so that locks, notifications and `
        + "settings do not hold.",
      hint: "Use session pooling (pgbouncer: pool_mode = session), or the server's own address in store.options.url."
    })
  })
