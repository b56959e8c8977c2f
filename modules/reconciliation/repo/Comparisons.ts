/**
 * Transfers and their bookings side by side. They are compared in the database, so that a month of a million payments
 * takes no memory here.
 */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { readInFull } from "../../../runtime/store/IndexPlans.ts"
import type { BookOwner } from "../../ledger/plugin.ts"
import type { Comparison } from "../rules/Differences.ts"
import type { Span } from "../rules/Periods.ts"
import { fragmentsOf, marginSeconds } from "./Fragments.ts"

/** Comparisons of one report, at most: what is wrong comes first. */
export const maximumComparisons = 1_000

interface ComparisonRow {
  readonly source_object: Comparison["source"]["object"]
  readonly source_id: string
  readonly asset: string
  readonly chain_units: string | null
  readonly chain_at: bigint | null
  readonly tx_hash: string | null
  readonly is_unlisted: boolean | null
  readonly is_handled: boolean | null
  readonly ledger_units: string | null
  readonly ledger_usd_millis: string | null
  readonly ledger_at: bigint | null
  readonly reverses_earlier: boolean | null
  readonly is_reversed_later: boolean | null
  readonly counted: bigint | null
  readonly rejection: string | null
}

const readComparison = (row: ComparisonRow): Comparison => ({
  source: { object: row.source_object, id: row.source_id },
  asset: row.asset,
  chain: row.chain_units === null ? null : {
    units: BigInt(row.chain_units),
    at: Number(row.chain_at),
    txHash: row.tx_hash!,
    isUnlisted: row.is_unlisted!,
    isHandled: row.is_handled!
  },
  ledger: row.ledger_units === null ? null : {
    units: BigInt(row.ledger_units),
    usdMillis: BigInt(row.ledger_usd_millis!),
    at: Number(row.ledger_at),
    reversesEarlier: row.reverses_earlier!,
    isReversedLater: row.is_reversed_later!
  },
  countedUsdMillis: row.counted,
  rejection: row.rejection
})

/** What entries come to for each payment or exception; for what takes back earlier money, those of the period alone. */
const moneyOf = (sql: SqlClient.SqlClient, { from, to }: Span) => {
  const isMoved = sql`(created_at >= ${from} AND created_at < ${to})`
  return sql`SELECT payment_id, asset, is_payment, exception_id, transfer_id, reverses_earlier, held_units,
      held_usd_millis, CASE WHEN reverses_earlier THEN moved_units ELSE units END AS units,
      CASE WHEN reverses_earlier THEN moved_usd_millis ELSE usd_millis END AS usd_millis,
      CASE WHEN reverses_earlier THEN moved_at ELSE at END AS at
    FROM (
      SELECT s.*, (moved_units < 0 AND came_micros < ${BigInt(from) * 1_000_000n}) IS TRUE AS reverses_earlier
      FROM (
        SELECT payment_id, asset, bool_or(exception_id IS NULL) AS is_payment, min(exception_id) AS exception_id,
          min(transfer_id) AS transfer_id, min(came_micros) AS came_micros,
          sum(units) AS units, sum(usd_millis) AS usd_millis, min(created_at) AS at,
          -- In the period, and up to its end.
          sum(units) FILTER (WHERE ${isMoved}) AS moved_units,
          sum(usd_millis) FILTER (WHERE ${isMoved}) AS moved_usd_millis,
          min(created_at) FILTER (WHERE ${isMoved}) AS moved_at,
          sum(units) FILTER (WHERE created_at < ${to}) AS held_units,
          sum(usd_millis) FILTER (WHERE created_at < ${to}) AS held_usd_millis
        FROM entries
        GROUP BY payment_id, CASE WHEN payment_id IS NULL THEN exception_id END, asset
      ) s
    ) k`
}

/**
 * Money of which chain and books differ in the span, with its other side, which may lie far away in time: it was
 * assigned weeks later, or booked when the books began. Each is looked for by its index, as few differ.
 */
