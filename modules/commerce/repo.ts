/** The only SQL of orders: rows in, orders out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Person } from "../../runtime/PersonalData.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import { cover, type Piece, width } from "../../runtime/Rollups.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { OrderStatus, Retailer } from "../../schemas/Order.ts"
import { type OrderState, orderStates, type RefundView } from "./machine.ts"

/** Filters of the list; absent ones do not filter. Times are epoch seconds, both inclusive. */
export interface OrderFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly status?: OrderStatus
  readonly customerId?: string
  readonly wallet?: string
  readonly walletNetwork?: Network
  readonly retailer?: Retailer
  readonly createdFrom?: number
  readonly createdTo?: number
}

export interface OrderPage {
  readonly limit: number
  readonly offset: number
}

/** `orders.retailer` of an order whose items are of several. */
const mixedRetailers = ""

/** Amounts as text, so that no digit is lost. */
const refundJson = (refund: RefundView) => ({
  ...refund,
  amount: refund.amount.toString(),
  fee: refund.fee.toString()
})

export const orderWrite = (order: OrderState): Write => ({
  table: "orders",
  row: {
    merchant_id: order.merchantId,
    id: order.id,
    version: order.version,
    environment: order.environment,
    invoice_id: order.invoiceId,
    status: order.status,
    substatus: order.substatus,
    retailer: order.retailer ?? mixedRetailers,
    timeline: order.timeline,
    payment: { ...order.payment, amountPaid: order.payment.amountPaid.toString() },
    paid_by: order.paidBy,
    received: order.received.toString(),
    received_late: order.receivedLate.toString(),
    refunded: order.refunded.toString(),
    provider_order_id: order.providerOrderId,
    placed_at: order.placedAt,
    delivered_at: order.deliveredAt,
    shipments: order.shipments,
    items: order.items.map((item) => ({ ...item, unitAmount: item.unitAmount.toString() })),
    amounts: Object.fromEntries(Object.entries(order.amounts).map(([name, amount]) => [name, amount.toString()])),
    customer_id: order.customerId,
    wallet_address: order.walletAddress,
    wallet_network: order.walletNetwork,
    cancellation: order.cancellation,
    refunds: order.refunds.map(refundJson),
    refund_quote: order.refundQuote,
    refund_destination: order.refundDestination,
    shipping: { ...order.shipping, amount: order.shipping.amount.toString() },
    address: order.address,
    metadata: order.metadata,
    tries: order.tries,
    is_acknowledged: order.isAcknowledged,
    due_at: order.dueAt,
    created_at: order.createdAt,
    updated_at: order.updatedAt
  }
})

type Row = Readonly<Record<string, any>>

const number = (value: bigint | number | null): number | null => (value === null ? null : Number(value))

const millis = (text: string): UsdMillis => usdMillis(BigInt(text))

const readOrder = (row: Row): OrderState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  invoiceId: row.invoice_id,
  status: row.status,
  substatus: row.substatus,
  retailer: row.retailer === mixedRetailers ? null : row.retailer,
  timeline: row.timeline,
  payment: { ...row.payment, amountPaid: millis(row.payment.amountPaid) },
  paidBy: row.paid_by,
  received: row.received,
  receivedLate: row.received_late,
  refunded: row.refunded,
  providerOrderId: row.provider_order_id,
  placedAt: number(row.placed_at),
  deliveredAt: number(row.delivered_at),
  shipments: row.shipments,
  items: row.items.map((item: Row) => ({ ...item, unitAmount: millis(item.unitAmount) })),
  amounts: {
    subtotal: millis(row.amounts.subtotal),
    shipping: millis(row.amounts.shipping),
    tax: millis(row.amounts.tax),
    fees: millis(row.amounts.fees),
    total: millis(row.amounts.total)
  },
  customerId: row.customer_id,
  walletAddress: row.wallet_address,
  walletNetwork: row.wallet_network,
  cancellation: row.cancellation,
  refunds: row.refunds.map((refund: Row) => ({ ...refund, amount: millis(refund.amount), fee: millis(refund.fee) })),
  refundQuote: row.refund_quote,
  refundDestination: row.refund_destination,
  shipping: { ...row.shipping, amount: millis(row.shipping.amount) },
  address: row.address,
  metadata: row.metadata,
  tries: row.tries,
  isAcknowledged: row.is_acknowledged,
  dueAt: number(row.due_at),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at)
})

type Fragment = Statement.Fragment

/** The end of time, where a range has none: a bound of whole days that every index and arithmetic holds. */
const endOfTime = 253_402_300_800

/**
 * The statements behind the list and its total, so that a test can ask for their plans. A page reads a few rows more
 * than it shows whatever the filter; a total reads sums, and rows only of one customer or wallet, and where a range of
 * times cuts a quarter of an hour.
 */
