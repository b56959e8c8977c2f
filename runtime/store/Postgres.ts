/** The `postgres` store: any PostgreSQL from 15 on, by URL. */
import type { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { layerOf, type SessionRenewal } from "./SessionPool.ts"
import { checkSessions, makeSessionWatch, sessionSettings } from "./Sessions.ts"
import { databaseMessage, sqlStateOf, StoreError } from "./StoreError.ts"
import { StoreGuard } from "./StoreGuard.ts"

/** Oldest PostgreSQL the SQL of this service is tested on; the first with `MERGE` and per-table `CREATE` grants. */
const minimumMajor = 15

/** Connections of one pool; more only queue on the server's processors. */
const defaultConnections = 10
const maximumConnections = 200

/** Half of what a caller is ready to wait for a write, so that one retry still fits. */
const connectTimeout = Duration.seconds(3)

/** Idle time before TCP asks whether the server still lives; the driver then gives up after 10 probes, one a second. */
const keepAlive = Duration.seconds(5)

/** How long the boot waits for a server that is not reachable or still starting, as when both start together. */
const bootPatience = Duration.seconds(15)
const bootRetry = Duration.millis(250)

export const maxConnectionsOption = (maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum: 2, maximum })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(defaultConnections))
  )

const databaseUrl = Schema.RedactedFromValue(
  Schema.String.check(
    Schema.isPattern(/^postgres(ql)?:\/\/./, { expected: "postgresql://user:password@host/database" })
  )
)

export const PostgresOptions = Schema.Struct({
  /**
   * `postgresql://user:password@host:5432/database?sslmode=require`. TLS certificates are always verified; trust a
   * private authority by `NODE_EXTRA_CA_CERTS`. Through a pooler only where each connection keeps its session, as with
   * pgbouncer's `pool_mode = session`: the start is refused otherwise.
   */
  url: databaseUrl,
  /** Size of the pool, 2 to 200. Default 10. */
  maxConnections: maxConnectionsOption(maximumConnections),
  /**
   * Who gives each session its settings. `connection`: the service, as it connects. `role`: the role of the URL has
   * them in the database, for poolers that refuse settings of a connection; the start names the statements. Default
   * `connection`.
   */
  sessionSettings: Schema.Literals(["connection", "role"]).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("connection" as const))
  ),
  /**
   * A streaming standby of the database, which answers totals, reports, exports, searches and the pages of lists behind
   * the first, as long as it shows everything that the primary does. While it does not, the primary answers.
   */
  replica: Schema.optionalKey(Schema.Struct({
    /** As `url`: another address, the same database. */
    url: databaseUrl,
    /** Size of its own pool, 2 to 200. Default 10. */
    maxConnections: maxConnectionsOption(maximumConnections)
  }))
})
export type PostgresOptions = typeof PostgresOptions.Type

/** Where a server is: by URL, or (`host` a directory) by its unix socket. */
export type Address = Pick<PgClient.PgClientConfig, "url" | "host" | "username" | "database">

/**
 * A failed connection attempt as an operator reads it. Never shows the URL: it holds a password. `options`: where the
 * config has it.
 */
export const explainConnection = (
  error: SqlError.SqlError,
  where: string,
  options = "store.options"
): StoreError => {
  const message = databaseMessage(error)
  const fail = (what: string, hint: string) => new StoreError({ what, hint, cause: error })
  const state = sqlStateOf(error)
  if (state !== undefined && state.startsWith("28")) {
    return fail(
      `PostgreSQL at ${where} refused the login: ${message}.`,
      `Check user and password in ${options}.url.`
    )
  }
  switch (state) {
    case "3D000":
      return fail(
        `PostgreSQL at ${where} has no such database: ${message}.`,
        `Create it, or correct ${options}.url.`
      )
    case "53300":
      return fail(
        `PostgreSQL at ${where} has no free connection: ${message}.`,
        `Raise its max_connections, or lower ${options}.maxConnections.`
      )
    case "08P01":
      return fail(
        `The pooler at ${where} refuses the settings of a session: ${message}.`,
        `Set "sessionSettings": "role" in store.options; the next start says what the role needs. Do not let the pooler `
          + "ignore them: statements would lose their limit of time and their plans."
      )
    default:
      return fail(
        `PostgreSQL at ${where} cannot be reached: ${message}.`,
        `Check host, port and sslmode in ${options}.url, and that the server is running.`
      )
  }
}

