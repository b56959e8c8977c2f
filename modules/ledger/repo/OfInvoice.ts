/** Everything that is booked about one invoice. */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"

/** An invoice, and the ids of its payments and exceptions. */
export interface InvoiceParts {
  readonly merchantId: number
  readonly invoiceId: string
  readonly partIds: ReadonlyArray<string>
}

/** Ids of the transactions about an invoice, its payments, its exceptions and its refunds, the first one first. */
const readIds = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, { invoiceId, merchantId, partIds }: InvoiceParts, limit: number) {
    const [tables] = yield* sql<{ readonly has_refunds: boolean }>`
      SELECT to_regclass('refunds') IS NOT NULL AS has_refunds`
    const refunds = tables?.has_refunds === true
      ? sql`UNION ALL SELECT id::text FROM refunds WHERE merchant_id = ${merchantId} AND invoice_id = ${invoiceId}::uuid`
      : sql``
    const rows = yield* sql<{ readonly id: string }>`
      SELECT t.id FROM (SELECT unnest(${[invoiceId, ...partIds]}::text[]) AS source_id ${refunds}) s
      JOIN balance_transactions t ON t.merchant_id = ${merchantId} AND t.source_id = s.source_id
      ORDER BY t.booked_micros, t.id LIMIT ${limit}`
    return rows.map(({ id }) => id)
  }
)

/** The transactions about an invoice, as `withEntries` completes their rows, the first one first. */
export const readOfInvoice = <Row extends object, A>(
  sql: SqlClient.SqlClient,
  columns: Statement.Fragment,
  withEntries: (merchantId: number, rows: ReadonlyArray<Row>) => Effect.Effect<A>
) =>
  Effect.fnUntraced(
    function*(parts: InvoiceParts, limit: number) {
      const ids = yield* readIds(sql, parts, limit)
      const rows = yield* sql<Row>`SELECT ${columns} FROM balance_transactions
        WHERE merchant_id = ${parts.merchantId} AND id = ANY (${ids}::text[]) ORDER BY booked_micros, id`
      return yield* withEntries(parts.merchantId, rows)
    },
    Effect.orDie
  )
