/** All books together, for an operator: a row for each account is read, but no entry and no settlement. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { signedUsdWire } from "../../../schemas/Money.ts"
import { payoutExceptionTypes } from "../../../schemas/Payment.ts"
import { settledAccount, settledEnd } from "../rules.ts"

export interface BookTotals {
  /** Of all balances, as a metric takes it: 0 where the books are right. */
  readonly trialBalanceUsdMillis: number
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
  "unmatched_payment",
  ...payoutExceptionTypes
]

interface Row {
  readonly usd_millis: string
  readonly unbalanced: number
  readonly oldest: number | null
}

export const readTotals = (sql: SqlClient.SqlClient): Effect.Effect<BookTotals> =>
  sql<Row>`
    WITH RECURSIVE owners AS (
      (SELECT merchant_id, environment FROM account_balances ORDER BY merchant_id, environment LIMIT 1)
      UNION ALL
      SELECT n.merchant_id, n.environment FROM owners o, LATERAL (
        SELECT merchant_id, environment FROM account_balances b
        WHERE (b.merchant_id, b.environment) > (o.merchant_id, o.environment)
        ORDER BY b.merchant_id, b.environment LIMIT 1
      ) n
    ), balances AS (
      SELECT o.merchant_id, o.environment, b.asset, b.units, b.usd_millis FROM owners o, LATERAL (
        SELECT asset, units, usd_millis FROM account_balances
        WHERE merchant_id = o.merchant_id AND environment = o.environment AND account < ${settledAccount}
        UNION ALL
        SELECT asset, units, usd_millis FROM account_balances
        WHERE merchant_id = o.merchant_id AND environment = o.environment AND account >= ${settledEnd}
      ) b
    )
    SELECT coalesce(sum(usd_millis), 0)::text AS usd_millis, (
      SELECT count(*)::integer FROM (
        SELECT 1 FROM balances GROUP BY merchant_id, environment, asset
        HAVING sum(units) <> 0 OR sum(usd_millis) <> 0
      ) unbalanced
    ) AS unbalanced, (
      SELECT min(created_at)::float8 FROM exceptions WHERE status = 'open' AND type = ANY (${suspenseTypes}::text[])
    ) AS oldest
    FROM balances`.pipe(
    Effect.orDie,
    Effect.map(([row]) => ({
      trialBalanceUsdMillis: signedUsdWire(BigInt(row!.usd_millis)),
      unbalancedAssets: row!.unbalanced,
      oldestSuspenseAt: row!.oldest
    }))
  )
