/** What several statements of reconciliation say in the same words. */
import type { SqlClient, Statement } from "effect/sql"
import type { BookOwner } from "../../ledger/plugin.ts"
import { sliceCount } from "../rules/Checksums.ts"
import type { Span } from "../rules/Periods.ts"

/** Seconds around a period in which a transfer's other side is looked for. */
export const marginSeconds = 86_400

/** Of the first 16 bits of an id, those that tell its slice. */
const sliceMask = sliceCount - 1

export const fragmentsOf = (sql: SqlClient.SqlClient) => {
  /**
   * The id of a payment, of the first 16 bytes `h` of the hash of its name: `uuidOf` of `runtime/Uuid.ts`. Bytes are
   * set, as making it of pieces of text took four times as long for a million payments (measured).
   */
  const uuidOfHash = sql`encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128),
      'hex')::uuid`
  /** The hash of the name that `paymentIdOf` of the payments gives a payment, by the id of its transfer. */
  const hashOf = (transferId: Statement.Fragment) =>
    sql`substr(sha256(convert_to('payment:' || ${transferId}, 'UTF8')), 1, 16)`

  const isIntoWallet = sql`starts_with(e.debit, 'chain:')`
  const isOutOfWallet = sql`starts_with(e.credit, 'chain:')`
  const movedUnits = sql`CASE WHEN ${isIntoWallet} THEN e.units ELSE -e.units END`
  const movedUsd = sql`CASE WHEN ${isIntoWallet} THEN e.usd_millis ELSE -e.usd_millis END`
  return {
    uuidOfHash,
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
     * one that its exception would have; null: neither. `source_bytes`: the bytes of that id, or of a hash of the
     * exception's. Entries name their payments themselves, so transactions are read for exceptions only.
     */
    receivedOf: ({ environment, merchantId }: BookOwner, { from, to }: Span) => {
      const ofOwner = sql`e.merchant_id = ${merchantId} AND e.environment = ${environment} AND e.created_at >= ${from}
        AND e.created_at < ${to}`
      return sql`SELECT e.payment_id, NULL AS exception_id, NULL AS transfer_id, uuid_send(e.payment_id) AS source_bytes,
          e.asset, ${movedUnits} AS units, ${movedUsd} AS usd_millis, e.credit, e.created_at
        FROM ledger_entries e WHERE ${ofOwner} AND e.payment_id IS NOT NULL
        UNION ALL
        SELECT x.payment_id, b.source_id, x.transfer_id,
          coalesce(uuid_send(x.payment_id), sha256(convert_to(b.source_id, 'UTF8'))), e.asset, ${movedUnits},
          ${movedUsd}, e.credit, e.created_at
        FROM ledger_entries e
        JOIN balance_transactions b ON b.merchant_id = e.merchant_id AND b.id = e.transaction_id
          AND b.source_object = 'exception' AND b.type <> 'payout'
        LEFT JOIN unmatched x ON x.id = b.source_id
        WHERE ${ofOwner} AND e.payment_id IS NULL AND (${isIntoWallet} OR ${isOutOfWallet})`
    },
    /** Exceptions without an invoice: each has the id that the payment of its transfer would have. */
    unmatchedOf: ({ environment, merchantId }: BookOwner) =>
      sql`SELECT x.id, x.evidence ->> 'transfer_id' AS transfer_id,
          (SELECT ${uuidOfHash} FROM ${hashOf(sql`(x.evidence ->> 'transfer_id')`)} h) AS payment_id
        FROM exceptions x
        WHERE x.merchant_id = ${merchantId} AND x.environment = ${environment} AND x.invoice_id IS NULL
          AND x.evidence ->> 'transfer_id' IS NOT NULL`,
    /** The slice of a payment, by the first two bytes of its id. */
    sliceOfBytes: (bytes: Statement.Fragment) =>
      sql`(get_byte(${bytes}, 0) << 8 | get_byte(${bytes}, 1)) & ${sliceMask}`
  }
}
