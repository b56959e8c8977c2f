/**
 * What the commit log's tests share: a table to write to, commits to write, and logs that know nothing of each other.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Append, Commit, noCause } from "../../../runtime/Commit.ts"
import { CommitFeed } from "../../../runtime/commit/CommitFeed.ts"
import { layer as groupCommit } from "../../../runtime/commit/GroupCommit.ts"
import type { Rollup } from "../../../runtime/Rollups.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"

/** Two tables, so that a commit can lock rows in more than one. */
export const tables = ["things", "parts"]

const createTables = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const table of tables) {
    yield* sql`create table ${sql(table)} (merchant_id integer not null, id text not null, version bigint not null,
      note text not null, amount numeric(78, 0) not null check (amount >= 0), facts json, tags text[],
      primary key (merchant_id, id))`
  }
})

/** A database with the tables, dropped with the scope. */
export const commitDatabase = Effect.gen(function*() {
  const database = yield* freshDatabase
  yield* Effect.provide(createTables, connect(database), { local: true })
  return database
})

/** A log with a pool of its own, as another process would have. */
export const instance = (database: TestDatabase, rollups: ReadonlyArray<Rollup> = []) =>
  Effect.map(
    Layer.build(Layer.fresh(groupCommit(tables, rollups).pipe(Layer.provideMerge(connect(database))))),
    (services) => ({
      services,
      append: Context.get(services, Commit).append,
      feed: Context.get(services, CommitFeed),
      sql: Context.get(services, SqlClient.SqlClient)
    })
  )

export const thing = (merchant: number, id: string, version: number, more: Readonly<Record<string, unknown>> = {}) => ({
  table: "things",
  row: { merchant_id: merchant, id, version, note: `${id} v${version}`, amount: "0", ...more }
})

export const part = (merchant: number, id: string, version: number) => ({
  ...thing(merchant, id, version),
  table: "parts"
})

export const eventDraft = (id: string, more: Readonly<Record<string, unknown>> = {}): EventDraft => ({
  type: "invoice.updated",
  object: { object: "invoice", id, invoice_type: "standard", customer_id: null, metadata: { secret: "s" }, ...more },
  previousAttributes: {}
})

export const commitOf = (merchant: number, more: Partial<Append>): Append => ({
  merchantId: merchant,
  environment: "devnet",
  cause: noCause,
  writes: [],
  events: [],
  ...more
})
