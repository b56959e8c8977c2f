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

/** Comparisons of one report, at most: what is wrong comes first. */
export const maximumComparisons = 1_000

/** Seconds around a period in which a transfer's other side is looked for. */
const marginSeconds = 86_400

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
    reversesEarlier: row.reverses_earlier!
  },
  countedUsdMillis: row.counted,
  rejection: row.rejection
})

/** Money of which chain and books do not say the same, or that is told apart; what is wrong first. */
export const comparisonsOf = (sql: SqlClient.SqlClient) => {
  /**
   * The id that a payment has by that of its transfer: `uuidOf` of `runtime/Uuid.ts`, of the name that `paymentIdOf` of
   * the payments gives it.
   */
  const paymentId = sql`(SELECT (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-8' || substr(h, 14, 3) || '-'
      || substr('89ab', (strpos('0123456789abcdef', substr(h, 17, 1)) - 1) % 4 + 1, 1) || substr(h, 18, 3) || '-'
      || substr(h, 21, 12))::uuid
    FROM encode(sha256(convert_to('payment:' || t.id, 'UTF8')), 'hex') h)`

  const isIntoWallet = sql`starts_with(e.debit, 'chain:')`
  const isOutOfWallet = sql`starts_with(e.credit, 'chain:')`

  return ({ environment, merchantId }: BookOwner, { from, to }: Span) => {
    const [first, past] = [from - marginSeconds, to + marginSeconds]
    const isWithin = (moment: Statement.Fragment) => sql`(${moment} >= ${from} AND ${moment} < ${to})`
    const isDifferent = (prefix: "" | "m.") => {
      const column = (name: string) => sql.literal(`${prefix}${name}`)
      return sql`(${column("units")} <> ${column("amount")} OR ${column("unlisted")}
        OR ${isWithin(column("block_time"))} <> ${isWithin(column("at"))})`
    }
    return sql<ComparisonRow>`WITH t AS MATERIALIZED (
        SELECT t.id, t.network || ':' || coalesce(t.token_address, 'native') AS asset, t.amount, t.block_time, t.tx_hash,
          t.unlisted, t.status = t.handled AS is_handled, ${paymentId} AS payment_id
        FROM transfers t
        WHERE t.merchant_id = ${merchantId} AND t.environment = ${environment} AND t.status <> 'reverted'
          AND t.block_time >= ${first} AND t.block_time < ${past}
      ), named AS MATERIALIZED (
        SELECT payment_id::text AS source_id, id AS transfer_id FROM t
        UNION ALL
        SELECT x.id, x.evidence ->> 'transfer_id' FROM exceptions x
        WHERE x.merchant_id = ${merchantId} AND x.environment = ${environment} AND x.invoice_id IS NULL
          AND x.evidence ->> 'transfer_id' IS NOT NULL
      ), k AS (
        SELECT coalesce(n.transfer_id, b.source_id) AS key, min(b.source_object) AS source_object,
          min(b.source_id) AS source_id, e.asset,
          sum(CASE WHEN ${isIntoWallet} THEN e.units ELSE -e.units END) AS units,
          sum(CASE WHEN ${isIntoWallet} THEN e.usd_millis ELSE -e.usd_millis END) AS usd_millis,
          min(e.created_at) AS at,
          bool_or(CASE WHEN e.kind = 'voided' THEN b.booked_micros ELSE r.booked_micros END
            < ${BigInt(first) * 1_000_000n}) IS TRUE AS reverses_earlier
        FROM ledger_entries e
        JOIN balance_transactions b ON b.merchant_id = e.merchant_id AND b.id = e.transaction_id
        LEFT JOIN balance_transactions r ON r.merchant_id = b.merchant_id AND r.id = b.reverses
        LEFT JOIN named n ON n.source_id = b.source_id
        WHERE e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at >= ${first}
          AND e.created_at < ${past} AND (${isIntoWallet} OR ${isOutOfWallet})
          AND b.source_object IN ('invoice_payment', 'exception')
        GROUP BY 1, e.asset
      ), both_sides AS (
        SELECT t.*, k.source_object, k.source_id, k.asset AS ledger_asset, k.units, k.usd_millis, k.at,
          k.reverses_earlier, k.key,
          coalesce(t.payment_id, CASE WHEN k.source_object = 'invoice_payment' THEN k.source_id::uuid END) AS money_id
        FROM t FULL JOIN k ON k.key = t.id AND k.asset = t.asset
      ), odd AS (
        SELECT m.*, p.id AS known_id,
          CASE WHEN p.status IN ('underpaid', 'confirmed') THEN p.amount END AS counted,
          CASE WHEN p.status = 'rejected' THEN p.metadata ->> 'exception' END AS rejection
        FROM both_sides m LEFT JOIN invoice_payments p ON p.id = m.money_id AND p.merchant_id = ${merchantId}
        WHERE (${isWithin(sql`m.block_time`)} OR ${isWithin(sql`m.at`)}) AND (m.id IS NULL OR m.key IS NULL
          OR ${isDifferent("m.")}
          OR (p.status IN ('underpaid', 'confirmed') AND p.amount <> m.usd_millis)
          OR m.reverses_earlier OR (p.status = 'rejected' AND p.metadata ->> 'exception' = 'below_dust'))
      ), completed AS (
        -- The other side may lie far away in time: money that was assigned weeks later, or booked when the books began.
        SELECT coalesce(m.source_object, CASE WHEN m.known_id IS NULL THEN 'exception' ELSE 'invoice_payment' END)
            AS source_object,
          coalesce(m.source_id, m.known_id::text, m.id) AS source_id, coalesce(m.asset, m.ledger_asset) AS asset,
          coalesce(m.amount, c.amount) AS amount, coalesce(m.block_time, c.block_time) AS block_time,
          coalesce(m.tx_hash, c.tx_hash) AS tx_hash, coalesce(m.unlisted, c.unlisted) AS unlisted,
          coalesce(m.is_handled, c.is_handled) AS is_handled, coalesce(m.units, o.units) AS units,
          coalesce(m.usd_millis, o.usd_millis) AS usd_millis, coalesce(m.at, o.at) AS at,
          coalesce(m.reverses_earlier, false) AS reverses_earlier, m.counted, m.rejection
        FROM odd m LEFT JOIN LATERAL (
          SELECT sum(CASE WHEN ${isIntoWallet} THEN e.units ELSE -e.units END) AS units,
            sum(CASE WHEN ${isIntoWallet} THEN e.usd_millis ELSE -e.usd_millis END) AS usd_millis,
            min(e.created_at) AS at
          FROM balance_transactions b
          JOIN ledger_entries e ON e.merchant_id = b.merchant_id AND e.transaction_id = b.id AND e.asset = m.asset
          WHERE m.key IS NULL AND b.merchant_id = ${merchantId} AND (${isIntoWallet} OR ${isOutOfWallet})
            AND b.source_id = ANY (ARRAY(SELECT m.payment_id::text UNION ALL SELECT x.id FROM exceptions x
              WHERE x.merchant_id = ${merchantId} AND x.invoice_id IS NULL AND x.evidence ->> 'transfer_id' = m.id))
        ) o ON true LEFT JOIN LATERAL (
          SELECT t.amount, t.block_time, t.tx_hash, t.unlisted, t.status = t.handled AS is_handled FROM transfers t
          WHERE m.id IS NULL AND NOT m.reverses_earlier AND t.merchant_id = ${merchantId} AND t.status <> 'reverted'
            AND t.id = coalesce((
              SELECT t.id FROM invoice_payments p JOIN transfers t ON t.invoice_id = p.invoice_id::text
              WHERE p.id = m.money_id AND p.merchant_id = ${merchantId} AND ${paymentId} = p.id LIMIT 1), m.key)
        ) c ON true
      )
      SELECT source_object, source_id, asset, amount::text AS chain_units, block_time AS chain_at, tx_hash,
        unlisted AS is_unlisted, is_handled, units::text AS ledger_units, usd_millis::text AS ledger_usd_millis,
        at AS ledger_at, reverses_earlier, counted, rejection
      FROM completed
      WHERE (amount IS NULL AND units <> 0) OR units IS NULL OR reverses_earlier
        OR ${isDifferent("")}
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
