/** The only SQL of reconciliation: closed months, adjustments, and what is compared. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { readInFull } from "../../runtime/store/IndexPlans.ts"
import type { BookOwner } from "../ledger/plugin.ts"
import { makeChecksums } from "./repo/Checksums.ts"
import { comparisonsOf } from "./repo/Comparisons.ts"
import { periodFactsOf } from "./repo/PeriodFacts.ts"
import { makeReadings } from "./repo/Readings.ts"
import { makeSources } from "./repo/Sources.ts"
import type { ClosedPeriod, LastClosedMonth, StoredAdjustment } from "./rules/Report.ts"

export { maximumComparisons } from "./repo/Comparisons.ts"
export { firstWallet, readingWrite, type WalletAsset, type WalletPlace } from "./repo/Readings.ts"

export const closedPeriodWrite = (
  { environment, merchantId }: BookOwner,
  { actor, closedAt, hash, period, previousHash, report }: ClosedPeriod
): Write => ({
  table: "closed_periods",
  row: {
    merchant_id: merchantId,
    environment,
    period,
    version: 1,
    report,
    previous_hash: previousHash,
    hash,
    actor,
    closed_at: closedAt
  }
})

export const lastClosedWrite = (
  { environment, merchantId }: BookOwner,
  before: LastClosedMonth | null,
  { hash, period }: Pick<ClosedPeriod, "hash" | "period">
): Write => ({
  table: "closed_period_chains",
  row: { merchant_id: merchantId, environment, version: (before?.version ?? 0) + 1, period, hash }
})

/** `ordinal`: one more than that of the adjustment before. */
export const adjustmentWrite = (
  { environment, merchantId }: BookOwner,
  adjustment: StoredAdjustment,
  ordinal: number
): Write => ({
  table: "reconciliation_adjustments",
  row: {
    merchant_id: merchantId,
    environment,
    ordinal,
    version: 1,
    id: adjustment.id,
    account: adjustment.account,
    asset: adjustment.asset,
    units: adjustment.units.toString(),
    usd_millis: adjustment.usdMillis.toString(),
    ignored_units: adjustment.ignored.units.toString(),
    ignored_usd_millis: adjustment.ignored.usdMillis.toString(),
    note: adjustment.note,
    explains_period: adjustment.explainsPeriod,
    explains_id: adjustment.explainsId,
    balance_transaction_id: adjustment.balanceTransactionId,
    actor: adjustment.actor,
    created_at: adjustment.createdAt
  }
})

interface ClosedRow {
  readonly period: string
  readonly report: string
  readonly previous_hash: string
  readonly hash: string
  readonly actor: string
  readonly closed_at: bigint
}

const readClosed = (row: ClosedRow): ClosedPeriod => ({
  period: row.period,
  report: row.report,
  previousHash: row.previous_hash,
  hash: row.hash,
  actor: row.actor,
  closedAt: Number(row.closed_at)
})

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  /** Whether a transfer in a block before `to` waits for its depth, or for its payment to be dealt with. */
  const hasOpenTransfers = ({ environment, merchantId }: BookOwner, to: number) =>
    sql<{ has_open_transfers: boolean }>`SELECT EXISTS (
        SELECT FROM transfers WHERE status = 'seen' AND merchant_id = ${merchantId} AND environment = ${environment}
          AND block_time < ${to}
      ) OR EXISTS (
        SELECT FROM transfers WHERE status <> handled AND merchant_id = ${merchantId} AND environment = ${environment}
          AND block_time < ${to}
      ) AS has_open_transfers`.pipe(Effect.orDie, Effect.map(([row]) => row!.has_open_transfers))

  /** Epoch seconds of the first entry of the books; null: they are empty. */
  const firstEntryAt = ({ environment, merchantId }: BookOwner) =>
    sql<{ first: bigint | null }>`SELECT min(created_at) AS first FROM ledger_entries
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row?.first == null ? null : Number(row.first))
    )

  const closed = ({ environment, merchantId }: BookOwner, period: string) =>
    sql<ClosedRow>`SELECT * FROM closed_periods
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period = ${period}`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row === undefined ? null : readClosed(row))
    )

  /** Newest first: a month that comes `before` another one by name does so in time. */
  const listClosed = ({ environment, merchantId }: BookOwner, before: string | null, limit: number) =>
    sql<ClosedRow>`SELECT * FROM closed_periods
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        ${before === null ? sql`` : sql`AND period < ${before}`}
      ORDER BY period DESC LIMIT ${limit}`.pipe(Effect.orDie, Effect.map((rows) => rows.map(readClosed)))

  /** The newest closed month up to one of that name, which it may be. */
  const newestClosed = ({ environment, merchantId }: BookOwner, period: string) =>
    sql<ClosedRow>`SELECT * FROM closed_periods
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND period <= ${period}
      ORDER BY period DESC LIMIT 1`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row === undefined ? null : readClosed(row))
    )

  const lastClosed = ({ environment, merchantId }: BookOwner) =>
    sql<{ version: bigint; period: string; hash: string }>`SELECT version, period, hash FROM closed_period_chains
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.orDie,
      Effect.map(([row]): LastClosedMonth | null =>
        row === undefined ? null : { version: Number(row.version), period: row.period, hash: row.hash }
      )
    )

  const lastOrdinal = ({ environment, merchantId }: BookOwner) =>
    sql<{ last: number | null }>`SELECT max(ordinal) AS last FROM reconciliation_adjustments
      WHERE merchant_id = ${merchantId} AND environment = ${environment}`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row?.last ?? 0)
    )

  return {
    ...makeSources(sql),
    ...makeReadings(sql),
    lastClosed,
    closed,
    checksums: makeChecksums(sql),
    comparisons: comparisonsOf(sql),
    firstEntryAt,
    hasOpenTransfers,
    lastOrdinal,
    listClosed,
    newestClosed,
    periodFacts: periodFactsOf(sql),
    /** Reads what belongs together by one change of the planner's settings. */
    readInFull: <A>(statements: Effect.Effect<A>): Effect.Effect<A> => Effect.orDie(readInFull(sql)(statements))
  }
})

export type Repo = Effect.Success<typeof makeRepo>
