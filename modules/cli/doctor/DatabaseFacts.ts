/** What a PostgreSQL of the operator's own is like, without changing anything in it. */
import { Clock, Effect, type FileSystem, Logger, type Path } from "effect"
import { SqlClient } from "effect/sql"
import type { LoadedConfig, SelectedStore } from "../../../runtime/Config.ts"
import {
  explainConnection,
  locationOf,
  objection,
  pool,
  type PostgresOptions
} from "../../../runtime/store/Postgres.ts"
import { examineReplica } from "../../../runtime/store/Replica.ts"
import { checkSessions } from "../../../runtime/store/Sessions.ts"
import { examineContents } from "./DatabaseContents.ts"
import { fail, type Finding, ok, skewFailSeconds, skewWarnSeconds, warn } from "./Findings.ts"

const check = "database"

export interface DatabaseFacts {
  readonly version: number
  readonly version_text: string
  readonly encoding: string
  readonly standby: boolean
  /** Whether a commit that was answered survives a crash. */
  readonly durable: boolean
  /** Whether the role may make tables. */
  readonly may_create: boolean
  /** Connections that the server takes from such a role, and those that are open. */
  readonly connections: number
  readonly used: number
  /** Epoch milliseconds of its clock. */
  readonly now_millis: number
}

/** Judges a server by its facts. `skewSeconds`: how far its clock is ahead of this machine's. Pure. */
export const databaseFindings = (
  where: string,
  facts: DatabaseFacts,
  maxConnections: number,
  skewSeconds: number
): ReadonlyArray<Finding> => {
  const fault = objection(facts)
  if (fault !== undefined) return [fail(check, fault.what, fault.hint)]
  const findings: ReadonlyArray<Finding> = [
    ...(facts.may_create ? [] : [fail(
      check,
      "The role may not make tables in the database's schema, so a start or an update fails.",
      "Run as its owner: GRANT CREATE, USAGE ON SCHEMA public TO <role>."
    )]),
    ...(facts.durable ? [] : [warn(
      check,
      "It runs with fsync or synchronous_commit off: its crash loses acknowledged payments.",
      "Set both to on in postgresql.conf, then SELECT pg_reload_conf()."
    )]),
    ...(facts.connections - facts.used >= maxConnections ? [] : [warn(
      check,
      `${facts.used} of its ${facts.connections} connections are open, and the service may need ${maxConnections}.`,
      "Raise its max_connections, or lower store.options.maxConnections."
    )]),
    ...(Math.abs(skewSeconds) <= skewWarnSeconds ? [] : [
      (Math.abs(skewSeconds) <= skewFailSeconds ? warn : fail)(
        "database clock",
        `Its clock is ${Math.round(Math.abs(skewSeconds))} s ${
          skewSeconds > 0 ? "ahead" : "behind"
        } of this machine's.`,
        "Turn on time synchronisation on both machines: timedatectl set-ntp true, or chrony."
      )
    ])
  ]
  return findings.length > 0 ? findings : [ok(check, `PostgreSQL ${facts.version_text} at ${where}.`)]
}

const readFacts = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [facts] = yield* sql<DatabaseFacts>`
    SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS version_text,
      current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
      current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS durable,
      has_schema_privilege(current_schema(), 'CREATE') AS may_create,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used,
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_millis`
  return facts!
})

const replicaCheck = "replica"

/** Bytes that a replica may be behind: more than this and reads have long been going to the primary. */
const farBehindBytes = 16 * 1024 ** 2

/** What is to say of a replica by the bytes that it is behind; null: it shows nothing yet. Pure. */
export const replicaFinding = (where: string, bytes: number | null): Finding =>
  bytes !== null && bytes < farBehindBytes
    ? ok(replicaCheck, `A standby at ${where}, ${bytes} bytes behind.`)
    : warn(
      replicaCheck,
      bytes === null
        ? `The standby at ${where} shows nothing yet.`
        : `The standby at ${where} is ${Math.round(bytes / 1024 ** 2)} MiB behind: reads go to the primary.`,
      "Look at pg_stat_replication on the primary and at the standby's log: is it connected, and is its replay paused?"
    )

const replicaFindings = (options: PostgresOptions): Effect.Effect<ReadonlyArray<Finding>> => {
  const { replica } = options
  if (replica === undefined) return Effect.succeed([])
  return Effect.match(examineReplica(options, replica), {
    onFailure: ({ hint, what }) => [warn(replicaCheck, what, hint)],
    onSuccess: (bytes) => [replicaFinding(locationOf(replica.url), bytes)]
  })
}

const examinePostgres = Effect.fnUntraced(function*(
  config: LoadedConfig,
  { options }: Extract<SelectedStore, { readonly use: "postgres" }>
) {
  const where = locationOf(options.url)
  return yield* Effect.gen(function*() {
    // The first statement opens the connection, which may take long: the clocks are compared by the second one.
    yield* readFacts
    const before = yield* Clock.currentTimeMillis
    const facts = yield* readFacts
    const after = yield* Clock.currentTimeMillis
    if (objection(facts) === undefined) yield* checkSessions(where)
    const skewSeconds = (facts.now_millis - (before + after) / 2) / 1000
    return [
      ...databaseFindings(where, facts, options.maxConnections, skewSeconds),
      ...(objection(facts) === undefined ? yield* replicaFindings(options) : []),
      ...(yield* examineContents(config))
    ]
  }).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(explainConnection(error, where))),
    Effect.provide(pool({ url: options.url }, where, { ...options, maxConnections: 2 })),
    Effect.catchTag("StoreError", ({ hint, what }) => Effect.succeed([fail(check, what, hint)]))
  )
})

/** Looks at the server that the config names; the embedded one starts with the service. */
export const examineDatabase = (
  config: LoadedConfig
): Effect.Effect<ReadonlyArray<Finding>, never, FileSystem.FileSystem | Path.Path> =>
  config.store.use === "postgres"
    ? Effect.provide(examinePostgres(config, config.store), Logger.layer([]))
    : Effect.succeed([ok(check, "embedded: it runs inside the service")])
