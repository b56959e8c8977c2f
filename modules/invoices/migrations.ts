/** Tables of invoices, their payments, and the exceptions that wait for someone's decision. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["invoices", "invoice_payments", "exceptions"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Ids are UUIDs of version 7, so the primary key grows at its end. The id is first in it, because invoices are
    // looked for by id with their merchant, and by id alone by those who were handed it by us.
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
      accepted_shortfall bigint NOT NULL DEFAULT 0 CHECK (accepted_shortfall >= 0),
      grace_ended boolean NOT NULL,
      due_at bigint,
      -- Refunds that are neither paid nor over. Null: none.
      open_refunds json,
      PRIMARY KEY (id, merchant_id)
    )`
    // The list of one customer's invoices, and the newest one of a customer by `GET /api/v1/invoices/{customer_id}`.
    yield* sql`CREATE INDEX invoices_by_customer ON invoices (merchant_id, customer_id, id)
      WHERE customer_id IS NOT NULL`
    // What expires or ends its grace next: `dueRows` and `nextDueAt` of runtime/timers/MerchantDue.ts.
    yield* sql`CREATE INDEX invoices_due ON invoices (due_at) WHERE due_at IS NOT NULL`
    // The same where a merchant's devnet time is ahead: its invoices are due before others of the same moment.
    yield* sql`CREATE INDEX invoices_due_by_merchant ON invoices ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
    // Lists find their rows in the order of the ids. This is the index of those without a filter, and of the totals of
    // a range of times, whose ends are read row by row.
    yield* sql`CREATE INDEX invoices_newest ON invoices (merchant_id, environment, id)`
    // Lists by type or status: a run for each pair of them.
    yield* sql`CREATE INDEX invoices_by_state ON invoices (merchant_id, environment, type, status, id)`
    // Lists by the wallet or the network that paid; few invoices have one.
    yield* sql`CREATE INDEX invoices_by_payer ON invoices (merchant_id, payer_wallet_address, id)
      WHERE payer_wallet_address IS NOT NULL`
    yield* sql`CREATE INDEX invoices_by_network ON invoices
      (merchant_id, environment, payer_wallet_network, type, status, id) WHERE payer_wallet_network IS NOT NULL`
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
      settlement json,
      refunded bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0),
      -- The place of the payment among those of its invoice: payments of one second need an order that lasts.
      ordinal integer NOT NULL CHECK (ordinal > 0),
      -- Fingerprint of the wallet that received it, and the balance transaction of a ledger.
      wallet text,
      balance_transaction_id text,
      -- The id is first, because operators ask for a payment by its id alone.
      PRIMARY KEY (id, merchant_id)
    )`
    // The payments of an invoice, with every read of it, and the newest of each in lists.
    yield* sql`CREATE INDEX invoice_payments_by_ordinal ON invoice_payments (merchant_id, invoice_id, ordinal)`
    // Exports read the payments of a merchant in the order of their ids, a page at a time.
    yield* sql`CREATE INDEX invoice_payments_newest ON invoice_payments (merchant_id, environment, id)`
    // Operators ask for the payments that wait for them, the oldest first: there are few.
    yield* sql`CREATE INDEX invoice_payments_held ON invoice_payments (seen_at, id) WHERE status = 'manual_retry'`
    yield* sql`CREATE TABLE exceptions (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL,
      type text NOT NULL,
      status text NOT NULL CHECK (status IN ('open', 'resolved')),
      -- Null for money on an address without an invoice; merchant_id is 0 where several merchants share that wallet.
      invoice_id uuid,
      invoice_payment_id uuid,
      amount bigint NOT NULL,
      evidence json NOT NULL,
      created_at bigint NOT NULL,
      resolved_at bigint CHECK ((resolved_at IS NULL) = (status = 'open')),
      resolution json,
      PRIMARY KEY (merchant_id, id)
    )`
    // All exceptions of an invoice are read with it: what was decided on it is known to every later decision.
    yield* sql`CREATE INDEX exceptions_by_invoice ON exceptions (merchant_id, invoice_id) WHERE invoice_id IS NOT NULL`
    // Lists in the order of opening, of one status as of both: a page of the open ones must not walk the resolved.
    yield* sql`CREATE INDEX exceptions_newest ON exceptions (merchant_id, environment, status, created_at, id)`
    // Open exceptions are counted for metrics. Most rows are resolved, so the index leaves those out.
    yield* sql`CREATE INDEX exceptions_open ON exceptions (type) WHERE status = 'open'`
  })
}
