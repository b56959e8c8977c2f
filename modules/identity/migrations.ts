/** Tables of wallets that sign in: what they were asked to sign, whose they are, and the sessions they opened. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["sign_in_challenges", "sign_in_wallets", "sign_in_sessions", "refresh_tokens"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // id: SHA-256 of the message, so that what comes back is found whole or not at all. merchant_id 0: for a sign-in.
    yield* sql`CREATE TABLE sign_in_challenges (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      message text NOT NULL,
      challenge json NOT NULL,
      used boolean NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX sign_in_challenges_by_end ON sign_in_challenges (expires_at)`
    // id is made of the account, not of the merchant: a wallet signs in for one merchant of the whole deployment.
    yield* sql`CREATE TABLE sign_in_wallets (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      family text NOT NULL,
      address text NOT NULL,
      chain_id text,
      status text NOT NULL CHECK (status IN ('linked', 'unlinked')),
      linked_at bigint NOT NULL,
      signed_in_at bigint,
      -- Who signs in by it; null: the merchant's first owner.
      person text,
      -- From when on it may move money on mainnet.
      money_from bigint NOT NULL
    )`
    yield* sql`CREATE INDEX sign_in_wallets_by_merchant ON sign_in_wallets (merchant_id, status)`
    // Sessions and tokens are looked up by secrets, before their merchant is known.
    yield* sql`CREATE TABLE sign_in_sessions (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      wallet_id text NOT NULL,
      status text NOT NULL CHECK (status IN ('active', 'ended')),
      end_reason text CHECK ((end_reason IS NULL) = (status = 'active')),
      refresh_hash text NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX sign_in_sessions_by_wallet ON sign_in_sessions (wallet_id) WHERE status = 'active'`
    yield* sql`CREATE INDEX sign_in_sessions_by_end ON sign_in_sessions (expires_at)`
    // id: HMAC-SHA256, hex, of the token under the pepper. Never changed: the session says which one is current.
    yield* sql`CREATE TABLE refresh_tokens (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      session_id text NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX refresh_tokens_by_end ON refresh_tokens (expires_at)`
  })
}
