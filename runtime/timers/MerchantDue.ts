/**
 * Rows that come due by their merchant's clock: those of every merchant by the system's, and those of the few merchants
 * whose devnet time is ahead sooner, by one index probe for each of these: 8 us, 40 ms for 5,000 of them among
 * 1,000,000 rows (measured). While nobody is ahead, and on mainnet, the statements are those of a plain due column.
 */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { MerchantClock } from "../MerchantClock.ts"

/**
 * Reads due rows of `table`, which has the columns `merchant_id`, `environment` and `due_at` (bigint: epoch seconds of
 * the merchant's time, null: never), and an index of `(due_at) WHERE due_at IS NOT NULL` and one of
 * `((merchant_id::bigint), due_at) WHERE due_at IS NOT NULL AND environment = 'devnet'`, which only devnet rows pay
 * for. Pairs with the merchant widened are compared and ordered by, which no other index can serve: the planner would
 * else read all that a merchant has, or all that waits.
 */
export const makeMerchantDue = Effect.fnUntraced(function*(table: string) {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* MerchantClock
  const rows = sql(table)

  /** Merchants ahead, as rows `(m, s)`. */
  const ahead = (merchants: ReadonlyMap<number, number>) =>
    sql`unnest(${[...merchants.keys()]}::bigint[], ${[...merchants.values()]}::bigint[]) AS a (m, s)`

  const waitsOnDevnet = sql`environment = 'devnet' AND due_at IS NOT NULL`

  const place = sql`(merchant_id::bigint, due_at)`
  const inOrder = sql`merchant_id::bigint, due_at`

  /**
   * To read from in place of the table: whole rows, at most `limit`, due when the system's clock says `now` (epoch
   * seconds). Each is then decided at its merchant's time.
   */
  const dueRows = (now: number, limit: number): Statement.Fragment => {
    const merchants = clock.aheadByMerchant()
    const usual = sql`(SELECT * FROM ${rows} WHERE due_at <= ${now}::bigint ORDER BY due_at LIMIT ${limit})`
    if (merchants.size === 0) return usual
    return sql`(${usual} UNION ALL (
      SELECT r.* FROM ${ahead(merchants)} CROSS JOIN LATERAL (
        SELECT * FROM ${rows} WHERE ${waitsOnDevnet}
          AND ${place} > (a.m, ${now}::bigint) AND ${place} <= (a.m, ${now}::bigint + a.s)
        ORDER BY ${inOrder} LIMIT ${limit}
      ) r LIMIT ${limit}
    ) LIMIT ${limit})`
  }

  /** Epoch seconds at which the system's clock finds the earliest row due; null: no row is. */
  const nextDueAt = Effect.suspend(() => {
    const merchants = clock.aheadByMerchant()
    const usual = sql<Next>`SELECT min(due_at) AS due_at FROM ${rows} WHERE due_at IS NOT NULL`
    const aheadRows = sql`SELECT e.due_at - a.s AS due_at FROM ${ahead(merchants)} CROSS JOIN LATERAL (
        SELECT merchant_id, due_at FROM ${rows} WHERE ${waitsOnDevnet} AND ${place} >= (a.m, 0::bigint)
        ORDER BY ${inOrder} LIMIT 1
      ) e WHERE e.merchant_id = a.m`
    const earliest = merchants.size === 0
      ? usual
      : sql<Next>`SELECT min(due_at) AS due_at FROM (${usual} UNION ALL ${aheadRows}) earliest`
    return Effect.map(earliest, ([row]) => row?.due_at == null ? null : Number(row.due_at))
  })

  return { dueRows, nextDueAt }
})

interface Next {
  readonly due_at: bigint | null
}
