/** Tickets that open streams, until they are used or have ended. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // id: SHA-256, hex, of the ticket, which is looked up before its merchant is known. authority: what its maker might
    // do when it was made, a minute ago at most.
    yield* sql`CREATE TABLE stream_tickets (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      scope text NOT NULL CHECK (scope IN ('merchant', 'commerce')),
      environment text NOT NULL,
      api_version text NOT NULL,
      credential text NOT NULL,
      revocable_as text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('key', 'wallet')),
      authority json NOT NULL,
      expires_at timestamptz NOT NULL
    )`
    yield* sql`CREATE INDEX stream_tickets_by_credential ON stream_tickets (merchant_id, credential, expires_at)`
    yield* sql`CREATE INDEX stream_tickets_by_end ON stream_tickets (expires_at)`
  })
}
