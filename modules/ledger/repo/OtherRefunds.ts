/** What refunds of an invoice are booked with, beside one of them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { RefundEntry } from "../rules.ts"

type Row = Pick<RefundEntry, "asset" | "credit" | "debit" | "kind" | "type"> & {
  readonly units: string
  readonly usd_millis: bigint
}

/** Those of other refunds, and of what was refunded of its payments before the books were kept. */
export const readOtherRefunds = (sql: SqlClient.SqlClient) =>
(
  { id, invoiceId, merchantId }: { readonly id: string; readonly invoiceId: string; readonly merchantId: number },
  paymentIds: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<RefundEntry>> =>
  sql<Row>`SELECT t.type, e.kind, e.debit, e.credit, e.asset, e.units::text AS units, e.usd_millis
      FROM (
        SELECT id AS source_id FROM refunds WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId} AND id <> ${id}
        UNION ALL
        SELECT unnest(${paymentIds}::text[])
      ) s JOIN balance_transactions t ON t.merchant_id = ${merchantId} AND t.source_id = s.source_id
        AND t.type IN ('refund', 'refund_reversal')
      JOIN ledger_entries e ON e.merchant_id = t.merchant_id AND e.transaction_id = t.id`.pipe(
    Effect.orDie,
    Effect.map((rows) =>
      rows.map(({ units, usd_millis: usdMillis, ...row }): RefundEntry => ({ ...row, units: BigInt(units), usdMillis }))
    )
  )
