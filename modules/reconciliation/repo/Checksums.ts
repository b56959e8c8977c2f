/**
 * What chain, books and payments each say of every slice of a period: one pass over each, and no join of the three.
 * They read most of what a merchant has: within `readInFull` (runtime/store/IndexPlans.ts).
 */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { BookOwner } from "../../ledger/plugin.ts"
import type { BookedSliceSum, CountedSlice, SliceSum } from "../rules/Checksums.ts"
import type { Span } from "../rules/Periods.ts"
import { fragmentsOf, marginSeconds } from "./Fragments.ts"

interface SliceRow {
  readonly slice: number
  readonly asset: string
  readonly is_in_period: boolean
  readonly count: bigint
  readonly units: string
  readonly checksum: string
  readonly needs_comparison: boolean
}

const readSlice = (row: SliceRow): SliceSum => ({
  slice: row.slice,
  asset: row.asset,
  isInPeriod: row.is_in_period,
  count: Number(row.count),
  units: BigInt(row.units),
  checksum: BigInt(row.checksum),
  needsComparison: row.needs_comparison
})

export const makeChecksums = (sql: SqlClient.SqlClient) => {
  const { hashOf, receivedOf, sliceOf, unmatchedOf } = fragmentsOf(sql)
  const isIn = (moment: Statement.Fragment, { from, to }: Span) => sql`${moment} >= ${from} AND ${moment} < ${to}`
  const around = ({ from, to }: Span): Span => ({ from: from - marginSeconds, to: to + marginSeconds })

  /** Transfers on their chains, by the times of their blocks. Those of a token that is in no list are compared. */
  const ofChain = ({ environment, merchantId }: BookOwner, span: Span) =>
    sql<SliceRow>`SELECT ${sliceOf(sql`hash`)} AS slice, asset, is_in_period, count(*) AS count,
        sum(amount)::text AS units, sum(hash_numeric_extended(amount, hash))::text AS checksum,
        bool_or(unlisted) AS needs_comparison
      FROM (
        SELECT t.network || ':' || coalesce(t.token_address, 'native') AS asset, t.amount, t.unlisted,
          ${isIn(sql`t.block_time`, span)} AS is_in_period, ${hashOf(sql`t.payment_id`)} AS hash
        FROM transfers t
        WHERE t.merchant_id = ${merchantId} AND t.environment = ${environment} AND t.status <> 'reverted'
          AND ${isIn(sql`t.block_time`, around(span))}
        -- Kept apart: else the hash is made again wherever it stands.
        OFFSET 0
      ) t GROUP BY 1, 2, 3`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readSlice))
    )

  /** Money that came by the books, by when it was booked. What left its chain again is compared. */
  const ofLedger = (owner: BookOwner, span: Span) =>
    sql<SliceRow & { readonly usd_checksum: string }>`WITH unmatched AS MATERIALIZED (${unmatchedOf(owner)})
      SELECT ${sliceOf(sql`hash`)} AS slice, asset, is_in_period,
        count(*) FILTER (WHERE units > 0) AS count, sum(units)::text AS units,
        sum(hash_numeric_extended(units, hash))::text AS checksum,
        coalesce(sum(hashint8extended(usd_millis, hash)) FILTER (WHERE starts_with(credit, 'merchant_')), 0)::text
          AS usd_checksum,
        bool_or(starts_with(credit, 'chain:')) AS needs_comparison
      FROM (
        SELECT *, ${isIn(sql`created_at`, span)} AS is_in_period
        FROM (${receivedOf(owner, around(span))} OFFSET 0) r
        OFFSET 0
      ) e GROUP BY 1, 2, 3`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): BookedSliceSum => ({ ...readSlice(row), usdChecksum: BigInt(row.usd_checksum) }))
      )
    )

  /**
   * What payments count for, by when they were made. A pending payment counts as well, because the books have it
   * already. One that is too small to count is compared.
   */
  const ofPayments = ({ environment, merchantId }: BookOwner, span: Span) =>
    sql<{ slice: number; usd_checksum: string; needs_comparison: boolean }>`SELECT ${sliceOf(sql`hash`)} AS slice,
        coalesce(sum(hashint8extended(amount, hash)) FILTER (WHERE is_counted), 0)::text
          AS usd_checksum,
        bool_or(needs_comparison) AS needs_comparison
      FROM (
        SELECT ${hashOf(sql`p.id`)} AS hash, p.amount, p.status IN ('pending', 'underpaid', 'confirmed') AS is_counted,
          p.status = 'rejected' AND (p.metadata ->> 'exception' = 'below_dust') IS TRUE AS needs_comparison
        FROM invoice_payments p
        WHERE p.merchant_id = ${merchantId} AND p.environment = ${environment}
          AND ${isIn(sql`p.created_at`, around(span))}
        OFFSET 0
      ) p GROUP BY 1`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): CountedSlice => ({
          slice: row.slice,
          usdChecksum: BigInt(row.usd_checksum),
          needsComparison: row.needs_comparison
        }))
      )
    )

  return { ofChain, ofLedger, ofPayments }
}
