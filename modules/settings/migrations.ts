/** What merchants chose, one row per environment; a merchant that chose nothing has none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["merchant_settings"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE merchant_settings (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      version bigint NOT NULL,
      choices json NOT NULL,
      -- Higher limits that wait; null: none do.
      proposal json,
      -- When they come into force; null: never by time alone.
      due_at bigint,
      -- What is known of the domain that the choices name; null: they name none.
      domain_state json,
      -- When it is checked next; null: never.
      domain_due_at bigint,
      PRIMARY KEY (merchant_id, environment)
    )`
    yield* sql`CREATE INDEX merchant_settings_due ON merchant_settings (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX merchant_settings_domain_due ON merchant_settings (domain_due_at)
      WHERE domain_due_at IS NOT NULL`
  })
}
