/** The SQL of exceptions, with what the decisions on them depend on. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { systemMerchant } from "../../../runtime/Commit.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { ExceptionRecord } from "../machine.ts"
import { makeColumns, readException, readPayment, type Row } from "./Rows.ts"

/** Filters of the list; absent ones do not filter. */
export interface ExceptionFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly status?: string
  readonly type?: string
  readonly invoiceId?: string
  readonly network?: string
  /** Epoch seconds. */
  readonly createdFrom?: number
  readonly createdTo?: number
}

/** One page: the newest, or those before or after an exception of the same merchant and environment. */
export interface ExceptionPage {
  readonly cursor: { readonly direction: "older" | "newer"; readonly id: string } | null
  readonly limit: number
}

const readRecord = (row: Row): ExceptionRecord => ({
  exception: readException(row.exception),
  merchantId: row.merchant_id,
  environment: row.environment,
  belongsToMerchant: row.merchant_id !== systemMerchant,
  invoice: row.invoice_id === null ? null : {
    id: row.invoice_id,
    status: row.invoice_status,
    type: row.invoice_type,
    customerId: row.customer_id
  },
  payment: row.payment === null ? null : readPayment(row.payment)
})

export const exceptionQueries = (sql: SqlClient.SqlClient) => {
  const { exceptionJson, paymentJson } = makeColumns(sql)

  const columns = sql`e.merchant_id, e.environment, e.invoice_id, ${exceptionJson} AS exception,
    i.status AS invoice_status, i.type AS invoice_type, i.customer_id,
    CASE WHEN p.id IS NULL THEN NULL ELSE ${paymentJson} END AS payment`

  const joined = sql`LEFT JOIN invoices i ON i.id = e.invoice_id AND i.merchant_id = e.merchant_id
    LEFT JOIN invoice_payments p ON p.id = e.invoice_payment_id AND p.merchant_id = e.merchant_id`

  /** By id within a merchant: another merchant's is as unknown as none. */
  const findException = (merchantId: number, id: string) =>
    sql<Row>`SELECT ${columns} FROM exceptions e ${joined}
      WHERE e.merchant_id = ${merchantId} AND e.id = ${id}`.pipe(
      Effect.orDie,
      Effect.map(([row]): ExceptionRecord | null => (row === undefined ? null : readRecord(row)))
    )

  // To a planner without statistics `exceptions_newest` looks as good as the index of an invoice, which has few.
  const conditions = (filter: ExceptionFilter) => [
    sql`merchant_id = ${filter.merchantId}`,
    filter.invoiceId === undefined
      ? sql`environment = ${filter.environment}`
      : sql`environment || '' = ${filter.environment}`,
    ...(filter.type === undefined ? [] : [sql`type = ${filter.type}`]),
    ...(filter.invoiceId === undefined ? [] : [sql`invoice_id = ${filter.invoiceId}::uuid`]),
    ...(filter.network === undefined ? [] : [sql`evidence ->> 'network' = ${filter.network}`]),
    ...(filter.createdFrom === undefined ? [] : [sql`created_at >= ${filter.createdFrom}`]),
    ...(filter.createdTo === undefined ? [] : [sql`created_at <= ${filter.createdTo}`])
  ]

  /**
   * Newest first; `hasMore` is in the direction of paging. Null where the cursor is no exception of this merchant and
   * environment. The index has the rows of each status in order, so a page reads as many of each as it shows.
   */
  const listExceptions = Effect.fnUntraced(function*(filter: ExceptionFilter, { cursor, limit }: ExceptionPage) {
    const start = cursor === null ? null : yield* findException(filter.merchantId, cursor.id)
    if (cursor !== null && start?.environment !== filter.environment) return null
    const isNewer = cursor?.direction === "newer"
    const order = isNewer ? sql`ASC` : sql`DESC`
    const beyond = start === null ? [] : [
      isNewer
        ? sql`(created_at, id) > (${start.exception.createdAt}, ${start.exception.id})`
        : sql`(created_at, id) < (${start.exception.createdAt}, ${start.exception.id})`
    ]
    const statuses = filter.status === undefined ? ["open", "resolved"] : [filter.status]
    const [first, ...others] = statuses.map((status) =>
      sql`(SELECT id, created_at FROM exceptions
        WHERE ${sql.and([...conditions(filter), sql`status = ${status}`, ...beyond])}
        ORDER BY created_at ${order}, id ${order} LIMIT ${limit + 1})`
    )
    const rows = yield* sql<Row>`SELECT ${columns} FROM (
        SELECT id FROM (${others.reduce((all, each) => sql`${all} UNION ALL ${each}`, first!)}) runs
        ORDER BY created_at ${order}, id ${order} LIMIT ${limit + 1}
      ) page JOIN exceptions e ON e.merchant_id = ${filter.merchantId} AND e.id = page.id ${joined}
      ORDER BY e.created_at ${order}, e.id ${order}`.pipe(Effect.orDie)
    const records = rows.slice(0, limit).map(readRecord)
    return { records: isNewer ? records.toReversed() : records, hasMore: rows.length > limit }
  })

  return { findException, listExceptions }
}
