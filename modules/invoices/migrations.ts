/** Tables of invoices, their payments, and the exceptions that wait for someone's decision. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["invoices", "invoice_payments", "exceptions"] as const

export const migrations: Migrations = {
  "0001_invoices": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids are UUIDs of version 7: the primary key is also the order of creation, newest last.
    yield* sql`CREATE TABLE invoices (
      merchant_id integer NOT NULL,
      id uuid NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      status text NOT NULL CHECK (status IN ('unpaid', 'underpaid', 'paid', 'expired', 'canceled')),
      type text NOT NULL CHECK (type IN ('standard', 'commerce')),
      amount bigint NOT NULL CHECK (amount > 0),
      amount_paid bigint NOT NULL CHECK (amount_paid >= 0),
      customer_id text,
      payer_wallet_address text,
      payer_wallet_network text,
      order_id text,
      expires_at bigint NOT NULL,
      created_at bigint NOT NULL,
      paid_at bigint CHECK ((paid_at IS NOT NULL) = (status = 'paid')),
      last_payment_at bigint,
      metadata json NOT NULL,
      policy json NOT NULL,
      details json NOT NULL,
      grace_ended boolean NOT NULL,
      due_at bigint,
      PRIMARY KEY (merchant_id, id)
    ) WITH (fillfactor = 90)`
    yield* sql`CREATE INDEX invoices_by_id ON invoices (id)`
    yield* sql`CREATE INDEX invoices_by_customer ON invoices (merchant_id, customer_id, id)
      WHERE customer_id IS NOT NULL`
    yield* sql`CREATE INDEX invoices_due ON invoices (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE TABLE invoice_payments (
      merchant_id integer NOT NULL,
      id uuid NOT NULL,
      version bigint NOT NULL,
      invoice_id uuid NOT NULL,
      environment text NOT NULL,
      status text NOT NULL
        CHECK (status IN ('pending', 'underpaid', 'confirmed', 'manual_retry', 'reverted', 'rejected')),
      network text NOT NULL,
      token_id integer,
      token_decimals integer,
      tx_hash text,
      sender text,
      units numeric(78, 0) NOT NULL CHECK (units >= 0),
      amount bigint NOT NULL CHECK (amount >= 0),
      seen_at bigint NOT NULL,
      created_at bigint NOT NULL,
      confirmed_at bigint,
      metadata json NOT NULL,
      PRIMARY KEY (merchant_id, id)
    )`
    yield* sql`CREATE INDEX invoice_payments_by_invoice ON invoice_payments (merchant_id, invoice_id)`
    yield* sql`CREATE INDEX invoice_payments_by_id ON invoice_payments (id)`
    yield* sql`CREATE TABLE exceptions (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL,
      type text NOT NULL,
      status text NOT NULL CHECK (status IN ('open', 'resolved')),
      invoice_id uuid NOT NULL,
      invoice_payment_id uuid,
      amount bigint NOT NULL,
      evidence json NOT NULL,
      created_at bigint NOT NULL,
      resolved_at bigint,
      PRIMARY KEY (merchant_id, id)
    )`
    yield* sql`CREATE INDEX exceptions_by_invoice ON exceptions (merchant_id, invoice_id) WHERE status = 'open'`
  }),
  // Every filter of the list finds its rows in the order of their ids; few invoices have a payer.
  "0002_list": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE INDEX invoices_newest ON invoices (merchant_id, environment, id)`
    yield* sql`CREATE INDEX invoices_by_state ON invoices (merchant_id, environment, type, status, id)`
    yield* sql`CREATE INDEX invoices_by_payer ON invoices (merchant_id, payer_wallet_address, id)
      WHERE payer_wallet_address IS NOT NULL`
    yield* sql`CREATE INDEX invoices_by_network ON invoices
      (merchant_id, environment, payer_wallet_network, type, status, id) WHERE payer_wallet_network IS NOT NULL`
  }),
  "0003_settlement": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE invoice_payments
      ADD COLUMN settlement json,
      ADD COLUMN refunded bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0)`
  }),
  // Where a merchant's devnet time is ahead, its invoices are due before others of the same moment.
  "0004_merchant_due": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE INDEX invoices_due_by_merchant ON invoices ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
  }),
  // Exceptions for money on an address without an invoice; merchant_id is 0 where several merchants share the wallet.
  "0005_unmatched_payments": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE exceptions ALTER COLUMN invoice_id DROP NOT NULL`
  }),
  // Open exceptions are counted for metrics. Most rows are resolved, so the index leaves those out.
  "0006_open_exceptions": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE INDEX exceptions_open ON exceptions (type) WHERE status = 'open'`
  }),
  // Payments of one second had no order that lasted. Those that are there keep the one they were listed in.
  "0007_payment_ordinal": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE invoice_payments ADD COLUMN ordinal integer CHECK (ordinal > 0)`
    yield* sql`UPDATE invoice_payments p SET ordinal = numbered.ordinal FROM (
        SELECT merchant_id, id,
          row_number() OVER (PARTITION BY merchant_id, invoice_id ORDER BY created_at, id) AS ordinal
        FROM invoice_payments
      ) AS numbered WHERE p.merchant_id = numbered.merchant_id AND p.id = numbered.id`
    yield* sql`ALTER TABLE invoice_payments ALTER COLUMN ordinal SET NOT NULL`
    yield* sql`CREATE INDEX invoice_payments_by_ordinal ON invoice_payments (merchant_id, invoice_id, ordinal)`
    yield* sql`DROP INDEX invoice_payments_by_invoice`
  })
}
