/** What shops built for BTCPay Server asked of their invoices, and what they were told of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["btcpay_invoices"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE btcpay_invoices (
      merchant_id integer NOT NULL,
      invoice_id uuid NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      order_id text,
      currency text NOT NULL,
      -- As the shop asked for it, in its currency.
      amount text NOT NULL,
      -- Dollars that one of the currency was then, as two integers; null: it is dollars.
      rate_numerator text,
      rate_denominator text,
      checkout json NOT NULL,
      told_expired boolean NOT NULL,
      reversed boolean NOT NULL,
      marked boolean NOT NULL,
      status text NOT NULL,
      additional_status text NOT NULL,
      created_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, invoice_id)
    )`
    // Changes and links name an invoice by its id alone.
    yield* sql`CREATE UNIQUE INDEX btcpay_invoices_by_invoice ON btcpay_invoices (invoice_id)`
    yield* sql`CREATE INDEX btcpay_invoices_newest ON btcpay_invoices (merchant_id, environment, created_at, invoice_id)`
    yield* sql`CREATE INDEX btcpay_invoices_by_order ON btcpay_invoices (merchant_id, environment, order_id)
      WHERE order_id IS NOT NULL`
  }),
  "0002_fiat_rates": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // The last document of each source of exchange rates, as it was read. A cache: no commit of the log.
    yield* sql`CREATE TABLE btcpay_fiat_rates (
      source text PRIMARY KEY,
      document text NOT NULL,
      read_at bigint NOT NULL
    )`
  })
}
