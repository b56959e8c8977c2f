/** The entries of the audit log, and the end of each merchant's chain. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["audit_entries", "audit_chains"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids hold a UUID of version 7, so the primary key is the order of the list.
    yield* sql`CREATE TABLE audit_entries (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      actor text NOT NULL,
      action text NOT NULL,
      subject json NOT NULL,
      before json NOT NULL,
      after json NOT NULL,
      request_id text,
      created_at bigint NOT NULL,
      -- Its place in the merchant's chain, from 1; null until it is chained.
      chain_place bigint CHECK (chain_place > 0),
      previous_hash text,
      hash text,
      PRIMARY KEY (merchant_id, id),
      CHECK ((chain_place IS NULL) = (hash IS NULL) AND (chain_place IS NULL) = (previous_hash IS NULL))
    )`
    // The list reads the entries of one environment, newest first.
    yield* sql`CREATE INDEX audit_entries_newest ON audit_entries (merchant_id, environment, id)`
    // Filtered by who acted: whoever may not read the whole log reads its own entries.
    yield* sql`CREATE INDEX audit_entries_by_actor ON audit_entries (merchant_id, environment, actor, id)`
    // Filtered by what was changed, in the same order.
    yield* sql`CREATE INDEX audit_entries_by_subject ON audit_entries (merchant_id, (subject ->> 'id'), id)`
    yield* sql`CREATE UNIQUE INDEX audit_entries_by_place ON audit_entries (merchant_id, chain_place)`
    yield* sql`CREATE INDEX audit_entries_unchained ON audit_entries (id) WHERE chain_place IS NULL`
    // The last entry of each chain. Its version lets one process at a time go on with a chain.
    yield* sql`CREATE TABLE audit_chains (
      merchant_id integer NOT NULL PRIMARY KEY,
      version bigint NOT NULL,
      chain_place bigint NOT NULL,
      hash text NOT NULL
    )`
  })
}
