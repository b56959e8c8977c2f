/** The outbox: messages that wait to be sent, and for a while what became of the others. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"
import type { SealedColumn } from "../../runtime/Secrets.ts"

/** Tables whose rows are committed. Commits only add messages; their sender changes rows beside the versions. */
export const tables: ReadonlyArray<string> = ["mail_messages"]

/** What a rotation of the master key seals anew. */
export const sealedColumns: ReadonlyArray<SealedColumn> = [
  { table: "mail_messages", column: "sealed_content", label: "mail" }
]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE mail_messages (
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      kind text NOT NULL,
      -- Address, subject and text, sealed, because links in it are secrets. Null as soon as it is over.
      sealed_content text,
      -- HMAC of the address, by which messages to it are counted. Null: it was erased.
      recipient_hash text,
      -- Whose message an erasure deletes; null: nobody's, or it is over.
      customer_id text,
      status text NOT NULL CHECK (status IN ('waiting', 'sent', 'bounced', 'given_up', 'erased')),
      attempts integer NOT NULL CHECK (attempts >= 0),
      created_at bigint NOT NULL,
      -- When it is sent next. While somebody sends it: when it is another one's turn, should that one have died.
      due_at bigint,
      -- Of the attempt under way or the last one: an attempt that lost its turn changes nothing.
      attempt_token text,
      PRIMARY KEY (merchant_id, id),
      CHECK ((status = 'waiting') = (sealed_content IS NOT NULL)),
      CHECK ((status = 'waiting') = (due_at IS NOT NULL))
    )`
    yield* sql`CREATE INDEX mail_messages_due ON mail_messages (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX mail_messages_by_recipient ON mail_messages (merchant_id, recipient_hash, created_at)`
    yield* sql`CREATE INDEX mail_messages_by_kind ON mail_messages (merchant_id, kind, created_at)`
    yield* sql`CREATE INDEX mail_messages_by_customer ON mail_messages (merchant_id, environment, customer_id, id)
      WHERE customer_id IS NOT NULL`
    yield* sql`CREATE INDEX mail_messages_by_age ON mail_messages (created_at)`
  })
}
