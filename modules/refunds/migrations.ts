/** Refunds of invoices, and of money that pays none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const tables: ReadonlyArray<string> = ["refunds", "payout_proofs", "sole_approvals", "approvals"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids hold a UUID of version 7: the primary key is also the order of creation, newest last.
    yield* sql`CREATE TABLE refunds (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      -- Null: of money that pays no invoice. It has no payment either: its exception is in the terms.
      invoice_id uuid,
      -- Of a refund that a merchant asked for: its payment, and what was agreed in units of the token that was paid.
      payment_id uuid,
      terms json CHECK (terms IS NULL OR (payment_id IS NULL) = (invoice_id IS NULL)),
      -- The link by which the payor says where it goes: a hash of its token.
      claim json,
      source text NOT NULL CHECK (source IN ('all', 'late')),
      status text NOT NULL CHECK (status IN ('awaiting_destination', 'pending_approval', 'processing', 'succeeded',
        'failed', 'canceled', 'expired')),
      -- Nothing is money of a token that has no price.
      amount bigint NOT NULL CHECK (amount >= 0),
      fee bigint NOT NULL CHECK (fee >= 0 AND fee <= amount),
      fee_free boolean NOT NULL,
      quoted json,
      destination json,
      token json,
      token_amount numeric(78, 0) CHECK (token_amount > 0),
      tx_hash text,
      -- Of a ledger.
      balance_transaction_id text,
      -- The batch that pays it, while that is open: nothing else may.
      batch json,
      reason text NOT NULL,
      failure_code text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      due_at bigint,
      PRIMARY KEY (merchant_id, id),
      CHECK (invoice_id IS NOT NULL OR terms ->> 'exceptionId' IS NOT NULL),
      CHECK ((status IN ('pending_approval', 'processing', 'succeeded') AND destination IS NULL) IS FALSE),
      CHECK ((status IN ('processing', 'succeeded') AND token_amount IS NULL) IS FALSE),
      CHECK ((status = 'succeeded' AND tx_hash IS NULL) IS FALSE)
    )`
    yield* sql`CREATE INDEX refunds_by_invoice ON refunds (merchant_id, invoice_id)`
    yield* sql`CREATE INDEX refunds_by_exception ON refunds (merchant_id, (terms ->> 'exceptionId'), id)
      WHERE terms ->> 'exceptionId' IS NOT NULL`
    // Whatever decides: money that pays no invoice is given back once.
    yield* sql`CREATE UNIQUE INDEX refunds_one_of_exception ON refunds (merchant_id, (terms ->> 'exceptionId'))
      WHERE invoice_id IS NULL AND status NOT IN ('canceled', 'expired')`
    // A transfer on a chain proves one refund, or one line of a batch, once. One that an exception says should not be
    // there belongs to a line too, which it does not pay.
    yield* sql`CREATE TABLE payout_proofs (
      network text NOT NULL,
      environment text NOT NULL,
      tx_hash text NOT NULL,
      transfer_index bigint NOT NULL,
      version bigint NOT NULL,
      merchant_id integer NOT NULL,
      -- Null: a payout of the merchant's own.
      refund_id text,
      -- Null: no batch paid it.
      batch_id text,
      line integer,
      -- Fingerprint of the receiving wallet that sent it; unknown: none of them did. Null: the network does not say.
      wallet text,
      PRIMARY KEY (network, environment, tx_hash, transfer_index),
      CHECK (refund_id IS NOT NULL OR batch_id IS NOT NULL),
      CHECK ((batch_id IS NULL) = (line IS NULL))
    )`
    // What went out on a day of UTC on the approval of one person, in usd_millis. Its version rises with each such
    // approval: of two at once the second one counts anew.
    yield* sql`CREATE TABLE sole_approvals (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      day date NOT NULL,
      version bigint NOT NULL,
      amount bigint NOT NULL CHECK (amount >= 0),
      PRIMARY KEY (merchant_id, environment, day)
    )`
    // What people have signed, of refunds and of batches. id: that of the challenge, which is answered once. No text
    // and no signature: erased with the data of the person who was paid.
    yield* sql`CREATE TABLE approvals (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      object text NOT NULL CHECK (object IN ('refund', 'batch')),
      object_id text NOT NULL,
      person text NOT NULL,
      actor text NOT NULL,
      text text,
      signature json CHECK ((signature IS NULL) = (text IS NULL)),
      at bigint NOT NULL,
      PRIMARY KEY (merchant_id, id)
    )`
    yield* sql`CREATE INDEX approvals_of_object ON approvals (merchant_id, object_id, id)`
    // A merchant's lists, of one status and of all.
    yield* sql`CREATE INDEX refunds_newest ON refunds (merchant_id, environment, id)`
    yield* sql`CREATE INDEX refunds_newest_by_status ON refunds (merchant_id, environment, status, id)`
    yield* sql`CREATE INDEX refunds_by_id ON refunds (id)`
    yield* sql`CREATE INDEX refunds_by_status ON refunds (status, id)`
    yield* sql`CREATE INDEX refunds_due ON refunds (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX refunds_due_devnet ON refunds ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
  })
}
