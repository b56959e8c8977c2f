/** What a report says of a period beside its movements: adjustments, events, and what is open and wrong now. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BookOwner } from "../../ledger/plugin.ts"
import { confirmedPayments } from "../rules/Events.ts"
import type { Period } from "../rules/Periods.ts"
import type { StoredAdjustment, Suspense } from "../rules/Report.ts"

/** Counted payments by what their events tell. */
export interface EventSum {
  /** `<network>:<token id>`. */
  readonly key: string
  readonly count: number
  readonly usdMillis: bigint
}

/** Large numbers are text: JSON would round them. */
interface AdjustmentRow {
  readonly id: string
  readonly account: string
  readonly asset: string
  readonly units: string
  readonly usd_millis: string
  readonly ignored_units: string
  readonly ignored_usd_millis: string
  readonly note: string
  readonly explains_period: string | null
  readonly explains_id: string | null
  readonly balance_transaction_id: string
  readonly actor: string
  readonly created_at: string
}

const readAdjustment = (row: AdjustmentRow): StoredAdjustment => ({
  id: row.id,
  account: row.account,
  asset: row.asset,
  units: BigInt(row.units),
  usdMillis: BigInt(row.usd_millis),
  ignored: { units: BigInt(row.ignored_units), usdMillis: BigInt(row.ignored_usd_millis) },
  note: row.note,
  explainsPeriod: row.explains_period,
  explainsId: row.explains_id,
  balanceTransactionId: row.balance_transaction_id,
  actor: row.actor,
  createdAt: Number(row.created_at)
})

interface FactsRow {
  readonly trial_balance: string
  readonly suspense: ReadonlyArray<{ readonly group: number; readonly count: number; readonly amount: string }>
  readonly adjustments: ReadonlyArray<AdjustmentRow>
  readonly events: ReadonlyArray<{ readonly key: string; readonly count: number; readonly amount: string }>
}

export interface PeriodFacts {
  /** Sum of all balances in usd_millis: 0, or the books are broken. */
  readonly trialBalance: bigint
  /** Open exceptions by how long they are open: the first group is younger than the first age, and so on. */
  readonly suspense: ReadonlyArray<Suspense>
  /** Adjustments that account for differences of the month. */
  readonly adjustments: ReadonlyArray<StoredAdjustment>
  /** Counted payments by their events, in whole buckets of the period. */
  readonly events: ReadonlyArray<EventSum>
}

/** All of them by one statement. `ages` are those of {@link PeriodFacts.suspense}, in seconds. */
export const periodFactsOf = (sql: SqlClient.SqlClient) =>
(
  { environment, merchantId }: BookOwner,
  { from, name, to }: Period,
  now: number,
  ages: ReadonlyArray<number>
): Effect.Effect<PeriodFacts> => {
  const isTheirs = sql`merchant_id = ${merchantId} AND environment = ${environment}`
  return sql<FactsRow>`SELECT
        (SELECT coalesce(sum(usd_millis), 0)::text FROM account_balances WHERE ${isTheirs}) AS trial_balance,
        (SELECT coalesce(json_agg(s), '[]') FROM (
          SELECT width_bucket(${now} - created_at, ${[...ages]}::bigint[]) AS "group", count(*) AS count,
            coalesce(sum(amount), 0)::text AS amount
          FROM exceptions WHERE ${isTheirs} AND status = 'open' GROUP BY 1
        ) s) AS suspense,
        (SELECT coalesce(json_agg(a ORDER BY a.ordinal), '[]') FROM (
          SELECT ordinal, id, account, asset, units::text AS units, usd_millis::text AS usd_millis,
            ignored_units::text AS ignored_units, ignored_usd_millis::text AS ignored_usd_millis, note,
            explains_period, explains_id, balance_transaction_id, actor, created_at::text AS created_at
          FROM reconciliation_adjustments WHERE ${isTheirs} AND explains_period = ${name}::text
        ) a) AS adjustments,
        (SELECT coalesce(json_agg(e ORDER BY e.key), '[]') FROM (
          SELECT key, sum(count)::bigint AS count, sum(amount)::text AS amount
          FROM rollups WHERE ${isTheirs} AND sum = ${confirmedPayments.sum}
            AND width = ${confirmedPayments.widths[0]!} AND bucket >= ${from} AND bucket < ${to}
          GROUP BY key HAVING sum(count) <> 0
        ) e) AS events`.pipe(
    Effect.orDie,
    Effect.map(([row]) => {
      const { adjustments, events, suspense, trial_balance: trialBalance } = row!
      return {
        trialBalance: BigInt(trialBalance),
        suspense: suspense.map(({ amount, count, group }) => ({ group, count, usdMillis: BigInt(amount) })),
        adjustments: adjustments.map(readAdjustment),
        events: events.map(({ amount, count, key }) => ({ key, count, usdMillis: BigInt(amount) }))
      }
    })
  )
}
