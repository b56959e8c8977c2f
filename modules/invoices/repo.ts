/** The only SQL of invoices, their payments and exceptions: rows in, aggregates out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { cover, type Piece, width } from "../../runtime/Rollups.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import type { EventId } from "../../schemas/Ids.ts"
import { InvoiceStatus, InvoiceType } from "../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  type Aggregate,
  type Decision,
  type ExceptionDraft,
  type InvoiceState,
  invoiceStates,
  type PaymentSettlement,
  type PaymentState
} from "./machine.ts"

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

export const invoiceWrite = (invoice: InvoiceState): Write => ({
  table: "invoices",
  row: {
    merchant_id: invoice.merchantId,
    id: invoice.id,
    version: invoice.version,
    environment: invoice.environment,
    status: invoice.status,
    type: invoice.type,
    amount: invoice.amount.toString(),
    amount_paid: invoice.amountPaid.toString(),
    customer_id: invoice.customerId,
    payer_wallet_address: invoice.payerWalletAddress,
    payer_wallet_network: invoice.payerWalletNetwork,
    order_id: invoice.orderId,
    expires_at: invoice.expiresAt,
    created_at: invoice.createdAt,
    paid_at: invoice.paidAt,
    last_payment_at: invoice.lastPaymentAt,
    metadata: invoice.metadata,
    policy: invoice.policy,
    details: invoice.details,
    grace_ended: invoice.graceEnded,
    due_at: invoice.dueAt
  }
})

const paymentWrite = (invoice: InvoiceState, payment: PaymentState): Write => ({
  table: "invoice_payments",
  row: {
    merchant_id: invoice.merchantId,
    id: payment.id,
    version: payment.version,
    ordinal: payment.ordinal,
    invoice_id: invoice.id,
    environment: invoice.environment,
    status: payment.status,
    network: payment.network,
    token_id: payment.tokenId,
    token_decimals: payment.tokenDecimals,
    tx_hash: payment.txHash,
    sender: payment.sender,
    units: payment.units.toString(),
    amount: payment.amount.toString(),
    seen_at: payment.seenAt,
    created_at: payment.createdAt,
    confirmed_at: payment.confirmedAt,
    settlement: payment.settlement === null ? null : settlementJson(payment.settlement),
    refunded: payment.refunded.toString(),
    metadata: payment.metadata
  }
})

/** Amounts as text, so that no digit is lost. */
const settlementJson = (settlement: PaymentSettlement) => ({
  ...settlement,
  settledAmount: settlement.settledAmount?.toString() ?? null
})

/** An exception as it is opened; `id` and time come from the actor. */
export interface NewException extends ExceptionDraft {
  readonly id: string
  readonly createdAt: number
}

const exceptionWrite = (invoice: InvoiceState, exception: NewException): Write => ({
  table: "exceptions",
  row: {
    merchant_id: invoice.merchantId,
    id: exception.id,
    version: 1,
    environment: invoice.environment,
    type: exception.type,
    status: "open",
    invoice_id: invoice.id,
    invoice_payment_id: exception.paymentId,
    amount: exception.amount.toString(),
    evidence: exception.evidence,
    created_at: exception.createdAt,
    resolved_at: null
  }
})

/** The wanted state of an exception without an invoice; `isOpen` is false once its transfer was reverted. */
export interface UnmatchedPayment {
  /** Always the same for a transfer. */
  readonly id: string
  /** The merchant who must decide; `systemMerchant`: the operator must. */
  readonly merchantId: number
  readonly environment: Environment
  readonly isOpen: boolean
  readonly evidence: ExceptionDraft["evidence"]
}

/** The write that opens, closes or reopens it at `now`; null when the stored row is in that state already. */
export const unmatchedWrite = (
  exception: UnmatchedPayment,
  current: { readonly version: number; readonly isOpen: boolean; readonly createdAt: number } | null,
  now: number
): Write | null =>
  (current?.isOpen ?? false) === exception.isOpen ? null : {
    table: "exceptions",
    row: {
      merchant_id: exception.merchantId,
      id: exception.id,
      version: (current?.version ?? 0) + 1,
      environment: exception.environment,
      type: "unmatched_payment",
      status: exception.isOpen ? "open" : "resolved",
      invoice_id: null,
      invoice_payment_id: null,
      amount: "0",
      evidence: exception.evidence,
      created_at: current?.createdAt ?? now,
      resolved_at: exception.isOpen ? null : now
    }
  }

