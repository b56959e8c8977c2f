/**
 * Sessions of the database as the service needs them. A pooler between may drop their settings, or give the statements
 * of one connection to several sessions. Both are found at the start, because without locks that hold and statements
 * that end a payment may be credited twice or not at all.
 */
import { Effect, Option } from "effect"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import type { Finding } from "../telemetry/HealthReport.ts"
import { planSettings } from "./IndexPlans.ts"
import { SessionRenewal, toldPid } from "./SessionPool.ts"
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
 * `test/deployment/pgbouncer.long.test.ts`.
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

/** How often health asks whether connections still keep their sessions, and how long it waits for the answer. */
const watchMillis = 10_000
const answerMillis = 1_000

/** Looks in a row that find sessions kept before they count as kept again: one may find so by chance. */
const looksUntilKept = 3

/** Whether a pooler is in between: it tells connections other numbers than their sessions have. */
const isPooled = Effect.scoped(
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const connection = yield* sql.reserve
    return toldPid(connection) !== (yield* pidOf(connection))
  })
)

/**
 * What health says of the sessions. A pooler may be told while the service runs to give the statements of one
 * connection to several sessions. Once it keeps them again, every session of that time is closed: it may lack the locks
 * and the notifications that its connection believes in, or have those of others.
 */
export const makeSessionWatch = (
  where: string,
  everyMillis = watchMillis
): Effect.Effect<
  Effect.Effect<ReadonlyArray<Finding>>,
  never,
  SqlClient.SqlClient | SessionRenewal
> =>
  Effect.gen(function*() {
    const services = yield* Effect.context<SqlClient.SqlClient>()
    const { renewSessions } = yield* SessionRenewal
    const keepsSessions = Effect.flatMap(isPooled, (pooled) => pooled ? keepsSession : Effect.succeed(true)).pipe(
      Effect.provideContext(services)
    )
    let isKept = true
    let keptLooks = 0
    let askedAtMillis = -Infinity
    const finding: Finding = {
      effect: "degraded",
      message: `A pooler at ${where} now gives one connection the sessions of several: locks, notifications and `
        + "settings do not hold, and requests may fail. Set it back to session pooling (pgbouncer: pool_mode = session, "
        + "then RELOAD and RECONNECT)."
    }
    return Effect.gen(function*() {
      const now = yield* monotonicMillis
      // While it is wrong each look asks, so that its end is seen at once.
      if (!isKept || now - askedAtMillis >= everyMillis) {
        askedAtMillis = now
        const isFoundKept = yield* Effect.timeoutOption(keepsSessions, answerMillis)
        keptLooks = Option.getOrElse(isFoundKept, () => false) ? keptLooks + 1 : 0
        if (isKept && Option.contains(isFoundKept, false)) {
          isKept = false
          yield* Effect.logError(finding.message)
        } else if (!isKept && keptLooks === looksUntilKept) {
          isKept = true
          yield* Effect.logWarning("The pooler keeps sessions again: those of before are closed")
          yield* renewSessions
        }
      }
      return isKept ? [] : [finding]
    }).pipe(
      // A database that does not answer has a check of its own.
      Effect.catchTag("SqlError", () => Effect.succeed(isKept ? [] : [finding]))
    )
  })
