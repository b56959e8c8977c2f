/** Batches, their lines, and what wallets were given. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = [
  "batches",
  "batch_lines",
  "batch_exports",
  "batch_counters",
  "reservation_counters"
]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids hold a UUID of version 7: the primary key is also the order of creation, newest last.
    yield* sql`CREATE TABLE batches (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      kind text NOT NULL CHECK (kind IN ('refunds', 'payouts', 'collect')),
      -- What its parts and lines come to: kept to be looked for.
      status text NOT NULL,
      network text NOT NULL,
      from_address text,
      valid_for_seconds integer NOT NULL,
      metadata json NOT NULL,
      content_hash text NOT NULL,
      approvals_required integer NOT NULL,
      approvals json NOT NULL,
      is_canceled boolean NOT NULL,
      is_expired boolean NOT NULL,
      parts json NOT NULL,
      created_by text NOT NULL,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      closed_at bigint,
      due_at bigint,
      PRIMARY KEY (merchant_id, id),
      CHECK (kind = 'collect' OR from_address IS NOT NULL)
    )`
    yield* sql`CREATE INDEX batches_newest ON batches (merchant_id, environment, id)`
    yield* sql`CREATE INDEX batches_open ON batches (merchant_id, environment) WHERE closed_at IS NULL`
    // Looked at on the chain.
    yield* sql`CREATE INDEX batches_due ON batches (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX batches_due_devnet ON batches ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
    // What their exports spend is reserved.
    yield* sql`CREATE INDEX batches_watched ON batches (merchant_id, environment, network) WHERE due_at IS NOT NULL`
    yield* sql`CREATE TABLE batch_lines (
      merchant_id integer NOT NULL,
      batch_id text NOT NULL,
      line integer NOT NULL,
      version bigint NOT NULL,
      part integer NOT NULL,
      status text NOT NULL CHECK (status IN ('pending', 'seen', 'paid', 'mismatch', 'released')),
      token_id integer,
      symbol text NOT NULL,
      decimals integer NOT NULL,
      token_address text,
      units numeric(78, 0) NOT NULL CHECK (units > 0),
      amount bigint NOT NULL CHECK (amount >= 0),
      destination json NOT NULL,
      source json,
      reference text NOT NULL,
      refund_id text,
      tx_hash text,
      transfer_index bigint,
      PRIMARY KEY (merchant_id, batch_id, line)
    )`
    yield* sql`CREATE INDEX batch_lines_by_refund ON batch_lines (refund_id) WHERE refund_id IS NOT NULL`
    // What a transaction pays is asked before a report may take one of its transfers.
    yield* sql`CREATE INDEX batch_lines_by_transaction ON batch_lines (tx_hash) WHERE tx_hash IS NOT NULL`
    // What was collected of an address is asked for each address that received something.
    yield* sql`CREATE INDEX batch_lines_by_source ON batch_lines (merchant_id, (source ->> 'address'))
      WHERE source IS NOT NULL`
    // What was paid out on a day counts against a limit.
    yield* sql`CREATE INDEX batches_payouts ON batches (merchant_id, environment, created_at) WHERE kind = 'payouts'`
    // Its version rises with each batch that is made: of two at once the second one counts anew what is open and paid.
    yield* sql`CREATE TABLE batch_counters (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      version bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment)
    )`
    // Its version rises with each export that reserves something: of two at once the second one is built anew.
    yield* sql`CREATE TABLE reservation_counters (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      network text NOT NULL,
      version bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, network)
    )`
    // The bytes that a wallet was given, so that the same are given again. Written once: the only version is 1.
    yield* sql`CREATE TABLE batch_exports (
      merchant_id integer NOT NULL,
      batch_id text NOT NULL,
      part integer NOT NULL,
      attempt integer NOT NULL,
      version bigint NOT NULL CHECK (version = 1),
      payload text NOT NULL,
      created_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, batch_id, part, attempt)
    )`
  })
}
