/** Payment links, and which of their invoices which browser has. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["payment_links", "payment_link_invoices"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids hold a UUID of version 7: the primary key is also the order of creation, newest last.
    yield* sql`CREATE TABLE payment_links (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      -- Every invoice of the link raises it, so that of two at once one decides anew.
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      code text NOT NULL,
      title text NOT NULL,
      description text,
      -- usd_millis; null: the payor says how much, between the two bounds.
      amount bigint,
      minimum_amount bigint,
      maximum_amount bigint,
      maximum_payments integer,
      expires_at bigint,
      is_active boolean NOT NULL,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, id),
      CHECK ((amount IS NULL) = (minimum_amount IS NOT NULL)),
      CHECK ((amount IS NULL) = (maximum_amount IS NOT NULL))
    )`
    yield* sql`CREATE UNIQUE INDEX payment_links_by_code ON payment_links (code)`
    yield* sql`CREATE INDEX payment_links_newest ON payment_links (merchant_id, environment, id)`
    yield* sql`CREATE TABLE payment_link_invoices (
      merchant_id integer NOT NULL,
      invoice_id uuid NOT NULL,
      version bigint NOT NULL,
      link_id text NOT NULL,
      -- Hashes: of the random name that the browser has as a cookie, and of the address it called from, IPv6 by its /64.
      visit text NOT NULL,
      source text NOT NULL,
      -- Of the /56 and the /48 of an IPv6 address; null: it is an IPv4 one.
      source_56 text,
      source_48 text,
      -- Epoch seconds of the system's clock.
      created_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, invoice_id)
    )`
    yield* sql`CREATE INDEX payment_link_invoices_by_visit ON payment_link_invoices (merchant_id, link_id, visit)`
    yield* sql`CREATE INDEX payment_link_invoices_by_source ON payment_link_invoices (source, created_at)`
    yield* sql`CREATE INDEX payment_link_invoices_by_source_56 ON payment_link_invoices (source_56, created_at)
      WHERE source_56 IS NOT NULL`
    yield* sql`CREATE INDEX payment_link_invoices_by_source_48 ON payment_link_invoices (source_48, created_at)
      WHERE source_48 IS NOT NULL`
    yield* sql`CREATE INDEX payment_link_invoices_by_age ON payment_link_invoices (created_at)`
  })
}
