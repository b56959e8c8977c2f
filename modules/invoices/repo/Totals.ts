/** The statement of the totals: sums, and rows only where a range of times cuts a quarter of an hour. */
import { SqlClient } from "effect/sql"
import { cover, type Piece, width } from "../../../runtime/Rollups.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { invoiceStates } from "../machine.ts"
import type { Conditions, Fragment, InvoiceFilter } from "./Filter.ts"

/** The end of time, where a range has none: a bound of whole days that every index and arithmetic holds. */
const endOfTime = 253_402_300_800

/** What a filter selects of one status, in usd_millis. */
export interface Total {
  readonly count: number
  readonly amount: UsdMillis
  readonly amountPaid: UsdMillis
}

export interface TotalRow {
  readonly status: InvoiceStatus
  readonly count: bigint
  readonly amount: bigint
  readonly amount_paid: bigint
}

export const makeTotals = (sql: SqlClient.SqlClient, conditions: Conditions) => {
  const { createdWithin, matching, ofCustomer, ofMerchant, ofPayer, unionAll } = conditions

  const rowTotals = (rows: Fragment) =>
    sql`SELECT status, count(*) AS count, sum(amount) AS amount, sum(amount_paid) AS amount_paid
      FROM ${rows} GROUP BY status`

  const summedTotals = (filter: InvoiceFilter, { from, to, width }: Piece) => {
    const part = (place: number) => sql`split_part(key, ':', ${place}::integer)`
    const { commerceOnly, payerWalletNetwork, statuses, type } = filter
    return sql`SELECT ${part(2)} AS status, count, amount, amount_paid FROM rollups
      WHERE ${
      sql.and([
        ...ofMerchant(filter),
        sql`sum = ${invoiceStates.sum}`,
        sql`width = ${width}`,
        sql`bucket >= ${from}`,
        sql`bucket < ${to}`,
        ...(commerceOnly ? [sql`${part(1)} = 'commerce'`] : []),
        ...(type === undefined ? [] : [sql`${part(1)} = ${type}`]),
        ...(statuses === undefined ? [] : [sql`${part(2)} = ANY (${[...statuses]}::text[])`]),
        ...(payerWalletNetwork === undefined ? [] : [sql`${part(3)} = ${payerWalletNetwork}`])
      ])
    }`
  }

  /** One statement, so one moment: what it adds up can never be told apart by a commit in between. */
  const totals = (filter: InvoiceFilter) => {
    const { createdFrom, createdTo, customerId, payerWalletAddress } = filter
    // To a planner without statistics `invoices_newest` looks as good as the index of the customer or payer.
    const ofOne = () =>
      rowTotals(
        sql`invoices WHERE ${
          sql.and([
            sql`merchant_id = ${filter.merchantId}`,
            sql`environment || '' = ${filter.environment}`,
            ...matching(filter),
            ...ofCustomer(filter),
            ...ofPayer(filter),
            ...createdWithin(createdFrom, createdTo)
          ])
        }`
      )
    // In the order of the ids: to a planner without statistics the index by state looks as good as that of the newest,
    // and it has these rows scattered over all of a merchant's.
    const between = (from: number, to: number) =>
      rowTotals(
        sql`(SELECT status, amount, amount_paid FROM invoices
          WHERE ${sql.and([...ofMerchant(filter), ...matching(filter), ...createdWithin(from, to)])} ORDER BY id) found`
      )
    const parts = (): ReadonlyArray<Fragment> => {
      // Of one customer or payer there are few: an index finds them, and sums are not kept for each.
      if (customerId !== undefined || payerWalletAddress !== undefined) return [ofOne()]
      if (createdFrom === undefined && createdTo === undefined) {
        return [summedTotals(filter, { width: width.ever, from: 0, to: 1 })]
      }
      const span = {
        from: Math.min(createdFrom ?? 0, endOfTime),
        to: Math.min(createdTo === undefined ? endOfTime : createdTo + 1, endOfTime)
      }
      const { edges, pieces } = cover(span)
      const sums = pieces.map((piece) => summedTotals(filter, piece))
      const all = [...sums, ...edges.map(({ from, to }) => between(from, to - 1))]
      return all.length > 0 ? all : [between(span.from, span.to - 1)]
    }
    return sql<TotalRow>`SELECT status, sum(count)::bigint AS count, sum(amount)::bigint AS amount,
      sum(amount_paid)::bigint AS amount_paid FROM (${unionAll(parts())}) t GROUP BY status`
  }

  return totals
}

/** Totals by status. */
export const totalsOf = (rows: ReadonlyArray<TotalRow>): ReadonlyMap<InvoiceStatus, Total> =>
  new Map(
    rows.map(({ amount, amount_paid, count, status }): [InvoiceStatus, Total] => [status, {
      count: Number(count),
      amount: usdMillis(amount),
      amountPaid: usdMillis(amount_paid)
    }])
  )
