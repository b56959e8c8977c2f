/** How far each sink has been given the events of each merchant. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"

/** Tables whose rows are committed. */
export const tables: ReadonlyArray<string> = ["event_sinks", "event_sink_positions"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE event_sinks (
      sink text PRIMARY KEY,
      version bigint NOT NULL,
      -- Events of a merchant without a position are stored from this millisecond on.
      from_ms bigint NOT NULL
    )`
    yield* sql`CREATE TABLE event_sink_positions (
      sink text NOT NULL,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      -- The last event of the merchant that the sink has stored.
      ms bigint NOT NULL,
      seq bigint NOT NULL,
      PRIMARY KEY (sink, merchant_id)
    )`
  })
}
