/** The columns of each kind of export. A new column goes to the end, before those of metadata. Pure. */
import { formatUnits, usdDecimal, usdMillis } from "../../../schemas/Money.ts"
import type { InvoiceRow, PaymentRow } from "../repo.ts"
import { type Cell, decimal, text, time } from "../rules.ts"

export const invoiceColumns = [
  "id",
  "environment",
  "type",
  "status",
  "amount_usd",
  "amount_paid_usd",
  "customer_id",
  "order_id",
  "payer_wallet_network",
  "payer_wallet_address",
  "created_at",
  "expires_at",
  "paid_at"
] as const

const usd = (amount: bigint): Cell => decimal(usdDecimal(usdMillis(amount)))

export const invoiceCells = (row: InvoiceRow): ReadonlyArray<Cell> => [
  text(row.id),
  text(row.environment),
  text(row.type),
  text(row.status),
  usd(row.amount),
  usd(row.amount_paid),
  text(row.customer_id),
  text(row.order_id),
  text(row.payer_wallet_network),
  text(row.payer_wallet_address),
  time(row.created_at),
  time(row.expires_at),
  time(row.paid_at)
]

export const paymentColumns = [
  "id",
  "invoice_id",
  "environment",
  "status",
  "network",
  "token_id",
  "token_amount",
  "amount_usd",
  "tx_hash",
  "sender",
  "customer_id",
  "created_at",
  "seen_at",
  "confirmed_at"
] as const

/** The token amount is empty where the token's decimals are not known: base units would be another number. */
export const paymentCells = (row: PaymentRow): ReadonlyArray<Cell> => [
  text(row.id),
  text(row.invoice_id),
  text(row.environment),
  text(row.status),
  text(row.network),
  decimal(row.token_id === null ? null : String(row.token_id)),
  decimal(row.token_decimals === null ? null : formatUnits(BigInt(row.units), row.token_decimals)),
  usd(row.amount),
  text(row.tx_hash),
  text(row.sender),
  text(row.customer_id),
  time(row.created_at),
  time(row.seen_at),
  time(row.confirmed_at)
]
