/** The statement of one page of invoices: a few rows more than it shows, whatever the filter. */
import { SqlClient } from "effect/sql"
import { InvoiceStatus, InvoiceType } from "../../../schemas/Invoice.ts"
import { readInvoice, type Row } from "./Rows.ts"
import type { Conditions, Fragment, InvoiceFilter, InvoicePage } from "./Filter.ts"

/** States as an index has them side by side: each is in the order of the ids, two of them together are not. */
const statesOf = ({ commerceOnly, statuses, type }: InvoiceFilter) => {
  const types = InvoiceType.literals.filter((each) =>
    (type === undefined || type === each) && (!commerceOnly || each === "commerce")
  )
  return types.flatMap((each) =>
    [...new Set(statuses ?? InvoiceStatus.literals)].map((status) => ({ type: each, status }))
  )
}

/** Rows that one index holds side by side, in the order of their ids: those whose `column` is `value`. */
interface IndexRange {
  readonly column: string
  readonly value: string
  readonly where: ReadonlyArray<Fragment>
}

export const makePage = (sql: SqlClient.SqlClient, conditions: Conditions) => {
  const { createdWithin, matching, ofMerchant, ofPayer, unionAll } = conditions

  const indexRanges = (filter: InvoiceFilter): ReadonlyArray<IndexRange> => {
    const { commerceOnly, customerId, environment, payerWalletAddress, payerWalletNetwork, statuses, type } = filter
    if (customerId !== undefined) {
      return [{
        column: "customer_id",
        value: customerId,
        where: [...ofMerchant(filter), ...matching(filter), ...ofPayer(filter)]
      }]
    }
    if (payerWalletAddress !== undefined) {
      return [{
        column: "payer_wallet_address",
        value: payerWalletAddress,
        where: [...ofMerchant(filter), ...matching(filter)]
      }]
    }
    const isWhole = !commerceOnly && type === undefined && statuses === undefined && payerWalletNetwork === undefined
    if (isWhole) {
      return [{ column: "environment", value: environment, where: [sql`merchant_id = ${filter.merchantId}`] }]
    }
    const network = payerWalletNetwork === undefined ? [] : [sql`payer_wallet_network = ${payerWalletNetwork}`]
    return statesOf(filter).map((state) => ({
      column: "status",
      value: state.status,
      where: [...ofMerchant(filter), sql`type = ${state.type}`, ...network]
    }))
  }

  /**
   * Rows of a page in the order they are read, and one more where there is more. Ids come from the index of each run; a
   * run gives no more of them than the page reaches.
   *
   * The column of a run is bounded on both sides and ordered by, which no other index can serve: the planner knows how
   * common a value is among all merchants only, and would else walk one merchant's ids in search of what it has none
   * of.
   */
  const page = (filter: InvoiceFilter, request: InvoicePage) => {
    const direction = request._tag === "Newer" ? sql`ASC` : sql`DESC`
    const after = request._tag === "Offset"
      ? []
      : [request._tag === "Older" ? sql`id < ${request.id}::uuid` : sql`id > ${request.id}::uuid`]
    const offset = request._tag === "Offset" ? request.offset : 0
    const within = createdWithin(filter.createdFrom, filter.createdTo)
    const parts = indexRanges(filter).map(({ column, value, where }) => {
      const name = sql(column)
      return sql`(SELECT id FROM invoices
        WHERE ${sql.and([...where, sql`${name} >= ${value}`, sql`${name} <= ${value}`, ...within, ...after])}
        ORDER BY ${name} ${direction}, id ${direction} LIMIT ${offset + request.limit + 1})`
    })
    const ids = unionAll(parts.length === 0 ? [sql`SELECT null::uuid AS id WHERE false`] : parts)
    return sql<Row>`SELECT i.* FROM (
        SELECT id FROM (${ids}) run ORDER BY id ${direction} LIMIT ${request.limit + 1} OFFSET ${offset}
      ) p JOIN invoices i ON i.id = p.id AND i.merchant_id + 0 = ${filter.merchantId} ORDER BY i.id ${direction}`
  }

  return page
}

/** The page that the rows of its statement are; `hasMore` is in the direction of paging. */
export const pageOf = (rows: ReadonlyArray<Row>, { _tag, limit }: InvoicePage) => {
  const invoices = rows.slice(0, limit).map(readInvoice)
  return { invoices: _tag === "Newer" ? invoices.toReversed() : invoices, hasMore: rows.length > limit }
}
