/** The SQL of saved views. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import type { SavedViewState, ViewPage } from "../rules.ts"
import { pageOf, type PageQuery } from "./Members.ts"

interface ViewRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly person: string
  readonly name: string
  readonly page: ViewPage
  readonly query: string
  readonly is_shared: boolean
  readonly status: "active" | "removed"
  readonly ended_at: bigint | null
  readonly created_at: bigint
}

const viewOf = (row: ViewRow): SavedViewState => ({
  id: row.id,
  merchantId: row.merchant_id,
  version: Number(row.version),
  person: row.person,
  name: row.name,
  page: row.page,
  query: row.query,
  isShared: row.is_shared,
  status: row.status,
  endedAt: row.ended_at === null ? null : Number(row.ended_at),
  createdAt: Number(row.created_at)
})

export const viewWrite = (view: SavedViewState): Write => ({
  table: "saved_views",
  row: {
    id: view.id,
    merchant_id: view.merchantId,
    version: view.version,
    person: view.person,
    name: view.name,
    page: view.page,
    query: view.query,
    is_shared: view.isShared,
    status: view.status,
    ended_at: view.endedAt,
    created_at: view.createdAt
  }
})

/** Whose views are listed, and of which list; null: of all. */
export interface ViewQuery extends PageQuery {
  readonly person: string | null
  readonly page: ViewPage | null
}

export const makeSavedViewsRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Those that a person sees: its own, and shared ones. Newest first. */
  viewPage: (query: ViewQuery) => {
    const newer = query.cursor?.direction === "newer"
    const beyond = query.cursor === null
      ? sql.literal("")
      : sql`AND id ${sql.literal(newer ? ">" : "<")} ${query.cursor.id}`
    return Effect.map(
      Effect.orDie(sql<ViewRow>`SELECT * FROM saved_views WHERE merchant_id = ${query.merchantId}
        AND status = 'active' AND (is_shared OR person = ${query.person})
        AND (${query.page}::text IS NULL OR page = ${query.page}) ${beyond}
        ORDER BY id ${sql.literal(newer ? "ASC" : "DESC")} LIMIT ${query.limit + 1}`),
      (rows) => pageOf(rows, query, viewOf)
    )
  },
  view: (merchantId: number, id: string): Effect.Effect<SavedViewState | undefined> =>
    Effect.map(
      Effect.orDie(sql<ViewRow>`SELECT * FROM saved_views WHERE merchant_id = ${merchantId} AND id = ${id}`),
      ([row]) => row === undefined ? undefined : viewOf(row)
    ),
  /** How many a person has made and not removed at a merchant. */
  countViews: (merchantId: number, person: string): Effect.Effect<number> =>
    Effect.map(
      Effect.orDie(sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM saved_views
        WHERE merchant_id = ${merchantId} AND person = ${person} AND status = 'active'`),
      ([row]) => row?.count ?? 0
    )
}))
