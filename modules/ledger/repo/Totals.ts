/** All books together, for an operator: a row for each account is read, and no entry. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { signedUsdWire } from "../../../schemas/Money.ts"

export interface BookTotals {
  /** usd_millis, as a metric takes them. */
  readonly usdMillis: number
  /** Assets of a merchant and environment whose balances do not sum to zero. */
  readonly unbalancedAssets: number
  /** Epoch seconds. */
  readonly oldestSuspenseAt: number | null
}

/** Open exceptions of these types are about money in suspense. */
const suspenseTypes = [
  "late_payment",
  "wrong_token",
  "wrong_network",
  "missing_memo",
  "below_dust",
  "screened",
  "unmatched_payment"
]

interface Row {
  readonly usd_millis: string
  readonly unbalanced: number
  readonly oldest: number | null
}

export const readTotals = (sql: SqlClient.SqlClient): Effect.Effect<BookTotals> =>
  sql<Row>`
    SELECT coalesce(sum(usd_millis), 0)::text AS usd_millis, (
      SELECT count(*)::integer FROM (
        SELECT 1 FROM account_balances GROUP BY merchant_id, environment, asset
        HAVING sum(units) <> 0 OR sum(usd_millis) <> 0
      ) unbalanced
    ) AS unbalanced, (
      SELECT min(created_at)::float8 FROM exceptions WHERE status = 'open' AND type = ANY (${suspenseTypes}::text[])
    ) AS oldest
    FROM account_balances`.pipe(
    Effect.orDie,
    Effect.map(([row]) => ({
      usdMillis: signedUsdWire(BigInt(row!.usd_millis)),
      unbalancedAssets: row!.unbalanced,
      oldestSuspenseAt: row!.oldest
    }))
  )
