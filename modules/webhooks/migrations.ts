/** How many endpoints each merchant has: one row that every creation must win, so that the limit is exact. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["webhook_counts"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE webhook_counts (
      merchant_id integer PRIMARY KEY,
      version bigint NOT NULL,
      endpoints integer NOT NULL CHECK (endpoints >= 0)
    )`
  })
}
