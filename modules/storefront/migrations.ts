/** Carts, what customers were shown of their prices, and where they want it sent. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["carts", "checkout_estimates", "checkout_addresses"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      CREATE TABLE carts (
        merchant_id integer NOT NULL,
        environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
        customer text NOT NULL,
        version bigint NOT NULL,
        customer_id text,
        wallet_address text,
        wallet_network text,
        items json NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        PRIMARY KEY (merchant_id, environment, customer)
      )`
    yield* sql`CREATE INDEX carts_by_change ON carts (updated_at)`
    yield* sql`
      CREATE TABLE checkout_estimates (
        merchant_id integer NOT NULL,
        id text NOT NULL,
        version bigint NOT NULL,
        environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
        customer_id text,
        wallet_address text,
        wallet_network text,
        quotation json NOT NULL,
        zip_code text,
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        order_id text,
        PRIMARY KEY (merchant_id, id)
      )`
    yield* sql`CREATE INDEX checkout_estimates_by_age ON checkout_estimates (created_at)`
    yield* sql`
      CREATE TABLE checkout_addresses (
        merchant_id integer NOT NULL,
        id text NOT NULL,
        version bigint NOT NULL,
        environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
        estimate_id text NOT NULL,
        address json NOT NULL,
        quotation json NOT NULL,
        created_at bigint NOT NULL,
        PRIMARY KEY (merchant_id, id)
      )`
    yield* sql`CREATE INDEX checkout_addresses_by_age ON checkout_addresses (created_at)`
  })
}
