/** The only SQL of shops' invoices. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { ShopCurrency } from "./rules/Amounts.ts"
import type { ShopCheckout } from "./rules/Requests.ts"
import type { ShopFlags, ShopState, ShopStatus } from "./rules/Statuses.ts"

/** What is stored of an invoice that a shop made, beside the invoice itself. */
export interface ShopInvoice {
  readonly merchantId: number
  readonly invoiceId: string
  readonly version: number
  readonly environment: Environment
  readonly orderId: string | null
  readonly currency: ShopCurrency
  /** As the shop asked for it, in its currency. */
  readonly amount: string
  readonly checkout: ShopCheckout
  readonly flags: ShopFlags
  /** The state after the last commit, as the shop read it or was sent it. */
  readonly state: ShopState
  readonly createdAt: number
}

export const shopInvoiceWrite = (row: ShopInvoice): Write => ({
  table: "btcpay_invoices",
  row: {
    merchant_id: row.merchantId,
    invoice_id: row.invoiceId,
    version: row.version,
    environment: row.environment,
    order_id: row.orderId,
    currency: row.currency.code,
    amount: row.amount,
    rate_numerator: row.currency.rate?.numerator.toString() ?? null,
    rate_denominator: row.currency.rate?.denominator.toString() ?? null,
    checkout: row.checkout,
    told_expired: row.flags.isExpirySent,
    reversed: row.flags.isReversed,
    marked: row.flags.isMarked,
    status: row.state.status,
    additional_status: row.state.additionalStatus,
    created_at: row.createdAt
  }
})

interface Row {
  readonly merchant_id: number
  readonly invoice_id: string
  readonly version: bigint
  readonly environment: Environment
  readonly order_id: string | null
  readonly currency: string
  readonly amount: string
  readonly rate_numerator: string | null
  readonly rate_denominator: string | null
  readonly checkout: ShopCheckout
  readonly told_expired: boolean
  readonly reversed: boolean
  readonly marked: boolean
  readonly status: ShopState["status"]
  readonly additional_status: ShopState["additionalStatus"]
  readonly created_at: bigint
}

const fromRow = (row: Row): ShopInvoice => ({
  merchantId: row.merchant_id,
  invoiceId: row.invoice_id,
  version: Number(row.version),
  environment: row.environment,
  orderId: row.order_id,
  currency: {
    code: row.currency,
    rate: row.rate_numerator === null || row.rate_denominator === null
      ? null
      : { numerator: BigInt(row.rate_numerator), denominator: BigInt(row.rate_denominator) }
  },
  amount: row.amount,
  checkout: row.checkout,
  flags: { isExpirySent: row.told_expired, isReversed: row.reversed, isMarked: row.marked },
  state: { status: row.status, additionalStatus: row.additional_status },
  createdAt: Number(row.created_at)
})

/** Which invoices a list shows. A field that is null filters nothing. */
export interface ShopInvoiceFilter {
  readonly orderIds: ReadonlyArray<string> | null
  readonly statuses: ReadonlyArray<ShopStatus> | null
  /** Epoch seconds. */
  readonly from: number | null
  readonly to: number | null
  /** Exactly an invoice's id or order. */
  readonly text: string | null
  readonly take: number
  readonly skip: number
}

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** By id alone: for changes, and for links that shops give out. */
  find: (invoiceId: string): Effect.Effect<ShopInvoice | null> =>
    sql<Row>`SELECT * FROM btcpay_invoices WHERE invoice_id = ${invoiceId}::uuid`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row === undefined ? null : fromRow(row))
    ),
  /** Newest first. */
  list: (
    merchantId: number,
    environment: Environment,
    { from, orderIds, skip, statuses, take, text, to }: ShopInvoiceFilter
  ): Effect.Effect<ReadonlyArray<ShopInvoice>> =>
    sql<Row>`SELECT * FROM btcpay_invoices
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND (${orderIds === null} OR order_id = ANY (${[...orderIds ?? []]}::text[]))
        AND (${statuses === null} OR status = ANY (${[...statuses ?? []]}::text[]))
        AND (${text === null} OR invoice_id::text = ${text ?? ""} OR order_id = ${text ?? ""})
        AND created_at >= ${from ?? 0}::bigint AND created_at <= ${to ?? Number.MAX_SAFE_INTEGER}::bigint
      ORDER BY created_at DESC, invoice_id DESC LIMIT ${take}::integer OFFSET ${skip}::integer`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(fromRow))
    ),
  /** The longest of these texts that is the order of an invoice; null: none is. */
  longestOrder: (
    merchantId: number,
    environment: Environment,
    orderIds: ReadonlyArray<string>
  ): Effect.Effect<string | null> =>
    sql<{ readonly order_id: string }>`SELECT order_id FROM btcpay_invoices
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND order_id = ANY (${[...orderIds]}::text[])
      ORDER BY length(order_id) DESC LIMIT 1`.pipe(
      Effect.orDie,
      Effect.map(([row]) => row?.order_id ?? null)
    ),
  /** An order's invoices with a payment that came or is on its way, the newest first. */
  receivedOfOrder: (
    merchantId: number,
    environment: Environment,
    orderId: string,
    most: number
  ): Effect.Effect<ReadonlyArray<ShopInvoice>> =>
    sql<Row>`SELECT * FROM btcpay_invoices
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND order_id = ${orderId}
        AND NOT (status IN ('New', 'Expired') AND additional_status = 'None')
      ORDER BY created_at DESC, invoice_id DESC LIMIT ${most}::integer`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.map(fromRow))
    )
}))

export type Repo = Effect.Success<typeof makeRepo>
