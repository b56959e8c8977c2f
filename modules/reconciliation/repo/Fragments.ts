/** What several statements of reconciliation say in the same words. */
import type { SqlClient, Statement } from "effect/sql"
import type { BookOwner } from "../../ledger/plugin.ts"
import { sliceCount } from "../rules/Checksums.ts"
import type { Span } from "../rules/Periods.ts"

/** Seconds around a period in which a transfer's other side is looked for. */
export const marginSeconds = 86_400

/** Of a hash, the bits that tell its slice. */
const sliceMask = sliceCount - 1

export const fragmentsOf = (sql: SqlClient.SqlClient) => {
  /** The same number for the same payment. */
  const hashOf = (paymentId: Statement.Fragment) => sql`uuid_hash_extended(${paymentId}, 0)`
  const isIntoWallet = sql`starts_with(e.debit, 'chain:')`
  const isOutOfWallet = sql`starts_with(e.credit, 'chain:')`
  const movedUnits = sql`CASE WHEN ${isIntoWallet} THEN e.units ELSE -e.units END`
  const movedUsd = sql`CASE WHEN ${isIntoWallet} THEN e.usd_millis ELSE -e.usd_millis END`
  return {
    hashOf,
    isIntoWallet,
    isOutOfWallet,
    /** What an entry moves into its wallet: below zero where it leaves. */
    movedUnits,
    movedUsd,
    /** What the transaction `b` tells of is money that came or left its chain again, not a refund or a payout. */
    isReceived: sql`b.source_object IN ('invoice_payment', 'exception') AND b.type <> 'payout'`,
    /**
     * Entries, between two times, of money that came or left its chain again. `payment_id`: the payment of it, or the
     * one that its exception would have; null: neither. `hash`: of that id, or of the exception's. Entries name their
     * payments themselves, so transactions are read for exceptions only.
     */
    receivedOf: ({ environment, merchantId }: BookOwner, { from, to }: Span) => {
      const ofOwner = sql`e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at >= ${from}
        AND e.created_at < ${to}`
      return sql`SELECT e.payment_id, NULL AS exception_id, NULL AS transfer_id, ${hashOf(sql`e.payment_id`)} AS hash,
          e.asset, ${movedUnits} AS units, ${movedUsd} AS usd_millis, e.credit, e.created_at
        FROM ledger_entries e WHERE ${ofOwner} AND e.payment_id IS NOT NULL
        UNION ALL
        SELECT x.payment_id, b.source_id, x.transfer_id,
          coalesce(${hashOf(sql`x.payment_id`)}, hashtextextended(b.source_id, 0)), e.asset, ${movedUnits}, ${movedUsd},
          e.credit, e.created_at
        FROM ledger_entries e
        JOIN balance_transactions b ON b.merchant_id = e.merchant_id AND b.environment = e.environment
          AND b.id = e.transaction_id AND b.source_object = 'exception' AND b.type <> 'payout'
        LEFT JOIN unmatched x ON x.id = b.source_id
        WHERE ${ofOwner} AND e.payment_id IS NULL AND (${isIntoWallet} OR ${isOutOfWallet})`
    },
    /** Exceptions without an invoice: each has the id that the payment of its transfer would have. */
    unmatchedOf: ({ environment, merchantId }: BookOwner) =>
      sql`SELECT x.id, x.evidence ->> 'transfer_id' AS transfer_id,
          payment_id_of_transfer(x.evidence ->> 'transfer_id') AS payment_id
        FROM exceptions x
        WHERE x.merchant_id = ${merchantId} AND x.environment = ${environment} AND x.invoice_id IS NULL
          AND x.evidence ->> 'transfer_id' IS NOT NULL`,
    /** The slice of a payment, by its hash. */
    sliceOf: (hash: Statement.Fragment) => sql`(${hash} & ${sliceMask})::integer`
  }
}
