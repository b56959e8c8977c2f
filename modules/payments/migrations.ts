/** What payors tell: an e-mail address for the invoice, and where refunds may go on each network. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["payor_contacts", "refund_destinations"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE payor_contacts (
      merchant_id integer NOT NULL,
      invoice_id text NOT NULL,
      version bigint NOT NULL,
      -- Null: it was erased.
      email text,
      updated_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, invoice_id)
    )`
    yield* sql`CREATE TABLE refund_destinations (
      merchant_id integer NOT NULL,
      invoice_id text NOT NULL,
      network text NOT NULL,
      version bigint NOT NULL,
      -- Null: it was erased.
      address text,
      memo text,
      updated_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, invoice_id, network)
    )`
    // Retention begins with what was entered longest ago.
    yield* sql`CREATE INDEX payor_contacts_by_age ON payor_contacts (updated_at)`
    yield* sql`CREATE INDEX refund_destinations_by_age ON refund_destinations (updated_at)`
  })
}