/** Every row a decision changes. The invoice row is always among them, so that two decisions cannot both win. */
export const decisionWrites = (
  { next, changedPayments }: Decision,
  newExceptions: ReadonlyArray<NewException>
): ReadonlyArray<Write> => [
  invoiceWrite(next.invoice),
  ...changedPayments.map((payment) => paymentWrite(next.invoice, payment)),
  ...newExceptions.map((exception) => exceptionWrite(next.invoice, exception))
]

type Row = Readonly<Record<string, any>>

const number = (value: bigint | number | null): number | null => (value === null ? null : Number(value))

const readInvoice = (row: Row): InvoiceState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  status: row.status,
  type: row.type,
  amount: row.amount,
  amountPaid: row.amount_paid,
  customerId: row.customer_id,
  payerWalletAddress: row.payer_wallet_address,
  payerWalletNetwork: row.payer_wallet_network,
  orderId: row.order_id,
  expiresAt: Number(row.expires_at),
  createdAt: Number(row.created_at),
  paidAt: number(row.paid_at),
  lastPaymentAt: number(row.last_payment_at),
  metadata: row.metadata,
  policy: row.policy,
  details: row.details,
  graceEnded: row.grace_ended,
  dueAt: number(row.due_at)
})

/**
 * A payment as `json_build_object` gives it: amounts as text, so that no digit is lost. A row older than version
 * 2026-11-01 knows no token.
 */
const readPayment = (row: Row): PaymentState => ({
  id: row.id,
  version: row.version,
  ordinal: row.ordinal,
  status: row.status,
  network: row.network,
  tokenId: row.token_id,
  tokenDecimals: row.token_decimals,
  txHash: row.tx_hash,
  sender: row.sender,
  units: BigInt(row.units),
  amount: BigInt(row.amount) as PaymentState["amount"],
  seenAt: row.seen_at,
  createdAt: row.created_at,
  confirmedAt: row.confirmed_at,
  settlement: row.settlement === null ? null : {
    ...row.settlement,
    settledAmount: row.settlement.settledAmount === null ? null : usdMillis(BigInt(row.settlement.settledAmount))
  },
  refunded: usdMillis(BigInt(row.refunded)),
  metadata: { ...row.metadata, token: row.metadata.token ?? null }
})

const readAggregate = (row: Row): Aggregate => ({
  invoice: readInvoice(row),
  payments: row.payments.map(readPayment),
  openExceptions: new Set<string>(row.open_exceptions)
})

/** What a filter selects of one status, in usd_millis. */
export interface Total {
  readonly count: number
  readonly amount: UsdMillis
  readonly amountPaid: UsdMillis
}

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

type Fragment = Statement.Fragment

interface TotalRow {
  readonly status: InvoiceStatus
  readonly count: bigint
  readonly amount: bigint
  readonly amount_paid: bigint
}

/** An invoice, and the last event of it that its payor may read. */
export interface WithLastEvent {
  readonly aggregate: Aggregate
  readonly lastEventId: EventId | null
}