const completedOf = (sql: SqlClient.SqlClient, merchantId: number) => {
  const { isIntoWallet, isOutOfWallet, isReceived, movedUnits, movedUsd } = fragmentsOf(sql)
  return sql`SELECT CASE WHEN coalesce(m.is_payment, p.id IS NOT NULL) THEN 'invoice_payment' ELSE 'exception' END
        AS source_object,
      CASE WHEN m.at IS NULL THEN coalesce(p.id::text, m.id)
        WHEN m.is_payment THEN m.money_id::text ELSE m.exception_id END AS source_id,
      coalesce(m.asset, m.ledger_asset) AS asset,
      coalesce(m.amount, c.amount) AS amount, coalesce(m.block_time, c.block_time) AS block_time,
      coalesce(m.tx_hash, c.tx_hash) AS tx_hash, coalesce(m.unlisted, c.unlisted) AS unlisted,
      coalesce(m.is_handled, c.is_handled) AS is_handled,
      CASE WHEN l.is_reversed_later THEN m.held_units ELSE coalesce(o.units, m.units) END AS units,
      CASE WHEN l.is_reversed_later THEN m.held_usd_millis ELSE coalesce(o.usd_millis, m.usd_millis) END
        AS usd_millis, coalesce(o.at, m.at) AS at, l.is_reversed_later,
      coalesce(m.reverses_earlier, false) AS reverses_earlier, coalesce(m.counted, p.counted) AS counted,
      coalesce(m.rejection, p.rejection) AS rejection
    FROM differing m LEFT JOIN LATERAL (
      SELECT p.id, CASE WHEN p.status IN ('underpaid', 'confirmed') THEN p.amount END AS counted,
        CASE WHEN p.status = 'rejected' THEN p.metadata ->> 'exception' END AS rejection
      FROM invoice_payments p WHERE m.at IS NULL AND p.id = m.payment_id AND p.merchant_id = ${merchantId} OFFSET 0
    ) p ON true LEFT JOIN LATERAL (
      SELECT t.amount, t.block_time, t.tx_hash, t.unlisted, t.status = t.handled AS is_handled FROM transfers t
      WHERE m.id IS NULL AND NOT m.reverses_earlier AND t.merchant_id = ${merchantId} AND t.status <> 'reverted'
        AND t.id = coalesce(m.transfer_id, (
          SELECT t.id FROM invoice_payments p JOIN transfers t ON t.invoice_id = p.invoice_id::text
          WHERE p.id = m.money_id AND p.merchant_id = ${merchantId} AND t.payment_id = p.id LIMIT 1))
      OFFSET 0
    ) c ON true LEFT JOIN LATERAL (
      -- Its bookings of all time: what left its chain and came back weeks later is booked three times.
      SELECT sum(${movedUnits}) AS units,
        sum(${movedUsd}) AS usd_millis,
        min(e.created_at) AS at
      FROM balance_transactions b
      JOIN ledger_entries e ON e.merchant_id = b.merchant_id AND e.transaction_id = b.id
        AND e.asset = coalesce(m.asset, m.ledger_asset)
      WHERE m.reverses_earlier IS NOT TRUE AND (m.at IS NULL OR m.units IS DISTINCT FROM coalesce(m.amount, c.amount))
        AND b.merchant_id = ${merchantId}
        AND (${isIntoWallet} OR ${isOutOfWallet}) AND ${isReceived}
        AND b.source_id = ANY (ARRAY(SELECT m.money_id::text UNION ALL
          SELECT x.id FROM unmatched x WHERE x.payment_id = m.money_id))
    ) o ON true CROSS JOIN LATERAL (
      -- It is on its chain no more, and was taken out of the books when the period was over.
      SELECT (m.id IS NULL AND c.amount IS NULL AND m.held_units > 0 AND o.units = 0) IS TRUE
        AS is_reversed_later
    ) l`
}

/**
 * Money of which chain and books do not say the same, or that is told apart, in some slices; what is wrong first. What
 * `differingSlices` leaves out has none.
 */
