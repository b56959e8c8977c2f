/** Notices that wait or were sent, and in which condition each network was seen last. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows are committed. Notices that wait are also added up beside commits, which changes the version. */
export const tables: ReadonlyArray<string> = ["notices", "notice_groups", "notice_networks"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE notices (
      -- 0: the operator's.
      merchant_id integer NOT NULL,
      id text NOT NULL,
      version bigint NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      kind text NOT NULL CHECK (kind IN ('exception', 'endpoint', 'network')),
      subject text NOT NULL,
      type text NOT NULL,
      amount bigint,
      -- How many it stands for: those of one kind that wait together are sent as one.
      count integer NOT NULL CHECK (count >= 1),
      created_at bigint NOT NULL,
      -- Null: its messages are stored.
      due_at bigint,
      PRIMARY KEY (merchant_id, id)
    )`
    yield* sql`CREATE INDEX notices_due ON notices (due_at) WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX notices_waiting ON notices (merchant_id, environment, kind, created_at, id)
      WHERE due_at IS NOT NULL`
    yield* sql`CREATE INDEX notices_by_age ON notices (created_at)`
    // Part of each commit that sends one, so that no two instances send within the hour.
    yield* sql`CREATE TABLE notice_groups (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      kind text NOT NULL,
      version bigint NOT NULL,
      sent_at bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, kind)
    )`
    yield* sql`CREATE TABLE notice_networks (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      condition text NOT NULL,
      since bigint NOT NULL,
      -- Whether the operator was told of the trouble that it is in.
      is_told boolean NOT NULL
    )`
  })
}
