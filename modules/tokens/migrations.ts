/** What each merchant accepts: one row per environment, from the first change on. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["token_policies"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE token_policies (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      version bigint NOT NULL,
      acceptance_policy text NOT NULL CHECK (acceptance_policy IN ('accept_all', 'selective', 'accept_none')),
      blocked_token_ids integer[] NOT NULL,
      PRIMARY KEY (merchant_id, environment)
    )`
  })
}
