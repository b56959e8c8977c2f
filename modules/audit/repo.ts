/** The only SQL of the audit log. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { hasInOrder, inIndexOrder } from "../../runtime/store/IndexPlans.ts"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { PageCursor } from "../../schemas/Page.ts"
import type { AuditEntry, ChainLink } from "./rules.ts"
import { type ChainEnd, emptyChain } from "./rules/Chain.ts"

interface Row {
  readonly merchant_id: number
  readonly id: string
  readonly environment: Environment
  readonly actor: string
  readonly action: string
  readonly subject: AuditEntry["subject"]
  readonly before: AuditEntry["before"]
  readonly after: AuditEntry["after"]
  readonly request_id: string | null
  readonly created_at: bigint
  readonly chain_place: bigint | null
  readonly previous_hash: string | null
  readonly hash: string | null
}

/** An entry, and its link once it is chained. */
export interface StoredEntry {
  readonly entry: AuditEntry
  readonly link: ChainLink | null
}

const fromRow = (row: Row): StoredEntry => ({
  entry: {
    id: row.id,
    merchantId: row.merchant_id,
    environment: row.environment,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    before: row.before,
    after: row.after,
    requestId: row.request_id,
    createdAt: Number(row.created_at)
  },
  link: row.chain_place === null
    ? null
    : { place: Number(row.chain_place), previousHash: row.previous_hash!, hash: row.hash! }
})

export const entryWrite = (entry: AuditEntry, link: ChainLink | null): Write => ({
  table: "audit_entries",
  row: {
    merchant_id: entry.merchantId,
    id: entry.id,
    version: link === null ? 1 : 2,
    environment: entry.environment,
    actor: entry.actor,
    action: entry.action,
    subject: entry.subject,
    before: entry.before,
    after: entry.after,
    request_id: entry.requestId,
    created_at: entry.createdAt,
    chain_place: link?.place ?? null,
    previous_hash: link?.previousHash ?? null,
    hash: link?.hash ?? null
  }
})

/** The end of a chain as it is stored. */
export interface StoredChainEnd extends ChainEnd {
  readonly version: number
}

export const chainWrite = (merchantId: number, before: StoredChainEnd, { hash, place }: ChainEnd): Write => ({
  table: "audit_chains",
  row: { merchant_id: merchantId, version: before.version + 1, chain_place: place, hash }
})

/** Filters of the list; absent ones do not filter. */
export interface AuditFilter {
  readonly merchantId: number
  readonly environment: Environment
  /** Who acted, one of these. */
  readonly actors?: ReadonlyArray<string>
  readonly action?: string
  readonly subjectId?: string
  /** Epoch seconds. */
  readonly createdFrom?: number
  readonly createdTo?: number
}

/** One page: the newest, or those before or after an id. */
export interface AuditPage {
  readonly cursor: PageCursor | null
  readonly limit: number
}

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  /** Newest first; `hasMore` is in the direction of paging. */
  const list = (filter: AuditFilter, { cursor, limit }: AuditPage) => {
    const isNewer = cursor?.direction === "newer"
    const conditions = [
      sql`merchant_id = ${filter.merchantId}`,
      sql`environment = ${filter.environment}`,
      ...(filter.actors === undefined ? [] : [sql`actor = ANY (${[...filter.actors]}::text[])`]),
      ...(filter.action === undefined ? [] : [sql`action = ${filter.action}`]),
      ...(filter.subjectId === undefined ? [] : hasInOrder(sql, sql`subject ->> 'id'`, filter.subjectId)),
      ...(filter.createdFrom === undefined ? [] : [sql`created_at >= ${filter.createdFrom}`]),
      ...(filter.createdTo === undefined ? [] : [sql`created_at <= ${filter.createdTo}`]),
      ...(cursor === null ? [] : [isNewer ? sql`id > ${cursor.id}` : sql`id < ${cursor.id}`])
    ]
    const direction = isNewer ? sql`ASC` : sql`DESC`
    const isOfSubject = filter.subjectId !== undefined
    // By the index of the subjects: to a planner without statistics `audit_entries_newest` looks as good.
    const statement = sql<Row>`SELECT * FROM audit_entries WHERE ${sql.and(conditions)}
      ORDER BY ${isOfSubject ? sql`subject ->> 'id' ${direction}, ` : sql``}id ${direction} LIMIT ${limit + 1}`
    return (isOfSubject ? inIndexOrder(sql)(statement) : statement).pipe(
      Effect.orDie,
      Effect.map((rows) => {
        const entries = rows.slice(0, limit).map(fromRow)
        return { entries: isNewer ? entries.toReversed() : entries, hasMore: rows.length > limit }
      })
    )
  }

  /** The oldest of each merchant before the second of any, so that none with many waiting keeps others from their turn. */
  const unchained = (limit: number) =>
    sql<Row>`SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY merchant_id ORDER BY id) AS turn FROM audit_entries
        WHERE chain_place IS NULL) waiting
      ORDER BY turn, id LIMIT ${limit}`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map((row) => fromRow(row).entry))
    )

  /** Epoch milliseconds at which the oldest entry without a place was made; null: there is none. */
  const oldestUnchainedMillis = sql<{ created_at: bigint }>`SELECT created_at FROM audit_entries
    WHERE chain_place IS NULL ORDER BY id LIMIT 1`.pipe(
    Effect.orDie,
    Effect.map(([row]) => (row === undefined ? null : Number(row.created_at) * 1000))
  )

  const chainEnd = (merchantId: number) =>
    sql<{ version: bigint; chain_place: bigint; hash: string }>`SELECT version, chain_place, hash FROM audit_chains
      WHERE merchant_id = ${merchantId}`.pipe(
      Effect.orDie,
      Effect.map(([row]): StoredChainEnd =>
        row === undefined
          ? { ...emptyChain, version: 0 }
          : { version: Number(row.version), place: Number(row.chain_place), hash: row.hash }
      )
    )

  return { chainEnd, list, oldestUnchainedMillis, unchained }
})

export type Repo = Effect.Success<typeof makeRepo>