// oxlint-disable-next-line max-lines-per-function -- SQL statements, one after the other
export const makeStatements = (sql: SqlClient.SqlClient) => {
  const ownerConditions = ({ environment, merchantId }: OrderFilter) => [
    sql`merchant_id = ${merchantId}`,
    sql`environment = ${environment}`
  ]

  const createdWithin = (from: number | undefined, to: number | undefined) => [
    ...(from === undefined ? [] : [sql`created_at >= ${from}`]),
    ...(to === undefined ? [] : [sql`created_at <= ${to}`])
  ]

  /** Everything that selects, but for owner and times. */
  const filterConditions = (filter: OrderFilter) => [
    ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
    ...(filter.customerId === undefined ? [] : [sql`customer_id = ${filter.customerId}`]),
    ...(filter.wallet === undefined ? [] : [sql`wallet_address = ${filter.wallet}`]),
    ...(filter.walletNetwork === undefined ? [] : [sql`wallet_network = ${filter.walletNetwork}`]),
    ...(filter.retailer === undefined ? [] : [sql`retailer = ${filter.retailer}`])
  ]

  /**
   * Rows that one index holds side by side, in the order they are shown: those of one of `values`, of one of
   * `retailers`.
   */
  interface IndexRanges {
    readonly column: string
    readonly values: ReadonlyArray<string>
    readonly retailers?: ReadonlyArray<string>
    readonly where: ReadonlyArray<Fragment>
  }

  const indexRangesOf = (filter: OrderFilter): IndexRanges => {
    const { customerId, environment, retailer, status, wallet, walletNetwork } = filter
    const allConditions = [...ownerConditions(filter), ...filterConditions(filter)]
    if (customerId !== undefined) return { column: "customer_id", values: [customerId], where: allConditions }
    if (wallet !== undefined) return { column: "wallet_address", values: [wallet], where: allConditions }
    const column = "status"
    const values = status === undefined ? OrderStatus.literals : [status]
    if (walletNetwork !== undefined) {
      const retailers = retailer === undefined ? [...Retailer.literals, mixedRetailers] : [retailer]
      return { column, values, retailers, where: [...ownerConditions(filter), sql`wallet_network = ${walletNetwork}`] }
    }
    if (retailer !== undefined) {
      return { column, values, where: [...ownerConditions(filter), sql`retailer = ${retailer}`] }
    }
    if (status !== undefined) return { column, values, where: ownerConditions(filter) }
    return { column: "environment", values: [environment], where: [sql`merchant_id = ${filter.merchantId}`] }
  }

  const unionAll = (parts: ReadonlyArray<Fragment>): Fragment =>
    parts.reduce((left, right) => sql`${left} UNION ALL ${right}`)

  /**
   * The column of a run is bounded on both sides and ordered by, which no other index can serve: the planner knows how
   * common a value is among all merchants only, and would else walk one merchant's rows in search of what it has none
   * of. Runs are of a lateral join, not of a union: forty parts of a union are planned for longer than they run.
   */
  const page = (filter: OrderFilter, { limit, offset }: OrderPage) => {
    const { column, retailers, values, where } = indexRangesOf(filter)
    const name = sql(column)
    const conditions = [
      ...where,
      sql`${name} >= v.value`,
      sql`${name} <= v.value`,
      ...(retailers === undefined ? [] : [sql`retailer = r.value`]),
      ...createdWithin(filter.createdFrom, filter.createdTo)
    ]
    const each = retailers === undefined ? sql`` : sql`CROSS JOIN unnest(${[...retailers]}::text[]) AS r (value)`
    return sql<Row>`SELECT o.* FROM (
        SELECT run.created_at, run.id FROM unnest(${[...values]}::text[]) AS v (value) ${each} CROSS JOIN LATERAL (
            SELECT created_at, id FROM orders WHERE ${sql.and(conditions)}
            ORDER BY ${name} DESC, created_at DESC, id DESC LIMIT ${offset + limit}
          ) run ORDER BY run.created_at DESC, run.id DESC LIMIT ${limit} OFFSET ${offset}
      ) p JOIN orders o ON o.merchant_id = ${filter.merchantId} AND o.id = p.id ORDER BY o.created_at DESC, o.id DESC`
  }

  const countRows = (where: ReadonlyArray<Fragment>) =>
    sql`SELECT count(*) AS count FROM orders WHERE ${sql.and(where)}`

  const sumRollups = (filter: OrderFilter, { from, to, width }: Piece) => {
    const part = (place: number) => sql`split_part(key, ':', ${place}::integer)`
    const { retailer, status, walletNetwork } = filter
    return sql`SELECT count FROM rollups WHERE ${
      sql.and([
        ...ownerConditions(filter),
        sql`sum = ${orderStates.sum}`,
        sql`width = ${width}`,
        sql`bucket >= ${from}`,
        sql`bucket < ${to}`,
        ...(status === undefined ? [] : [sql`${part(1)} = ${status}`]),
        ...(retailer === undefined ? [] : [sql`${part(2)} = ${retailer}`]),
        ...(walletNetwork === undefined ? [] : [sql`${part(3)} = ${walletNetwork}`])
      ])
    }`
  }

  /** One statement, so one moment. */
  const total = (filter: OrderFilter) => {
    const { createdFrom, createdTo, customerId, wallet } = filter
    const countCreated = (from: number | undefined, to: number | undefined) =>
      countRows([...ownerConditions(filter), ...filterConditions(filter), ...createdWithin(from, to)])
    const parts = (): ReadonlyArray<Fragment> => {
      // Of one customer or wallet there are few: an index finds them, and sums are not kept for each.
      if (customerId !== undefined || wallet !== undefined) return [countCreated(createdFrom, createdTo)]
      if (createdFrom === undefined && createdTo === undefined) {
        return [sumRollups(filter, { width: width.ever, from: 0, to: 1 })]
      }
      const { edges, pieces } = cover({
        from: Math.min(createdFrom ?? 0, endOfTime),
        to: Math.min(createdTo === undefined ? endOfTime : createdTo + 1, endOfTime)
      })
      const all = [
        ...pieces.map((piece) => sumRollups(filter, piece)),
        ...edges.map(({ from, to }) => countCreated(from, to - 1))
      ]
      return all.length > 0 ? all : [countCreated(createdFrom, createdTo)]
    }
    return sql<{ readonly total: bigint | null }>`SELECT sum(count)::bigint AS total FROM (${unionAll(parts())}) t`
  }

  return { page, total }
}

