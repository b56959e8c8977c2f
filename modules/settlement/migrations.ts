/** What stands beside the settlements of payments: who settles, what is due, why it failed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["settlements"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE settlements (
      merchant_id integer NOT NULL,
      payment_id uuid NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL,
      invoice_id uuid NOT NULL,
      driver text NOT NULL,
      status text,
      retries integer NOT NULL,
      reason text,
      open boolean NOT NULL,
      due_at bigint,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, payment_id)
    )`
    yield* sql`CREATE INDEX settlements_by_invoice ON settlements (invoice_id)`
    yield* sql`CREATE INDEX settlements_due ON settlements (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX settlements_due_devnet ON settlements ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
    yield* sql`CREATE INDEX settlements_open ON settlements (environment, status, created_at, payment_id) WHERE open`
    yield* sql`CREATE INDEX settlements_open_by_driver ON settlements (environment, driver) WHERE open`
  })
}
