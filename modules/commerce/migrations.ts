/** Orders, whole rows; what is read only together is kept as JSON. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["orders"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE orders (
      merchant_id integer NOT NULL,
      id uuid NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      invoice_id uuid NOT NULL,
      status text NOT NULL CHECK (status IN
        ('pending_payment', 'processing', 'placed', 'shipped', 'delivered', 'cancelled', 'failed')),
      substatus text NOT NULL,
      retailer text NOT NULL,
      timeline json NOT NULL,
      payment json NOT NULL,
      paid_by json NOT NULL,
      received bigint NOT NULL CHECK (received >= 0),
      received_late bigint NOT NULL CHECK (received_late >= 0),
      refunded bigint NOT NULL CHECK (refunded >= 0),
      provider_order_id text,
      placed_at bigint,
      delivered_at bigint,
      shipments json NOT NULL,
      items json NOT NULL,
      amounts json NOT NULL,
      customer_id text,
      wallet_address text,
      wallet_network text,
      cancellation text NOT NULL CHECK (cancellation IN ('none', 'requested', 'accepted', 'rejected')),
      refunds json NOT NULL,
      refund_quote json,
      refund_destination json,
      shipping json NOT NULL,
      address json NOT NULL,
      metadata json NOT NULL,
      tries integer NOT NULL,
      is_acknowledged boolean NOT NULL,
      due_at bigint,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, id)
    ) WITH (fillfactor = 90)`
    yield* sql`CREATE INDEX orders_by_id ON orders (id)`
    yield* sql`CREATE INDEX orders_due ON orders (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX orders_due_devnet ON orders ((merchant_id::bigint), due_at)
      WHERE due_at IS NOT NULL AND environment = 'devnet'`
    // Every filter of the list finds its rows in the order they are shown in: by their merchant's time, newest first.
    yield* sql`CREATE INDEX orders_newest ON orders (merchant_id, environment, created_at, id)`
    yield* sql`CREATE INDEX orders_by_status ON orders (merchant_id, environment, status, created_at, id)`
    yield* sql`CREATE INDEX orders_by_retailer ON orders (merchant_id, environment, retailer, status, created_at, id)`
    yield* sql`CREATE INDEX orders_by_customer ON orders (merchant_id, customer_id, created_at, id)
      WHERE customer_id IS NOT NULL`
    yield* sql`CREATE INDEX orders_by_wallet ON orders (merchant_id, wallet_address, created_at, id)
      WHERE wallet_address IS NOT NULL`
    yield* sql`CREATE INDEX orders_by_network ON orders
      (merchant_id, environment, wallet_network, retailer, status, created_at, id) WHERE wallet_network IS NOT NULL`
  })
}
