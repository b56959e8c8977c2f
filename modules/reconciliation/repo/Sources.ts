/** What chain, books and events each say of a period. */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { readInFull } from "../../../runtime/store/IndexPlans.ts"
import type { BookOwner } from "../../ledger/plugin.ts"
import { type Movement, payoutCounterAccount } from "../rules/Flows.ts"
import type { MovementsSince } from "../rules/Openings.ts"
import type { Span } from "../rules/Periods.ts"
import type { SourceCount } from "../rules/Report.ts"
import { fragmentsOf } from "./Fragments.ts"

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
  const { isIntoWallet, isOutOfWallet, movedUnits, movedUsd, receivedOf, sliceOf, unmatchedOf } = fragmentsOf(sql)
  /**
   * What entries move: a row for each pair of accounts, and for what `part` and `isBefore` tell of them. They are added
   * up by their columns first, of which the planner knows that they have few values; by expressions it sorted all
   * entries. A payout is told from money that left its chain again by its transaction: it is read of these few alone.
   */
  const movementsOf = (
    ofEntries: Statement.Fragment,
    { isBefore, part }: { readonly isBefore: Statement.Fragment; readonly part: Statement.Fragment }
  ) =>
    sql`SELECT e.part, e.asset, CASE WHEN ${isIntoWallet} THEN e.debit ELSE e.credit END AS account,
        CASE WHEN ${isIntoWallet} THEN e.credit WHEN e.is_payout THEN ${payoutCounterAccount} ELSE e.debit END
          AS counter_account,
        e.is_before, sum(${movedUnits})::text AS units, sum(${movedUsd})::text AS usd_millis
      FROM (
        SELECT ${part} AS part, e.asset, e.debit, e.credit, ${isBefore} AS is_before,
          ${isOutOfWallet} AND e.debit IN ('merchant_available', 'suspense') AND EXISTS (
            SELECT FROM balance_transactions t
            WHERE t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND t.type = 'payout'
          ) AS is_payout,
          sum(e.units) AS units, sum(e.usd_millis) AS usd_millis
        FROM ledger_entries e WHERE ${ofEntries} AND (${isIntoWallet} OR ${isOutOfWallet})
        GROUP BY 1, 2, 3, 4, 5, 6
      ) e
      GROUP BY 1, 2, 3, 4, 5`

  /**
   * What moved in or out of the wallets' accounts before `to`: a row for each pair of accounts, before and in it. Like
   * {@link movementsSince} it reads most of the books: within `readInFull`.
   */
  const movements = ({ environment, merchantId }: BookOwner, { from, to }: Span) =>
    sql<MovementRow>`${
      movementsOf(
        sql`e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at < ${to}`,
        { isBefore: sql`e.created_at < ${from}`, part: sql`'moved'` }
      )
    }`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readMovement))
    )

  /** The same of what moved from `since` on, with what moved after the period and what the accounts hold now. */
  const movementsSince = ({ environment, merchantId }: BookOwner, { from, to }: Span, since: number) =>
    sql<MovementRow & { readonly part: "later" | "held" | "moved" }>`${
      movementsOf(
        sql`e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at >= ${since}`,
        {
          isBefore: sql`e.created_at < ${from}`,
          part: sql`CASE WHEN e.created_at < ${to} THEN 'moved' ELSE 'later' END`
        }
      )
    }
      UNION ALL
      SELECT 'held', asset, account, '', false, units::text, usd_millis::text FROM account_balances
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND account >= 'chain:' AND account < 'chain;'
      `.pipe(
      Effect.orDie,
      Effect.map((rows): MovementsSince => {
        const of = (part: string) => rows.filter((row) => row.part === part).map(readMovement)
        return { movements: of("moved"), later: of("later"), balances: of("held") }
      })
    )

  /** Money that came by the books in some slices: what its entries of the period come to, where that is above zero. */
  const ledgerSums = (owner: BookOwner, span: Span, slices: ReadonlyArray<number>) =>
    sql<SourceRow>`WITH unmatched AS MATERIALIZED (${unmatchedOf(owner)})
      SELECT asset, count(*) AS count, sum(units)::text AS units
      FROM (
        SELECT asset, sum(units) AS units
        FROM (${receivedOf(owner, span)} OFFSET 0) r
        WHERE ${sliceOf(sql`hash`)} = ANY (${[...slices]}::integer[])
        GROUP BY asset, exception_id, CASE WHEN exception_id IS NULL THEN payment_id END
      ) money WHERE units > 0 GROUP BY asset`.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map((rows) => rows.map(readSource))
    )

  return { ledgerSums, movements, movementsSince }
}
