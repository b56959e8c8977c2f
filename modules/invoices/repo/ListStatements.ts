/** The statements behind the list of invoices and its totals. */
import { SqlClient, type Statement } from "effect/sql"
import { cover, type Piece, width } from "../../../runtime/Rollups.ts"
import { InvoiceStatus, InvoiceType } from "../../../schemas/Invoice.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { invoiceStates } from "../machine.ts"
import type { Row } from "./Rows.ts"

/** Filters of the invoice list; absent ones do not filter. */
export interface InvoiceFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly commerceOnly: boolean
  readonly statuses?: ReadonlyArray<string>
  readonly type?: string
  readonly customerId?: string
  readonly createdFrom?: number
  readonly createdTo?: number
  readonly payerWalletAddress?: string
  readonly payerWalletNetwork?: string
}

/** One page: by number, or before or after an invoice. */
export type InvoicePage =
  | { readonly _tag: "Offset"; readonly offset: number; readonly limit: number }
  | { readonly _tag: "Older" | "Newer"; readonly id: string; readonly limit: number }

type Fragment = Statement.Fragment

/**
 * Seconds by which an id may lie off `created_at`: both are read off one clock, the id an instant later, so this is
 * ample. It makes a range of times one of ids, which every index is in the order of.
 */
const idSlackSeconds = 60

/** The least id that can be made at `seconds`: 48 bits of milliseconds come first (RFC 9562, version 7). */
const firstIdAt = (seconds: number): string => {
  const millis = Math.min(Math.max(seconds * 1000, 0), 2 ** 48 - 1)
  const time = millis.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** The end of time, where a range has none: a bound of whole days that every index and arithmetic holds. */
const endOfTime = 253_402_300_800

/** States as an index has them side by side: each is in the order of the ids, two of them together are not. */
const statesOf = ({ commerceOnly, statuses, type }: InvoiceFilter) => {
  const types = InvoiceType.literals.filter((each) =>
    (type === undefined || type === each) && (!commerceOnly || each === "commerce")
  )
  return types.flatMap((each) =>
    [...new Set(statuses ?? InvoiceStatus.literals)].map((status) => ({ type: each, status }))
  )
}

interface TotalRow {
  readonly status: InvoiceStatus
  readonly count: bigint
  readonly amount: bigint
  readonly amount_paid: bigint
}

/**
 * The statements behind the list and its totals, so that a test can ask for their plans. A page reads a few rows more
 * than it shows whatever the filter; totals read sums, and rows only where a range of times cuts a quarter of an hour.
 */
export const makeStatements = (sql: SqlClient.SqlClient) => {
  const createdWithin = (from: number | undefined, to: number | undefined) => [
    ...(from === undefined ? [] : [
      sql`created_at >= ${from}`,
      sql`id >= ${firstIdAt(from - idSlackSeconds)}::uuid`
    ]),
    ...(to === undefined ? [] : [
      sql`created_at <= ${to}`,
      sql`id < ${firstIdAt(to + 1 + idSlackSeconds)}::uuid`
    ])
  ]

  const ofMerchant = ({ environment, merchantId }: InvoiceFilter) => [
    sql`merchant_id = ${merchantId}`,
    sql`environment = ${environment}`
  ]

  /** Everything that selects, but for owner, customer, payer and times. */
  const matching = (filter: InvoiceFilter) => [
    ...(filter.commerceOnly ? [sql`type = 'commerce'`] : []),
    ...(filter.statuses === undefined ? [] : [sql`status = ANY (${[...filter.statuses]}::text[])`]),
    ...(filter.type === undefined ? [] : [sql`type = ${filter.type}`]),
    ...(filter.payerWalletNetwork === undefined ? [] : [sql`payer_wallet_network = ${filter.payerWalletNetwork}`])
  ]

  const ofCustomer = ({ customerId }: InvoiceFilter) =>
    customerId === undefined ? [] : [sql`customer_id = ${customerId}`]

  const ofPayer = ({ payerWalletAddress }: InvoiceFilter) =>
    payerWalletAddress === undefined ? [] : [sql`payer_wallet_address = ${payerWalletAddress}`]

  /** Rows that one index holds side by side, in the order of their ids: those whose `column` is `value`. */
  interface IndexRange {
    readonly column: string
    readonly value: string
    readonly where: ReadonlyArray<Fragment>
  }

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
      ) p JOIN invoices i ON i.merchant_id = ${filter.merchantId} AND i.id = p.id ORDER BY i.id ${direction}`
  }

  const unionAll = (parts: ReadonlyArray<Fragment>): Fragment =>
    parts.reduce((left, right) => sql`${left} UNION ALL ${right}`)

  const rowTotals = (where: ReadonlyArray<Fragment>) =>
    sql`SELECT status, count(*) AS count, sum(amount) AS amount, sum(amount_paid) AS amount_paid
      FROM invoices WHERE ${sql.and(where)} GROUP BY status`

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
    const rows = (from: number | undefined, to: number | undefined) =>
      rowTotals([
        ...ofMerchant(filter),
        ...matching(filter),
        ...ofCustomer(filter),
        ...ofPayer(filter),
        ...createdWithin(from, to)
      ])
    const parts = (): ReadonlyArray<Fragment> => {
      // Of one customer or payer there are few: an index finds them, and sums are not kept for each.
      if (customerId !== undefined || payerWalletAddress !== undefined) return [rows(createdFrom, createdTo)]
      if (createdFrom === undefined && createdTo === undefined) {
        return [summedTotals(filter, { width: width.ever, from: 0, to: 1 })]
      }
      const { edges, pieces } = cover({
        from: Math.min(createdFrom ?? 0, endOfTime),
        to: Math.min(createdTo === undefined ? endOfTime : createdTo + 1, endOfTime)
      })
      const sums = pieces.map((piece) => summedTotals(filter, piece))
      const all = [...sums, ...edges.map(({ from, to }) => rows(from, to - 1))]
      return all.length > 0 ? all : [rows(createdFrom, createdTo)]
    }
    return sql<TotalRow>`SELECT status, sum(count)::bigint AS count, sum(amount)::bigint AS amount,
      sum(amount_paid)::bigint AS amount_paid FROM (${unionAll(parts())}) t GROUP BY status`
  }

  return { page, totals }
}
