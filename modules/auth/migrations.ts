/** Tables of merchants and their keys. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = ["merchants", "api_keys"] as const

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE SEQUENCE merchant_id_seq AS integer`
    // merchant_id repeats id, so that every table is told apart by the same column.
    yield* sql`CREATE TABLE merchants (
      id integer PRIMARY KEY,
      merchant_id integer NOT NULL CHECK (merchant_id = id),
      version bigint NOT NULL,
      name text NOT NULL,
      email text,
      created_at bigint NOT NULL,
      -- Null stands for the first environment that the deployment serves.
      default_environment text CHECK (default_environment IN ('devnet', 'mainnet'))
    )`
    yield* sql`CREATE TABLE api_keys (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      scope text NOT NULL CHECK (scope IN ('merchant', 'commerce')),
      name text NOT NULL,
      prefix text NOT NULL,
      last4 text NOT NULL,
      hash text NOT NULL,
      status text NOT NULL CHECK (status IN ('active', 'revoked')),
      expires_at bigint,
      api_version text NOT NULL,
      created_at bigint NOT NULL,
      ip_allowlist json NOT NULL DEFAULT '[]',
      replaced_by text,
      -- The key or wallet that made it; null where nobody but the operator did.
      created_by text,
      -- The person whose acts its acts are; null where nobody in particular made it.
      made_by text,
      permissions json NOT NULL DEFAULT '["read", "write", "refund"]',
      -- Roles that other people had when they made or rotated it: it has no right that one of them lacks.
      role_limits json NOT NULL DEFAULT '[]'
    )`
    // A key is looked up before its merchant is known; 256 random bits make two equal hashes impossible in practice.
    yield* sql`CREATE INDEX api_keys_by_hash ON api_keys (hash)`
    yield* sql`CREATE INDEX api_keys_by_merchant ON api_keys (merchant_id, created_at)`
    yield* sql`CREATE INDEX api_keys_by_maker ON api_keys (merchant_id, created_by) WHERE created_by IS NOT NULL`
    // Beside the keys: a use must not change the version that a rotation expects.
    yield* sql`CREATE TABLE api_key_uses (
      merchant_id integer NOT NULL,
      key_id text NOT NULL,
      used_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, key_id)
    )`
  }),
  "0002_use": Effect.gen(function*() {
    // What alone a key is for; null: for all that its permissions allow.
    yield* (yield* SqlClient.SqlClient)`ALTER TABLE api_keys ADD use text`
  })
}
