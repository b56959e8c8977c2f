/**
 * The store port: where all state lives. Every implementation is a PostgreSQL reached by one driver, `@effect/sql-pg`,
 * so the SQL above it is written once. The config file picks one: `"store": { "use": "embedded" }`.
 */
import type { PgClient } from "@effect/sql-pg"
import type { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment } from "../schemas/Network.ts"
import * as Embedded from "./store/Embedded.ts"
import * as Postgres from "./store/Postgres.ts"
import type { StoreError } from "./store/StoreError.ts"
import type { StoreGuard } from "./store/StoreGuard.ts"

export { StoreError } from "./store/StoreError.ts"
export { StoreGuard } from "./store/StoreGuard.ts"

/**
 * What a store gives: `SqlClient` for all statements, `PgClient` for `LISTEN`, and `StoreGuard`, which the entry point
 * must watch. The pool opens connections when they are needed and replaces broken ones, so a database that comes back
 * is used again without a restart.
 */
export type Store = SqlClient.SqlClient | PgClient.PgClient | StoreGuard

/** Schemas of each store's `options`, decoded by the boot before any IO. */
export const storeOptions = {
  embedded: Embedded.EmbeddedOptions,
  postgres: Postgres.PostgresOptions
} as const

export type StoreName = keyof typeof storeOptions

export interface StoreOptions {
  readonly embedded: Embedded.EmbeddedOptions
  readonly postgres: Postgres.PostgresOptions
}

/**
 * The picked store, ready: reachable, of a supported version, and (embedded) held by this process alone.
 *
 * `dataDirectory` is the absolute path of `data.directory`, `environments` are those that are served; `postgres` uses
 * neither.
 * Fails with `StoreError`: what happened and what to do.
 */
export const storeLayer = <Name extends StoreName>(
  use: Name,
  options: StoreOptions[Name],
  dataDirectory: string,
  environments: ReadonlyArray<Environment>
): Layer.Layer<Store, StoreError> => drivers[use](options, dataDirectory, environments)

const drivers: {
  readonly [Name in StoreName]: (
    options: StoreOptions[Name],
    dataDirectory: string,
    environments: ReadonlyArray<Environment>
  ) => Layer.Layer<Store, StoreError>
} = {
  embedded: Embedded.layer,
  postgres: (options) => Postgres.layer(options)
}