export type PoolOptions =
  & Pick<PostgresOptions, "maxConnections">
  & Partial<Pick<PostgresOptions, "sessionSettings">>

/** A pool of sessions with {@link sessionSettings}. Opens no connection until one is needed. `where` names it in errors. */
export const pool = (
  address: Address,
  where: string,
  { maxConnections, sessionSettings: source = "connection" }: PoolOptions,
  applicationName = "tillwire"
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient | SessionRenewal, StoreError> =>
  layerOf(
    {
      ...address,
      maxConnections,
      connectTimeout,
      keepAlive,
      applicationName,
      ...(source === "connection" ? { startupParameters: sessionSettings } : {})
    },
    (error) => explainConnection(error, where)
  )

/** Not there yet: the address does not answer, or the server says it is starting (57P03). */
const isStarting = (error: SqlError.SqlError) =>
  sqlStateOf(error) === "57P03" || (error.reason._tag === "ConnectionError" && sqlStateOf(error) === undefined)

interface ServerFacts {
  readonly version: number
  readonly version_text: string
  readonly encoding: string
  readonly standby: boolean
  readonly durable: boolean
}

/** Why this server cannot hold the service's state, or nothing. Version numbers: 150004 is 15.4. */
export const objection = (facts: Omit<ServerFacts, "durable">): Pick<StoreError, "what" | "hint"> | undefined => {
  if (facts.version < minimumMajor * 10_000) {
    return {
      what: `PostgreSQL ${facts.version_text} is too old.`,
      hint: `Use version ${minimumMajor} or later, or "store": { "use": "embedded" }.`
    }
  }
  if (facts.encoding !== "UTF8") {
    return {
      what: `The database's encoding is ${facts.encoding}.`,
      hint: "Create it anew: create database … encoding 'UTF8' template template0."
    }
  }
  if (facts.standby) {
    return { what: "The server is a read-only standby.", hint: "Give the primary's address in store.options.url." }
  }
  return undefined
}

const checkServer = (where: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [facts] = yield* sql<ServerFacts>`
      select current_setting('server_version_num')::int as version, current_setting('server_version') as version_text,
        current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby,
        current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable`.pipe(
      Effect.retry({
        while: isStarting,
        schedule: Schedule.spaced(bootRetry).pipe(Schedule.upTo({ duration: bootPatience }))
      }),
      Effect.mapError((error) => explainConnection(error, where))
    )
    const fault = facts === undefined ? undefined : objection(facts)
    if (fault !== undefined) return yield* new StoreError(fault)
    yield* checkSessions(where).pipe(
      Effect.catchTag("SqlError", (error) => Effect.fail(explainConnection(error, where)))
    )
    if (facts?.durable === false) {
      yield* Effect.logWarning(
        "this PostgreSQL runs with fsync or synchronous_commit off: its crash loses acknowledged payments"
      )
    }
  })

/** Host, port and database of a URL, without user and password; fit for logs. */
export const locationOf = (url: Redacted.Redacted<string>): string => {
  const parsed = URL.parse(Redacted.value(url))
  return parsed === null ? "store.options.url" : `${decodeURIComponent(parsed.host)}${parsed.pathname}`
}

/**
 * A pool on the server behind `url`, checked once: version, encoding, that it takes writes, and its sessions. Sessions
 * are named `applicationName`, by default `tillwire`.
 */
export const layer = (
  options: PostgresOptions,
  applicationName?: string
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient | SessionRenewal | StoreGuard, StoreError> => {
  const where = locationOf(options.url)
  const guard = Layer.effect(
    StoreGuard,
    Effect.map(makeSessionWatch(where), (findings) => ({ awaitLoss: Effect.never, findings }))
  )
  return Layer.merge(Layer.effectDiscard(checkServer(where)), guard).pipe(
    Layer.provideMerge(pool({ url: options.url }, where, options, applicationName))
  )
}
