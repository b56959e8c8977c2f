/** The balance transactions and their entries: both are only ever added to. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = [
  "balance_transactions",
  "ledger_entries",
  "settlement_preferences"
]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE balance_transactions (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      type text NOT NULL,
      is_pending boolean NOT NULL,
      amount bigint NOT NULL,
      net bigint NOT NULL,
      asset text,
      units numeric(78, 0) NOT NULL,
      source_object text NOT NULL,
      source_id text NOT NULL,
      reverses text,
      -- When it was booked, in microseconds, so that those of one second have an order: ids are hashes.
      booked_micros bigint NOT NULL,
      PRIMARY KEY (merchant_id, id)
    )`
    // The list reads a run of each type, newest first: a page of a rare type must not walk the others.
    yield* sql`CREATE INDEX balance_transactions_newest ON balance_transactions
      (merchant_id, environment, type, booked_micros, id)`
    // The same for what moves one asset.
    yield* sql`CREATE INDEX balance_transactions_by_asset ON balance_transactions
      (merchant_id, environment, asset, type, booked_micros, id)`
    yield* sql`CREATE INDEX balance_transactions_by_source ON balance_transactions (merchant_id, source_id)`
    yield* sql`CREATE TABLE ledger_entries (
      merchant_id integer NOT NULL,
      transaction_id text NOT NULL,
      -- 1: the transaction was booked. 2: what was pending is posted or voided, by the key only once.
      step smallint NOT NULL CHECK (step IN (1, 2)),
      line smallint NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL,
      kind text NOT NULL CHECK (kind = 'booked' AND step = 1 OR kind IN ('posted', 'voided') AND step = 2),
      debit text NOT NULL,
      credit text NOT NULL CHECK (credit <> debit),
      asset text NOT NULL,
      units numeric(78, 0) NOT NULL CHECK (units >= 0),
      usd_millis bigint NOT NULL CHECK (usd_millis >= 0),
      created_at bigint NOT NULL,
      -- Of money that comes into a wallet's account or leaves it: the payment that it is of.
      payment_id uuid,
      PRIMARY KEY (merchant_id, transaction_id, step, line)
    )`
    // What is moved in and out of wallets beside payments is little: a report reads it without reading the payments.
    yield* sql`CREATE INDEX ledger_entries_without_payment ON ledger_entries (merchant_id, environment, created_at)
      WHERE payment_id IS NULL AND (starts_with(debit, 'chain:') OR starts_with(credit, 'chain:'))`
    yield* sql`CREATE TABLE settlement_preferences (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      version bigint NOT NULL,
      preference text NOT NULL CHECK (preference IN ('stables_only', 'stables_preferred', 'tokens')),
      PRIMARY KEY (merchant_id, environment)
    )`
    // Payments that the books do not know, from before they were kept. While the module runs none is added.
    yield* sql`CREATE INDEX invoice_payments_unbooked ON invoice_payments (id)
      WHERE balance_transaction_id IS NULL AND status <> 'reverted'`
  })
}
