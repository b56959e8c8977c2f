/** Receiving wallets: one row a merchant, environment and family, empty where it was removed; and all that ever were. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["receiving_wallets", "wallet_values"] as const

/** No check lists families or networks, so that a new one needs no step. */
export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE receiving_wallets (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      family text NOT NULL,
      version bigint NOT NULL,
      id text,
      kind text CHECK (kind IN ('xpub', 'address', 'pool', 'forwarder')),
      value text,
      -- Of a forwarder: 32 random bytes, hex.
      seed text CHECK (seed ~ '^[0-9a-f]{64}$'),
      start_index bigint,
      created_at bigint,
      -- Another wallet that waits to take its place; null: none does.
      proposal json,
      -- When it does; null: never by time alone.
      due_at bigint,
      PRIMARY KEY (merchant_id, environment, family),
      CHECK (num_nulls(id, kind, value, start_index, created_at) IN (0, 5)),
      CHECK ((seed IS NOT NULL) = (kind IS NOT DISTINCT FROM 'forwarder'))
    )`
    yield* sql`CREATE INDEX receiving_wallets_due ON receiving_wallets (due_at) WHERE due_at IS NOT NULL`
    // What a wallet was made of is kept for ever, also where another one receives now: money may come to an address of
    // it at any time, and a forwarder's can be collected by its seed only.
    yield* sql`CREATE TABLE wallet_values (
      fingerprint text PRIMARY KEY,
      version bigint NOT NULL,
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      family text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('xpub', 'address', 'pool', 'forwarder')),
      value text NOT NULL,
      seed text CHECK (seed ~ '^[0-9a-f]{64}$'),
      -- Of a forwarder: whether its payee was a contract on any network when it was set.
      payee_is_contract boolean,
      -- When the owner showed that the recovery document is kept elsewhere; null: not yet.
      recovery_confirmed_at bigint,
      created_at bigint NOT NULL,
      CHECK ((kind = 'forwarder') = (seed IS NOT NULL)),
      CHECK ((seed IS NULL) = (payee_is_contract IS NULL))
    )`
    yield* sql`CREATE INDEX wallet_values_forwarders ON wallet_values (merchant_id, environment, family, created_at)
      WHERE kind = 'forwarder'`
  })
}
