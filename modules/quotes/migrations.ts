/** The quotes a payor was given: what is owed in one token, at which rate, and until when that holds. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      CREATE TABLE quotes (
        id text PRIMARY KEY,
        merchant_id integer NOT NULL,
        version bigint NOT NULL,
        invoice_id text NOT NULL,
        network text NOT NULL,
        token_id integer NOT NULL,
        decimals integer NOT NULL,
        environment text NOT NULL,
        exchange_rate text NOT NULL,
        rate_source text NOT NULL,
        priced_at bigint NOT NULL,
        token_amount numeric(78, 0) NOT NULL CHECK (token_amount >= 0),
        amount_remaining bigint NOT NULL CHECK (amount_remaining >= 0),
        created_at bigint NOT NULL,
        valid_until bigint NOT NULL,
        shown boolean NOT NULL DEFAULT true
      )`
    yield* sql`CREATE INDEX quotes_by_invoice ON quotes (invoice_id, created_at DESC)`
  })
}
