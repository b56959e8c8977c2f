/** The table of receiving wallets: one row a merchant, environment and family; a removed one keeps its row, empty. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["receiving_wallets"] as const

/** No check lists families or networks, so that a new one needs no step. */
export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE receiving_wallets (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      family text NOT NULL,
      version bigint NOT NULL,
      id text,
      kind text CHECK (kind IN ('xpub', 'address', 'pool')),
      value text,
      start_index bigint,
      created_at bigint,
      PRIMARY KEY (merchant_id, environment, family),
      CHECK (num_nulls(id, kind, value, start_index, created_at) IN (0, 5))
    )`
  })
}
