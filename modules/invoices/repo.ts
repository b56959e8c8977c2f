/** The only SQL of invoices, their payments and exceptions: rows in, aggregates out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import type { EventId } from "../../schemas/Ids.ts"
import type { Aggregate, PaymentState } from "./machine.ts"
import { exceptionQueries } from "./repo/Exceptions.ts"
import { readHeldPayments } from "./repo/HeldPayments.ts"
import { readCreatedObject } from "./repo/CreatedObject.ts"
import { type InvoiceFilter, type InvoicePage, makeConditions } from "./repo/Filter.ts"
import { makePage, pageOf } from "./repo/Page.ts"
import { makeColumns, readAggregate, readPayment, type Row } from "./repo/Rows.ts"
import { makeTotals, totalsOf } from "./repo/Totals.ts"

export { type ExceptionFilter, type ExceptionPage } from "./repo/Exceptions.ts"
export { type InvoiceFilter, type InvoicePage, isBehindFirst } from "./repo/Filter.ts"
export type { HeldPayment } from "./repo/HeldPayments.ts"
export { decisionWrites, invoiceWrite, unmatchedWrite } from "./repo/Rows.ts"
export { type Total } from "./repo/Totals.ts"

/** An invoice, and the last event of it that its payor may read. */
export interface WithLastEvent {
  readonly aggregate: Aggregate
  readonly lastEventId: EventId | null
}

/** The statements behind the list and its totals, so that a test can ask for their plans. */
export const makeStatements = (sql: SqlClient.SqlClient) => {
  const conditions = makeConditions(sql)
  const [page, totals] = [makePage(sql, conditions), makeTotals(sql, conditions)]
  const { paymentJson } = makeColumns(sql)
  /** A page, on each of its rows how many there are in all, and the newest payments of each; one row where it is empty. */
  const pageWithTotal = (filter: InvoiceFilter, request: InvoicePage, payments: number) => {
    const newest = payments === 0 ?
      sql`` :
      sql`, (SELECT coalesce(json_agg(${paymentJson} ORDER BY p.ordinal DESC), '[]')
        FROM (SELECT * FROM invoice_payments WHERE merchant_id = i.merchant_id AND invoice_id = i.id
          ORDER BY ordinal DESC LIMIT ${payments}) p) AS newest_payments`
    return sql<Row>`SELECT t.list_total, i.*${newest} FROM (
        SELECT coalesce(sum(count), 0)::float8 AS list_total FROM (${totals(filter)}) s
      ) t LEFT JOIN (${page(filter, request)}) i ON true
      ORDER BY i.id ${sql.literal(request._tag === "Newer" ? "ASC" : "DESC")}`
  }
  return { page, totals, pageWithTotal }
}

/** Repository over one SqlClient; a failing statement is a defect, an unreachable database included. */
export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const { aggregate } = makeColumns(sql)

  const first = (rows: ReadonlyArray<Row>): Aggregate | null => rows[0] === undefined ? null : readAggregate(rows[0])

  /** By id alone: for those who were handed the id by us (sessions, targets). */
  const find = (id: string) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.id = ${id}::uuid`.pipe(Effect.orDie, Effect.map(first))

  /**
   * The same, and the last event of it that its payor may read; null where that is not kept any more. One statement,
   * so of one moment: the invoice is as that event left it.
   */
  const findWithLastEvent = (id: string) =>
    sql<Row>`SELECT ${aggregate}, (
        SELECT 'evt_' || e.ms || '-' || e.seq FROM events e
        WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id::text AND e.is_for_payors
        ORDER BY e.ms DESC, e.seq DESC LIMIT 1
      ) AS last_event_id FROM invoices i WHERE i.id = ${id}::uuid`.pipe(
      Effect.orDie,
      Effect.map(([row]): WithLastEvent | null =>
        row === undefined ? null : { aggregate: readAggregate(row), lastEventId: row.last_event_id }
      )
    )

  /**
   * By id within a merchant: another merchant's invoice is as unknown as none. `+ 0` leaves only the index of ids: to a
   * planner without statistics an index that begins with the merchant looks as good, and that reads all of a merchant.
   */
  const get = (merchantId: number, id: string) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.id = ${id}::uuid AND i.merchant_id + 0 = ${merchantId}`
      .pipe(Effect.orDie, Effect.map(first))

  /** The same of several, in one statement and in no order; those that are unknown are left out. */
  const getAll = (merchantId: number, ids: ReadonlyArray<string>) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i
      WHERE i.id = ANY (${[...ids]}::uuid[]) AND i.merchant_id + 0 = ${merchantId}`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readAggregate))
    )

  const statements = makeStatements(sql)

  /** Newest first; `hasMore` is in the direction of paging. */
  const list = (filter: InvoiceFilter, page: InvoicePage) =>
    statements.page(filter, page).pipe(
      Effect.orDie,
      Effect.map((rows) => pageOf(rows, page))
    )

  /** Count and amounts of what a filter selects, by status, as of one moment; a status without any is not there. */
  const totals = (filter: InvoiceFilter) => statements.totals(filter).pipe(Effect.orDie, Effect.map(totalsOf))

  /**
   * A page, how many there are in all, and the newest payments of each invoice, newest first and at most so many: one
   * statement, so of one moment.
   */
  const listWithTotal = (filter: InvoiceFilter, page: InvoicePage, payments: number) =>
    statements.pageWithTotal(filter, page, payments).pipe(
      Effect.orDie,
      Effect.map((rows) => {
        const found = rows.filter(({ id }) => id !== null)
        return {
          ...pageOf(found, page),
          total: rows[0]!.list_total as number,
          payments: new Map<string, ReadonlyArray<PaymentState>>(
            found.map(({ id, newest_payments: newest = [] }) => [id, newest.map(readPayment)])
          )
        }
      })
    )

  const merchantDue = yield* makeMerchantDue("invoices")

  /** Epoch seconds at which the earliest invoice is due that the clock may change. */
  const nextDue = Effect.orDie(merchantDue.nextDueAt)

  /** Invoices due when the system's clock says `now`, longest due first, those of merchants who are ahead last. */
  const due = (now: number, limit: number) =>
    sql<Row>`SELECT ${aggregate} FROM ${merchantDue.dueRows(now, limit)} i`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readAggregate))
    )

  /** The invoice a payment belongs to, by the payment's id alone: for operators. */
  const invoiceOfPayment = (paymentId: string) =>
    sql<Row>`SELECT invoice_id FROM invoice_payments WHERE id = ${paymentId}::uuid`.pipe(
      Effect.orDie,
      Effect.map((rows): string | null => rows[0]?.invoice_id ?? null)
    )

  return {
    find,
    heldPayments: readHeldPayments(sql),
    createdObjectText: readCreatedObject(sql),
    ...exceptionQueries(sql),
    findWithLastEvent,
    get,
    getAll,
    list,
    totals,
    listWithTotal,
    nextDue,
    due,
    invoiceOfPayment
  }
})

/** How many exceptions of each type are open in the whole deployment; types without any are left out. */
export const openExceptionCounts = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ type: string; count: bigint }>`SELECT type, count(*) AS count FROM exceptions
    WHERE status = 'open' GROUP BY type`.pipe(
      Effect.orDie,
      Effect.map((rows): ReadonlyMap<string, number> => new Map(rows.map(({ count, type }) => [type, Number(count)])))
    )
)

export type Repo = Effect.Success<typeof makeRepo>
