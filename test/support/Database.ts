/**
 * Databases for tests: each one is a fresh copy of a template that the run's server was given (the runtime's own tables
 * or those of all, no rows), dropped when its scope closes.
 */
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Redacted } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { sessionSettings } from "../../runtime/store/Sessions.ts"

/** The run's server; `host` is a directory when it listens on a unix socket only. */
export interface TestServer {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password?: string
}

export interface TestDatabase extends TestServer {
  readonly database: string
  /** The same as one connection string, for processes the test starts. */
  readonly url: string
}

declare module "vitest" {
  interface ProvidedContext {
    readonly testServer: TestServer
  }
}

/** Databases made by globalSetup: migrations applied, no rows, never connected to. The runtime's, and every module's. */
export const template = "till_template"
export const fullTemplate = "till_full_template"

/** Connections a pool of a test may open; the server takes 300 in all. */
const poolSize = 10

/** A connection string. */
export const urlOf = (server: TestServer, database: string) => {
  const password = server.password === undefined ? "" : `:${encodeURIComponent(server.password)}`
  const host = encodeURIComponent(server.host)
  return `postgresql://${server.username}${password}@${host}:${server.port}/${database}`
}

/** A pool of its own on a database: build it twice (`Layer.fresh`) for two independent pools. */
export const connect = (
  database: TestServer & { readonly database: string },
  applicationName = "tillwire test"
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, SqlError.SqlError> =>
  PgClient.layer({
    host: database.host,
    port: database.port,
    username: database.username,
    ...(database.password === undefined ? {} : { password: Redacted.make(database.password) }),
    database: database.database,
    maxConnections: poolSize,
    applicationName,
    // A leap of a test's virtual clock would otherwise end a connection that is being opened.
    connectTimeout: Duration.infinity,
    startupParameters: sessionSettings
  })

const onServer = (
  server: TestServer,
  statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>
) =>
  Effect.flatMap(SqlClient.SqlClient, statement).pipe(
    Effect.provide(connect({ ...server, database: "postgres" }), { local: true }),
    Effect.orDie
  )

const create = (server: TestServer, from: string): Effect.Effect<TestDatabase, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const database = `test_${randomBytes(8).toString("hex")}`
      return Effect.as(
        onServer(server, (sql) => sql`create database ${sql(database)} template ${sql(from)} strategy file_copy`),
        { ...server, database, url: urlOf(server, database) }
      )
    }),
    ({ database }) => onServer(server, (sql) => sql`drop database ${sql(database)} with (force)`)
  )

/** A new database with the runtime's tables; dropped with its scope, whoever is still connected. */
export const freshDatabase: Effect.Effect<TestDatabase, never, Scope.Scope> = Effect.suspend(() =>
  create(inject("testServer"), template)
)

/**
 * A new database with the tables of the runtime and of every module, no rows: what a service leaves that started once,
 * and 0.5 s of processor time cheaper to start it on than an empty one.
 */
export const migratedDatabase: Effect.Effect<TestDatabase, never, Scope.Scope> = Effect.suspend(() =>
  create(inject("testServer"), fullTemplate)
)

/** A new database without any table: for tests of the migrations themselves. */
export const emptyDatabase: Effect.Effect<TestDatabase, never, Scope.Scope> = Effect.suspend(() =>
  create(inject("testServer"), "template0")
)

/** A pool on a database of its own, made when the layer is built and dropped when it is torn down. */
export const databaseLayer: Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, SqlError.SqlError> = Layer.unwrap(
  Effect.map(freshDatabase, connect)
)

/** The same with the tables of every module. */
export const migratedLayer: typeof databaseLayer = Layer.unwrap(Effect.map(migratedDatabase, connect))