/** Repository over one SqlClient; a failing statement is a defect, an unreachable database included. */
export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const statements = makeStatements(sql)
  const merchantDue = yield* makeMerchantDue("orders")

  const first = (rows: ReadonlyArray<Row>): OrderState | null => rows[0] === undefined ? null : readOrder(rows[0])

  /** By id alone: for those who were handed the id by us. */
  const find = (id: string) =>
    sql<Row>`SELECT * FROM orders WHERE id = ${id}::uuid`.pipe(Effect.orDie, Effect.map(first))

  /** By id within a merchant: another merchant's order is as unknown as none. */
  const get = (merchantId: number, id: string) =>
    sql<Row>`SELECT * FROM orders WHERE merchant_id = ${merchantId} AND id = ${id}::uuid`.pipe(
      Effect.orDie,
      Effect.map(first)
    )

  /** Those of `ids` that are the merchant's, in any order. */
  const getMany = (merchantId: number, environment: Environment, ids: ReadonlyArray<string>) =>
    sql<Row>`SELECT * FROM orders WHERE merchant_id = ${merchantId} AND environment = ${environment}
      AND id = ANY (${[...ids]}::uuid[])`.pipe(Effect.orDie, Effect.map((rows) => rows.map(readOrder)))

  /** Newest first. */
  const list = (filter: OrderFilter, page: OrderPage) =>
    statements.page(filter, page).pipe(Effect.orDie, Effect.map((rows) => rows.map(readOrder)))

  const count = (filter: OrderFilter) =>
    statements.total(filter).pipe(Effect.orDie, Effect.map((rows) => Number(rows[0]?.total ?? 0n)))

  /** Orders due when the system's clock says `now`. */
  const due = (now: number, limit: number) =>
    sql<Row>`SELECT * FROM ${merchantDue.dueRows(now, limit)} o`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readOrder))
    )

  /** Epoch seconds of the system's clock at which the earliest order is due. */
  const nextDue = Effect.orDie(merchantDue.nextDueAt)

  return { find, get, getMany, list, count, due, nextDue }
})

/** Orders of a customer's invoices. */
export const makePersonalQueries = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofPerson = ({ customerId, environment, merchantId }: Person) =>
    sql`FROM invoices i JOIN orders o ON o.merchant_id = i.merchant_id AND o.id = i.order_id::uuid
      WHERE i.merchant_id = ${merchantId} AND i.customer_id = ${customerId} AND i.environment = ${environment}`
  const read = (rows: Effect.Effect<ReadonlyArray<Row>, unknown>) =>
    rows.pipe(Effect.orDie, Effect.map((found) => found.map(readOrder)))
  return {
    /** In the order of their ids, those behind one. */
    ofCustomer: (person: Person, after: string | null, limit: number) =>
      read(sql<Row>`SELECT o.* ${ofPerson(person)}
        AND o.id > ${after ?? "00000000-0000-0000-0000-000000000000"}::uuid ORDER BY o.id LIMIT ${limit}`),
    /** The first that is not over; null: all are. */
    firstOpen: (person: Person) =>
      Effect.map(
        read(sql<Row>`SELECT o.* ${ofPerson(person)} AND o.status NOT IN ('delivered', 'cancelled', 'failed')
          ORDER BY o.id LIMIT 1`),
        ([order]) => order ?? null
      )
  }
})

export type Repo = Effect.Success<typeof makeRepo>
