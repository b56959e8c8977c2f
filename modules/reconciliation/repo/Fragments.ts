/** What several statements of reconciliation say in the same words. */
import type { SqlClient, Statement } from "effect/sql"
import type { BookOwner } from "../../ledger/plugin.ts"
import { sliceCount } from "../rules/Checksums.ts"

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
  return {
    uuidOfHash,
    hashOf,
    isIntoWallet,
    isOutOfWallet,
    /** What an entry moves into its wallet: below zero where it leaves. */
    movedUnits: sql`CASE WHEN ${isIntoWallet} THEN e.units ELSE -e.units END`,
    movedUsd: sql`CASE WHEN ${isIntoWallet} THEN e.usd_millis ELSE -e.usd_millis END`,
    /** What the transaction `b` tells of is money that came or left its chain again, not a refund or a payout. */
    isReceived: sql`b.source_object IN ('invoice_payment', 'exception') AND b.type <> 'payout'`,
    /** Exceptions without an invoice: each has the id that the payment of its transfer would have. */
    unmatchedOf: ({ environment, merchantId }: BookOwner) =>
      sql`SELECT x.id, x.evidence ->> 'transfer_id' AS transfer_id,
          (SELECT ${uuidOfHash} FROM ${hashOf(sql`(x.evidence ->> 'transfer_id')`)} h) AS payment_id
        FROM exceptions x
        WHERE x.merchant_id = ${merchantId} AND x.environment = ${environment} AND x.invoice_id IS NULL
          AND x.evidence ->> 'transfer_id' IS NOT NULL`,
    /**
     * The id, as text, of the payment that the transaction `b` is of, or that its exception `x` would have; a hash of
     * the exception's id where there is neither.
     */
    idOfSource: sql`CASE b.source_object WHEN 'invoice_payment' THEN b.source_id
      ELSE coalesce(x.payment_id::text, encode(sha256(convert_to(b.source_id, 'UTF8')), 'hex')) END`,
    /** The slice of a payment, by its id as text or by its first two bytes. */
    sliceOfId: (id: Statement.Fragment) => sql`('x' || substr(${id}, 1, 4))::bit(16)::integer & ${sliceMask}`,
    sliceOfBytes: (bytes: Statement.Fragment) =>
      sql`(get_byte(${bytes}, 0) << 8 | get_byte(${bytes}, 1)) & ${sliceMask}`
  }
}
