/** Which merchant has an export under way. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // One row for each export under way. Rows left by a process that died are taken over when their time is past.
    yield* sql`CREATE TABLE export_leases (
      merchant_id integer NOT NULL PRIMARY KEY,
      holder uuid NOT NULL,
      until timestamptz NOT NULL
    )`
  })
}
