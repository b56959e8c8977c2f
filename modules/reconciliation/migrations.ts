/** Closed months, and what wallets held when a month had ended. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = [
  "closed_periods",
  "closed_period_chains",
  "chain_balance_readings",
  "reconciliation_adjustments"
]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Written once: the row's only version is 1.
    yield* sql`CREATE TABLE closed_periods (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      period text NOT NULL,
      version bigint NOT NULL CHECK (version = 1),
      -- Canonical JSON: its bytes are what is hashed.
      report text NOT NULL,
      previous_hash text NOT NULL,
      hash text NOT NULL,
      actor text NOT NULL,
      closed_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, period)
    )`
    // The last closed month of each chain. Its version lets one of two who close at once go on with the chain.
    yield* sql`CREATE TABLE closed_period_chains (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      version bigint NOT NULL,
      period text NOT NULL,
      hash text NOT NULL,
      PRIMARY KEY (merchant_id, environment)
    )`
    yield* sql`CREATE TABLE chain_balance_readings (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      period text NOT NULL,
      account text NOT NULL,
      asset text NOT NULL,
      version bigint NOT NULL,
      -- Null where nobody can say, with the reason.
      units numeric(78, 0),
      later_units numeric(78, 0) NOT NULL,
      -- What contracts of a forwarder have ever sent to its payee, which is in units.
      forwarded_units numeric(78, 0) NOT NULL DEFAULT 0,
      has_sent boolean NOT NULL,
      height bigint,
      block_hash text,
      block_time bigint,
      reason text,
      read_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, period, account, asset),
      CHECK ((units IS NULL) = (reason IS NOT NULL))
    )`
    // The payment that a transfer is, by the name that the payments give it (modules/payments/service/Credit.ts): an id
    // of version 8, as runtime/Uuid.ts makes it of the first 16 bytes of the name's hash.
    yield* sql`CREATE FUNCTION payment_id_of_transfer(transfer_id text) RETURNS uuid
      LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128), 'hex')::uuid
        FROM (SELECT substr(sha256(convert_to('payment:' || transfer_id, 'UTF8')), 1, 16) AS h) s
      $$`
    // Kept: a month of a million payments took 1.3 s more for each statement that made all of them (measured).
    yield* sql`ALTER TABLE transfers ADD COLUMN payment_id uuid GENERATED ALWAYS AS (payment_id_of_transfer(id)) STORED`
    // The wallets of all merchants, in the order in which they are read.
    yield* sql`CREATE INDEX account_balances_of_wallets ON account_balances (account, merchant_id, environment, asset)
      WHERE account >= 'chain:' AND account < 'chain;'`
    // A period is read without what came before it.
    yield* sql`CREATE INDEX ledger_entries_by_time ON ledger_entries (merchant_id, environment, created_at)`
    // They are few beside payments.
    yield* sql`CREATE INDEX balance_transactions_of_exceptions ON balance_transactions (merchant_id, environment)
      WHERE source_object = 'exception' AND type <> 'payout'`
    yield* sql`CREATE INDEX transfers_by_time ON transfers (merchant_id, environment, block_time)`
    yield* sql`CREATE INDEX invoice_payments_by_time ON invoice_payments (merchant_id, environment, created_at)`
    yield* sql`CREATE TABLE reconciliation_adjustments (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      -- From 1, without gaps: two that are made of the same balance at once meet in the key.
      ordinal integer NOT NULL CHECK (ordinal > 0),
      version bigint NOT NULL CHECK (version = 1),
      id text NOT NULL,
      account text NOT NULL,
      asset text NOT NULL,
      units numeric(78, 0) NOT NULL CHECK (units <> 0),
      usd_millis bigint NOT NULL,
      -- So much of it is taken from what the merchant ignored, not from what is available.
      ignored_units numeric(78, 0) NOT NULL DEFAULT 0,
      ignored_usd_millis bigint NOT NULL DEFAULT 0,
      note text NOT NULL,
      -- The month, and the payment or exception, whose difference it accounts for; null: none in particular.
      explains_period text,
      explains_id text,
      balance_transaction_id text NOT NULL,
      actor text NOT NULL,
      created_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, ordinal)
    )`
    yield* sql`CREATE INDEX reconciliation_adjustments_by_period ON reconciliation_adjustments
      (merchant_id, environment, explains_period) WHERE explains_period IS NOT NULL`
  })
}
