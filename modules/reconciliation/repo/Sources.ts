/** What chain, books and events each say of a period. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { readInFull } from "../../../runtime/store/IndexPlans.ts"
import type { BookOwner } from "../../ledger/plugin.ts"
import { confirmedPayments } from "../rules/Events.ts"
import { type Movement, payoutCounterAccount } from "../rules/Flows.ts"
import type { MovementsSince } from "../rules/Openings.ts"
import type { Span } from "../rules/Periods.ts"
import type { SourceCount } from "../rules/Report.ts"
import { fragmentsOf } from "./Fragments.ts"

/** Counted payments by what their events tell. */
export interface EventSum {
  /** `<network>:<token id>`. */
  readonly key: string
  readonly count: number
  readonly usdMillis: bigint
}

interface SourceRow {
  readonly asset: string
  readonly count: bigint
  readonly units: string
}

const readSource = ({ asset, count, units }: SourceRow): SourceCount => ({
  asset,
  count: Number(count),
  units: BigInt(units)
})

interface MovementRow {
  readonly asset: string
  readonly account: string
  readonly counter_account: string
  readonly is_before: boolean
  readonly units: string
  readonly usd_millis: string
}

const readMovement = (row: MovementRow): Movement => ({
  asset: row.asset,
  account: row.account,
  counterAccount: row.counter_account,
  isBeforePeriod: row.is_before,
  units: BigInt(row.units),
  usdMillis: BigInt(row.usd_millis)
})

export const makeSources = (sql: SqlClient.SqlClient) => {
  const { idOfSource, isIntoWallet, isOutOfWallet, isReceived, movedUnits, movedUsd, sliceOfId, unmatchedOf } =
    fragmentsOf(
      sql
    )
  // A payout is told from money that left its chain again by its transaction, which is read of these few alone.
  const counterAccount = sql`CASE WHEN ${isIntoWallet} THEN e.credit
    WHEN e.debit IN ('merchant_available', 'suspense') AND EXISTS (
      SELECT FROM balance_transactions t
      WHERE t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND t.type = 'payout'
    ) THEN ${payoutCounterAccount} ELSE e.debit END`
  const account = sql`CASE WHEN ${isIntoWallet} THEN e.debit ELSE e.credit END`
  const units = sql`sum(${movedUnits})`
  const usdMillis = sql`sum(${movedUsd})`

  /** What moved in or out of the wallets' accounts before `to`: a row for each pair of accounts, before and in the period. */
  const movements = ({ environment, merchantId }: BookOwner, { from, to }: Span) =>
    sql<MovementRow>`SELECT e.asset, ${account} AS account, ${counterAccount} AS counter_account,
        e.created_at < ${from} AS is_before, ${units}::text AS units, ${usdMillis}::text AS usd_millis
      FROM ledger_entries e
      WHERE e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at < ${to}
        AND (${isIntoWallet} OR ${isOutOfWallet})
      GROUP BY 1, 2, 3, 4`.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map((rows) => rows.map(readMovement))
    )

  /** The same of what moved from `since` on, with what moved after the period and what the accounts hold now. */
  const movementsSince = ({ environment, merchantId }: BookOwner, { from, to }: Span, since: number) =>
    sql<MovementRow & { readonly part: "later" | "held" | "moved" }>`
      SELECT CASE WHEN e.created_at < ${to} THEN 'moved' ELSE 'later' END AS part, e.asset, ${account} AS account,
        ${counterAccount} AS counter_account, e.created_at < ${from} AS is_before, ${units}::text AS units,
        ${usdMillis}::text AS usd_millis
      FROM ledger_entries e
      WHERE e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at >= ${since}
        AND (${isIntoWallet} OR ${isOutOfWallet})
      GROUP BY 1, 2, 3, 4, 5
      UNION ALL
      SELECT 'held', asset, account, '', false, units::text, usd_millis::text FROM account_balances
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND account >= 'chain:' AND account < 'chain;'
      `.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map((rows): MovementsSince => {
        const of = (part: string) => rows.filter((row) => row.part === part).map(readMovement)
        return { movements: of("moved"), later: of("later"), balances: of("held") }
      })
    )

  /** Money that came by the books in some slices: what its entries of the period come to, where that is above zero. */
  const ledgerSums = (owner: BookOwner, { from, to }: Span, slices: ReadonlyArray<number>) =>
    sql<SourceRow>`WITH unmatched AS MATERIALIZED (${unmatchedOf(owner)})
      SELECT asset, count(*) AS count, sum(units)::text AS units
      FROM (
        SELECT e.asset, b.source_id, ${units} AS units
        FROM ledger_entries e
        JOIN balance_transactions b ON b.merchant_id = e.merchant_id AND b.id = e.transaction_id
        LEFT JOIN unmatched x ON b.source_object = 'exception' AND x.id = b.source_id
        WHERE e.merchant_id = ${owner.merchantId} AND e.environment = ${owner.environment} AND e.created_at >= ${from}
          AND e.created_at < ${to} AND (${isIntoWallet} OR ${isOutOfWallet}) AND ${isReceived}
          AND (${sliceOfId(sql`(${idOfSource})`)}) = ANY (${[...slices]}::integer[])
        GROUP BY 1, 2
      ) money WHERE units > 0 GROUP BY asset`.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map((rows) => rows.map(readSource))
    )

  /** Counted payments by their events, in whole buckets of the period. */
  const eventSums = ({ environment, merchantId }: BookOwner, { from, to }: Span) =>
    sql<{ key: string; count: bigint; amount: bigint }>`SELECT key, sum(count)::bigint AS count,
        sum(amount)::bigint AS amount
      FROM rollups WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND sum = ${confirmedPayments.sum} AND width = ${confirmedPayments.widths[0]!} AND bucket >= ${from}
        AND bucket < ${to}
      GROUP BY key HAVING sum(count) <> 0 ORDER BY key`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map(({ amount, count, key }): EventSum => ({ key, count: Number(count), usdMillis: amount }))
      )
    )

  return { eventSums, ledgerSums, movements, movementsSince }
}
