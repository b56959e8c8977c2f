/** What search needs of other modules' tables: an index of payments by their transactions. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE INDEX invoice_payments_by_transaction ON invoice_payments (merchant_id, tx_hash)`
  })
}
