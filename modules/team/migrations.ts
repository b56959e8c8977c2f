/** Tables of people: whose members they are, how they sign in, and the sessions they have open. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows this module commits. */
export const tables = [
  "people",
  "members",
  "team_invitations",
  "team_sessions",
  "team_links",
  "team_passkeys",
  "team_passkey_answers",
  "team_recovery_codes",
  "team_recovery_tries",
  "saved_views"
] as const

const recovery = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // id: the hash of the code. Only those of the person's newest set count.
  yield* sql`CREATE TABLE team_recovery_codes (
    id text PRIMARY KEY,
    merchant_id integer NOT NULL,
    version bigint NOT NULL,
    person text NOT NULL,
    code_set integer NOT NULL,
    ended_at bigint
  )`
  yield* sql`CREATE INDEX team_recovery_codes_by_person ON team_recovery_codes (person) WHERE ended_at IS NULL`
  yield* sql`CREATE INDEX team_recovery_codes_by_end ON team_recovery_codes (ended_at) WHERE ended_at IS NOT NULL`
  // id: the hash of an e-mail address, whether anybody has it or not, so that tries tell nothing.
  yield* sql`CREATE TABLE team_recovery_tries (
    id text PRIMARY KEY,
    merchant_id integer NOT NULL,
    version bigint NOT NULL, tries json NOT NULL,
    expires_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX team_recovery_tries_by_end ON team_recovery_tries (expires_at)`
})

const savedViews = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE saved_views (
    id text PRIMARY KEY,
    merchant_id integer NOT NULL,
    version bigint NOT NULL,
    person text NOT NULL,
    name text NOT NULL,
    list text NOT NULL,
    query text NOT NULL,
    is_shared boolean NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'removed')),
    ended_at bigint CHECK ((ended_at IS NULL) = (status = 'active')),
    created_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX saved_views_by_merchant ON saved_views (merchant_id, id) WHERE status = 'active'`
  yield* sql`CREATE INDEX saved_views_by_person ON saved_views (merchant_id, person) WHERE status = 'active'`
  yield* sql`CREATE INDEX saved_views_by_end ON saved_views (ended_at) WHERE ended_at IS NOT NULL`
})

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // People belong to no merchant: one may be a member of several. Their rows are the system's, merchant_id 0.
    yield* sql`CREATE TABLE people (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      name text NOT NULL,
      email text,
      recovery_set integer NOT NULL,
      language text, time_zone text,
      notices text NOT NULL CHECK (notices IN ('mainnet', 'all', 'none')),
      created_at bigint NOT NULL
    )`
    yield* sql`CREATE TABLE members (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      person text NOT NULL,
      role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'support', 'accountant', 'viewer')),
      status text NOT NULL CHECK (status IN ('active', 'removed')),
      is_first boolean NOT NULL,
      proposal json,
      joined_at bigint NOT NULL,
      money_from bigint NOT NULL
    )`
    yield* sql`CREATE UNIQUE INDEX members_by_person ON members (merchant_id, person)`
    yield* sql`CREATE UNIQUE INDEX members_first ON members (merchant_id) WHERE is_first`
    yield* sql`CREATE INDEX members_of_person ON members (person) WHERE status = 'active'`
    yield* sql`CREATE TABLE team_invitations (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      role text NOT NULL,
      email text,
      status text NOT NULL CHECK (status IN ('open', 'accepted', 'revoked')),
      invited_by text NOT NULL,
      needs_approval boolean NOT NULL,
      approved_by text,
      token_hash text NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX team_invitations_by_token ON team_invitations (token_hash)`
    yield* sql`CREATE INDEX team_invitations_by_merchant ON team_invitations (merchant_id, id)`
    yield* sql`CREATE TABLE team_sessions (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      person text NOT NULL,
      method text NOT NULL CHECK (method IN ('passkey', 'wallet', 'link', 'recovery')),
      passkey text,
      read_hash text NOT NULL,
      act_hash text NOT NULL,
      status text NOT NULL CHECK (status IN ('active', 'ended')),
      end_reason text CHECK ((end_reason IS NULL) = (status = 'active')),
      signed_in_at bigint NOT NULL,
      -- Written beside the versions: a use must not take its turn from a change.
      last_used_at bigint NOT NULL,
      fresh_until bigint NOT NULL,
      money_from bigint NOT NULL
    )`
    yield* sql`CREATE INDEX team_sessions_by_token ON team_sessions (read_hash)`
    yield* sql`CREATE INDEX team_sessions_by_person ON team_sessions (person) WHERE status = 'active'`
    yield* sql`CREATE INDEX team_sessions_by_start ON team_sessions (signed_in_at)`
    // id: the hash of the token.
    yield* sql`CREATE TABLE team_links (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      person text NOT NULL,
      used boolean NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX team_links_by_end ON team_links (expires_at)`
    yield* sql`CREATE TABLE team_passkeys (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      person text NOT NULL,
      name text NOT NULL,
      credential_id text NOT NULL,
      public_key text NOT NULL,
      counter bigint NOT NULL,
      transports json NOT NULL,
      status text NOT NULL CHECK (status IN ('active', 'removed')),
      money_from bigint NOT NULL,
      created_at bigint NOT NULL,
      last_used_at bigint
    )`
    yield* sql`CREATE UNIQUE INDEX team_passkeys_by_credential ON team_passkeys (credential_id)`
    yield* sql`CREATE INDEX team_passkeys_by_person ON team_passkeys (person) WHERE status = 'active'`
    // Challenges prove by themselves that they were made here; those that were answered are kept, to be used once.
    yield* sql`CREATE TABLE team_passkey_answers (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX team_passkey_answers_by_end ON team_passkey_answers (expires_at)`
    yield* recovery
    yield* savedViews
  })
}
