/** The only SQL of invoices, their payments and exceptions: rows in, aggregates out; writes as rows for the commit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Aggregate, Decision, InvoiceState, Opening, PaymentState } from "./machine.ts"

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
    metadata: payment.metadata
  }
})

/** An exception as it is opened; `id` and time come from the actor. */
export interface Opened extends Opening {
  readonly id: string
  readonly createdAt: number
}

const exceptionWrite = (invoice: InvoiceState, opened: Opened): Write => ({
  table: "exceptions",
  row: {
    merchant_id: invoice.merchantId,
    id: opened.id,
    version: 1,
    environment: invoice.environment,
    type: opened.type,
    status: "open",
    invoice_id: invoice.id,
    invoice_payment_id: opened.paymentId,
    amount: opened.amount.toString(),
    evidence: opened.evidence,
    created_at: opened.createdAt,
    resolved_at: null
  }
})

/** Every row a decision changes. The invoice row is always among them, so that two decisions cannot both win. */
export const decisionWrites = ({ next, changed }: Decision, opened: ReadonlyArray<Opened>): ReadonlyArray<Write> => [
  invoiceWrite(next.invoice),
  ...changed.map((payment) => paymentWrite(next.invoice, payment)),
  ...opened.map((exception) => exceptionWrite(next.invoice, exception))
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
  metadata: { ...row.metadata, token: row.metadata.token ?? null }
})

const readAggregate = (row: Row): Aggregate => ({
  invoice: readInvoice(row),
  payments: row.payments.map(readPayment),
  openExceptions: new Set<string>(row.open_exceptions)
})

/** Repository over one SqlClient; a failing statement is a defect, an unreachable database included. */
export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const aggregate = sql`i.*,
    (SELECT coalesce(json_agg(json_build_object(
        'id', p.id, 'version', p.version, 'status', p.status, 'network', p.network, 'token_id', p.token_id,
        'token_decimals', p.token_decimals, 'tx_hash', p.tx_hash, 'sender', p.sender, 'units', p.units::text,
        'amount', p.amount::text, 'seen_at', p.seen_at, 'created_at', p.created_at, 'confirmed_at', p.confirmed_at,
        'metadata', p.metadata) ORDER BY p.created_at, p.id), '[]')
      FROM invoice_payments p WHERE p.merchant_id = i.merchant_id AND p.invoice_id = i.id) AS payments,
    (SELECT coalesce(json_agg(e.type || ':' || coalesce(e.invoice_payment_id::text, '')), '[]')
      FROM exceptions e WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id AND e.status = 'open'
    ) AS open_exceptions`

  const first = (rows: ReadonlyArray<Row>): Aggregate | null => rows[0] === undefined ? null : readAggregate(rows[0])

  /** By id alone: for those who were handed the id by us (sessions, targets). */
  const find = (id: string) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.id = ${id}::uuid`.pipe(Effect.orDie, Effect.map(first))

  /** By id within a merchant: another merchant's invoice is as unknown as none. */
  const get = (merchantId: number, id: string) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.merchant_id = ${merchantId} AND i.id = ${id}::uuid`
      .pipe(Effect.orDie, Effect.map(first))

  const conditions = (filter: InvoiceFilter) => {
    const { statuses } = filter
    return sql.and([
      sql`merchant_id = ${filter.merchantId}`,
      sql`environment = ${filter.environment}`,
      ...(filter.commerceOnly ? [sql`type = 'commerce'`] : []),
      ...(statuses === undefined ? [] : [sql`status IN ${sql.in(statuses)}`]),
      ...(filter.type === undefined ? [] : [sql`type = ${filter.type}`]),
      ...(filter.customerId === undefined ? [] : [sql`customer_id = ${filter.customerId}`]),
      ...(filter.createdFrom === undefined ? [] : [sql`created_at >= ${filter.createdFrom}`]),
      ...(filter.createdTo === undefined ? [] : [sql`created_at <= ${filter.createdTo}`]),
      ...(filter.payerWalletAddress === undefined ? [] : [sql`payer_wallet_address = ${filter.payerWalletAddress}`]),
      ...(filter.payerWalletNetwork === undefined ? [] : [sql`payer_wallet_network = ${filter.payerWalletNetwork}`])
    ])
  }

  /** Newest first. One more row than the page is read to know whether there is more in the paging direction. */
  const list = (filter: InvoiceFilter, page: InvoicePage) => {
    const where = conditions(filter)
    const more = page.limit + 1
    const query = page._tag === "Offset"
      ? sql<Row>`SELECT * FROM invoices WHERE ${where} ORDER BY merchant_id, id DESC LIMIT ${more} OFFSET ${page.offset}`
      : page._tag === "Older"
      ? sql<Row>`SELECT * FROM invoices WHERE ${where} AND id < ${page.id}::uuid ORDER BY id DESC LIMIT ${more}`
      : sql<Row>`SELECT * FROM invoices WHERE ${where} AND id > ${page.id}::uuid ORDER BY id ASC LIMIT ${more}`
    return query.pipe(
      Effect.orDie,
      Effect.map((rows) => {
        const invoices = rows.slice(0, page.limit).map(readInvoice)
        return {
          invoices: page._tag === "Newer" ? invoices.toReversed() : invoices,
          hasMore: rows.length > page.limit
        }
      })
    )
  }

  const count = (filter: InvoiceFilter) =>
    sql<Row>`SELECT count(*) AS total FROM invoices WHERE ${conditions(filter)}`.pipe(
      Effect.orDie,
      Effect.map((rows) => Number(rows[0]!.total))
    )

  /** Epoch seconds of the earliest invoice the clock may change. */
  const nextDue = sql<Row>`SELECT min(due_at) AS due_at FROM invoices WHERE due_at IS NOT NULL`.pipe(
    Effect.orDie,
    Effect.map((rows) => number(rows[0]?.due_at ?? null))
  )

  /** Invoices due at `now`, longest due first. */
  const due = (now: number, limit: number) =>
    sql<Row>`SELECT ${aggregate} FROM invoices i WHERE i.due_at <= ${now} ORDER BY i.due_at LIMIT ${limit}`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(readAggregate))
    )

  /** The invoice a payment belongs to, by the payment's id alone: for operators. */
  const invoiceOfPayment = (paymentId: string) =>
    sql<Row>`SELECT invoice_id FROM invoice_payments WHERE id = ${paymentId}::uuid`.pipe(
      Effect.orDie,
      Effect.map((rows): string | null => rows[0]?.invoice_id ?? null)
    )

  return { find, get, list, count, nextDue, due, invoiceOfPayment }
})

export type Repo = Effect.Success<typeof makeRepo>