export const comparisonsOf = (sql: SqlClient.SqlClient) => {
  const { hashOf, receivedOf, sliceOf, unmatchedOf } = fragmentsOf(sql)

  return (owner: BookOwner, span: Span, slices: ReadonlyArray<number>) => {
    const { environment, merchantId } = owner
    const { from, to } = span
    const [first, past] = [from - marginSeconds, to + marginSeconds]
    const isWithin = (moment: Statement.Fragment) => sql`(${moment} >= ${from} AND ${moment} < ${to})`
    const isWanted = (slice: Statement.Fragment) => sql`${slice} = ANY (${[...slices]}::integer[])`
    return sql<ComparisonRow>`WITH t AS (
        SELECT t.id, t.network || ':' || coalesce(t.token_address, 'native') AS asset, t.amount, t.block_time,
          t.tx_hash, t.unlisted, t.status = t.handled AS is_handled, t.payment_id
        FROM transfers t
        WHERE t.merchant_id = ${merchantId} AND t.environment = ${environment} AND t.status <> 'reverted'
          AND t.block_time >= ${first} AND t.block_time < ${past} AND ${isWanted(sliceOf(hashOf(sql`t.payment_id`)))}
      ), unmatched AS MATERIALIZED (
        ${unmatchedOf(owner)}
      ), entries AS (
        SELECT r.payment_id, r.exception_id, r.transfer_id, r.asset, r.units, r.usd_millis, r.created_at,
          -- When the money came: what it reverses may be a later decision on it.
          CASE WHEN starts_with(r.credit, 'chain:') THEN (
            SELECT min(o.booked_micros) FROM balance_transactions o WHERE o.merchant_id = ${merchantId}
              AND o.source_id = ANY (ARRAY(SELECT coalesce(r.exception_id, r.payment_id::text) UNION ALL
                SELECT u.id FROM unmatched u WHERE r.exception_id IS NULL AND u.payment_id = r.payment_id))
          ) END AS came_micros
        FROM (${receivedOf(owner, { from: first, to: past })} OFFSET 0) r
        WHERE ${isWanted(sliceOf(sql`r.hash`))}
      ), k AS (
        ${moneyOf(sql, span)}
      ), counted AS (
        SELECT k.*, CASE WHEN p.status IN ('underpaid', 'confirmed') THEN p.amount END AS counted,
          CASE WHEN p.status = 'rejected' THEN p.metadata ->> 'exception' END AS rejection
        FROM k LEFT JOIN invoice_payments p ON p.id = k.payment_id AND p.merchant_id = ${merchantId}
      ), differing AS (
        SELECT t.*, k.asset AS ledger_asset, k.units, k.usd_millis, k.at, k.reverses_earlier, k.is_payment,
          k.held_units, k.held_usd_millis, k.exception_id, k.transfer_id, k.counted, k.rejection,
          coalesce(t.payment_id, k.payment_id) AS money_id
        FROM t FULL JOIN counted k ON k.payment_id = t.payment_id AND k.asset = t.asset
        WHERE (${isWithin(sql`t.block_time`)} OR ${isWithin(sql`k.at`)}) AND (t.id IS NULL OR k.at IS NULL
          OR k.units <> t.amount OR t.unlisted OR ${isWithin(sql`t.block_time`)} <> ${isWithin(sql`k.at`)}
          OR k.counted <> k.usd_millis OR k.reverses_earlier OR k.rejection = 'below_dust')
      ), completed AS (
        ${completedOf(sql, merchantId)}
      )
      SELECT source_object, source_id, asset, amount::text AS chain_units, block_time AS chain_at, tx_hash,
        unlisted AS is_unlisted, is_handled, units::text AS ledger_units, usd_millis::text AS ledger_usd_millis,
        at AS ledger_at, reverses_earlier, is_reversed_later, counted, rejection
      FROM completed
      WHERE (amount IS NULL AND units <> 0) OR units IS NULL OR reverses_earlier
        OR units <> amount OR unlisted OR ${isWithin(sql`block_time`)} <> ${isWithin(sql`at`)}
        OR counted <> usd_millis OR rejection = 'below_dust'
      ORDER BY (amount IS NULL OR units IS NULL OR units <> amount OR counted <> usd_millis) IS TRUE DESC,
        coalesce(block_time, at), source_id
      LIMIT ${maximumComparisons + 1}`.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map((rows) => rows.map(readComparison))
    )
  }
}