/** Repository over one SqlClient; a failing statement is a defect, an unreachable database included. */
export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const paymentJson = sql`json_build_object(
        'id', p.id, 'version', p.version, 'ordinal', p.ordinal, 'status', p.status, 'network', p.network,
        'token_id', p.token_id, 'token_decimals', p.token_decimals, 'tx_hash', p.tx_hash, 'sender', p.sender, 'units', p.units::text,
        'amount', p.amount::text, 'seen_at', p.seen_at, 'created_at', p.created_at, 'confirmed_at', p.confirmed_at,
        'settlement', p.settlement, 'refunded', p.refunded::text, 'metadata', p.metadata)`

  const aggregate = sql`i.*,
    (SELECT coalesce(json_agg(${paymentJson} ORDER BY p.ordinal), '[]')
      FROM invoice_payments p WHERE p.merchant_id = i.merchant_id AND p.invoice_id = i.id) AS payments,
    (SELECT coalesce(json_agg(e.type || ':' || coalesce(e.invoice_payment_id::text, '')), '[]')
      FROM exceptions e WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id AND e.status = 'open'
    ) AS open_exceptions`

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
        WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id::text AND e.payor_data IS NOT NULL
        ORDER BY e.ms DESC, e.seq DESC LIMIT 1
      ) AS last_event_id FROM invoices i WHERE i.id = ${id}::uuid`.pipe(
      Effect.orDie,
      Effect.map(([row]): WithLastEvent | null =>
        row === undefined ? null : { aggregate: readAggregate(row), lastEventId: row.last_event_id }
      )
    )

  /** By id within a merchant: another merchant's invoice is as unknown as none. */
  const get = (merchantId: number, id: string) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.merchant_id = ${merchantId} AND i.id = ${id}::uuid`
      .pipe(Effect.orDie, Effect.map(first))

  const statements = makeStatements(sql)

  /** Newest first; `hasMore` is in the direction of paging. */
  const list = (filter: InvoiceFilter, page: InvoicePage) =>
    statements.page(filter, page).pipe(
      Effect.orDie,
      Effect.map((rows) => {
        const invoices = rows.slice(0, page.limit).map(readInvoice)
        return {
          invoices: page._tag === "Newer" ? invoices.toReversed() : invoices,
          hasMore: rows.length > page.limit
        }
      })
    )

  /** Count and amounts of what a filter selects, by status, as of one moment; a status without any is not there. */
  const totals = (filter: InvoiceFilter) =>
    statements.totals(filter).pipe(
      Effect.orDie,
      Effect.map((rows) =>
        new Map(
          rows.map((
            { amount, amount_paid, count, status }
          ): [InvoiceStatus, Total] => [status, {
            count: Number(count),
            amount: usdMillis(amount),
            amountPaid: usdMillis(amount_paid)
          }])
        )
      )
    )

  const count = (filter: InvoiceFilter) =>
    Effect.map(totals(filter), (byStatus) => [...byStatus.values()].reduce((sum, total) => sum + total.count, 0))

  /** The newest payments of each of `invoiceIds`, newest first, at most `limit` of each. */
  const newestPayments = (merchantId: number, invoiceIds: ReadonlyArray<string>, limit: number) =>
    sql<{ id: string; payments: ReadonlyArray<Row> }>`
      SELECT i.id, coalesce(json_agg(${paymentJson} ORDER BY p.ordinal DESC)
        FILTER (WHERE p.id IS NOT NULL), '[]') AS payments
      FROM json_array_elements_text(${JSON.stringify(invoiceIds)}::json) AS i (id)
      LEFT JOIN LATERAL (
        SELECT * FROM invoice_payments WHERE merchant_id = ${merchantId} AND invoice_id = i.id::uuid
        ORDER BY ordinal DESC LIMIT ${limit}
      ) AS p ON true
      GROUP BY i.id`.pipe(
      Effect.orDie,
      Effect.map((rows) => new Map(rows.map(({ id, payments }) => [id, payments.map(readPayment)])))
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

  /** The fields of an exception's row that {@link unmatchedWrite} needs. */
  const findException = (merchantId: number, id: string) =>
    sql<Row>`SELECT version, status, created_at FROM exceptions WHERE merchant_id = ${merchantId} AND id = ${id}`.pipe(
      Effect.orDie,
      Effect.map(([row]) =>
        row === undefined ? null : {
          version: Number(row.version),
          isOpen: row.status === "open",
          createdAt: Number(row.created_at)
        }
      )
    )

  return {
    find,
    findException,
    findAsTold: findWithLastEvent,
    get,
    list,
    totals,
    count,
    newestPayments,
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
