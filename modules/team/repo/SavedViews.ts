/** The SQL of saved views. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import { firstOwnerPerson } from "../../../schemas/Roles.ts"
import type { SavedViewState, ViewForPerson, ViewList } from "../rules.ts"
import { pageOf, type PageQuery } from "./Members.ts"

interface ViewRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly person: string
  readonly name: string
  readonly list: ViewList
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
  list: row.list,
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
    list: view.list,
    query: view.query,
    is_shared: view.isShared,
    status: view.status,
    ended_at: view.endedAt,
    created_at: view.createdAt
  }
})

/** Whose views are listed, and of which list; `list` null: of all. */
export interface ViewQuery extends PageQuery {
  /** As a credential names its person; null: the first owner. */
  readonly person: string | null
  readonly list: ViewList | null
}

/** Active views whose filters end with the customer, as {@link normalizeQuery} orders and spells them. */
const namesCustomer = (sql: SqlClient.SqlClient, merchantId: number, customerId: string) => {
  const filter = new URLSearchParams({ customer: customerId }).toString()
  return sql`merchant_id = ${merchantId} AND status = 'active' AND list = 'payments'
    AND (query = ${filter} OR right(query, ${filter.length + 1}) = ${`&${filter}`})`
}

export const makeSavedViewsRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Those that a member sees: its own, and shared ones. Newest first; a person who is no member sees none. */
  viewPage: (query: ViewQuery) => {
    const { cursor, limit, list, merchantId, person } = query
    const newer = cursor?.direction === "newer"
    const isCaller = person === null || person === firstOwnerPerson ? sql`m.is_first` : sql`m.person = ${person}`
    const afterCursor = cursor === null ? sql.literal("") : sql`AND v.id ${sql.literal(newer ? ">" : "<")} ${cursor.id}`
    const isOfList = list === null ? sql.literal("") : sql`AND v.list = ${list}`
    return Effect.map(
      Effect.orDie(sql<ViewRow & { readonly is_own: boolean }>`SELECT v.*, v.person = m.person AS is_own
        FROM members m JOIN saved_views v ON v.merchant_id = m.merchant_id AND (v.is_shared OR v.person = m.person)
        WHERE m.merchant_id = ${merchantId} AND m.status = 'active' AND ${isCaller}
        AND v.status = 'active' ${isOfList} ${afterCursor}
        ORDER BY v.id ${sql.literal(newer ? "ASC" : "DESC")} LIMIT ${limit + 1}`),
      (rows) => pageOf(rows, query, (row): ViewForPerson => ({ view: viewOf(row), isOwn: row.is_own }))
    )
  },
  view: (merchantId: number, id: string): Effect.Effect<SavedViewState | undefined> =>
    Effect.map(
      Effect.orDie(sql<ViewRow>`SELECT * FROM saved_views WHERE merchant_id = ${merchantId} AND id = ${id}`),
      ([row]) => row === undefined ? undefined : viewOf(row)
    ),
  /** A merchant's views whose filters name a customer. */
  viewsOfCustomer: (merchantId: number, customerId: string): Effect.Effect<ReadonlyArray<SavedViewState>> =>
    Effect.map(
      Effect.orDie(sql<ViewRow>`SELECT * FROM saved_views WHERE ${namesCustomer(sql, merchantId, customerId)}
        ORDER BY id`),
      (rows) => rows.map(viewOf)
    ),
  /** Does to all of them what `removeView` does to one, by one statement: none that is saved meanwhile is missed. */
  eraseViewsOfCustomer: (merchantId: number, customerId: string, now: number): Effect.Effect<void> =>
    Effect.asVoid(Effect.orDie(sql`UPDATE saved_views
      SET name = '', query = '', status = 'removed', ended_at = ${now}, version = version + 1
      WHERE ${namesCustomer(sql, merchantId, customerId)}`)),
  /** What a person has made and not removed at a merchant. */
  viewsOfPerson: (merchantId: number, person: string): Effect.Effect<ReadonlyArray<SavedViewState>> =>
    Effect.map(
      Effect.orDie(sql<ViewRow>`SELECT * FROM saved_views
        WHERE merchant_id = ${merchantId} AND person = ${person} AND status = 'active' ORDER BY id`),
      (rows) => rows.map(viewOf)
    ),
  /** How many a person has made and not removed at a merchant. */
  countViews: (merchantId: number, person: string): Effect.Effect<number> =>
    Effect.map(
      Effect.orDie(sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM saved_views
        WHERE merchant_id = ${merchantId} AND person = ${person} AND status = 'active'`),
      ([row]) => row?.count ?? 0
    )
}))
