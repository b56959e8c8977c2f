/** The columns of each kind of export. A new column goes to the end, before those of metadata. Pure. */
import {
  baseUnits,
  formatUnits,
  signedUsdDecimal,
  usdDecimal,
  type UsdMillis,
  usdMillis
} from "../../../schemas/Money.ts"
import { amountIfAccepted } from "../../invoices/plugin.ts"
import { descriptorOf } from "../../../schemas/Network.ts"
import type { BookingRow, InvoiceRow, JournalRow, MovementRow, PaymentRow, RefundRow, SentRow } from "../repo.ts"
import { type Cell, decimal, text } from "../../../schemas/Csv.ts"
import { koinlyTime, time } from "../rules.ts"

/** The moment by which a row belongs to a span of time, in epoch seconds; null: the row is not of this kind. */
export type Moment<Row> = (row: Row) => bigint | null

export const createdAt: Moment<{ readonly created_at: bigint }> = (row) => row.created_at

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

export const refundColumns = [
  "id",
  "invoice_id",
  "environment",
  "status",
  "amount_usd",
  "fee_usd",
  "net_amount_usd",
  "network",
  "token_symbol",
  "token_amount",
  "destination_address",
  "tx_hash",
  "reason",
  "failure_code",
  "customer_id",
  "created_at",
  "updated_at",
  "exception_id",
  "token_id",
  "token_address"
] as const

const refundTokenAmount = ({ token, token_amount: units }: RefundRow): string | null =>
  token === null || units === null ? null : formatUnits(BigInt(units), token.decimals)

/**
 * Token and token amount of an order's refund are empty until it is approved. Without an id the token is in no list,
 * and its symbol is whatever its contract says.
 */
export const refundCells = (row: RefundRow): ReadonlyArray<Cell> => [
  text(row.id),
  text(row.invoice_id),
  text(row.environment),
  text(row.status),
  usd(row.amount),
  usd(row.fee),
  usd(row.amount - row.fee),
  text(row.destination?.network ?? null),
  text(row.token?.symbol ?? null),
  decimal(refundTokenAmount(row)),
  text(row.destination?.address ?? null),
  text(row.tx_hash),
  text(row.reason),
  text(row.failure_code),
  text(row.customer_id),
  time(row.created_at),
  time(row.updated_at),
  text(row.exception_id),
  decimal(row.token?.id == null ? null : String(row.token.id)),
  text(row.token_address)
]

/**
 * When a payment's money was final. Null: it is not, or it is not money: the chain took it back, or its token is not in
 * the catalogue, so that anybody may have made up its symbol.
 */
export const receiptMoment: Moment<PaymentRow> = (row) =>
  row.status === "reverted" || row.status === "pending" || row.token_id === null || row.token_decimals === null ||
    row.token?.symbol == null
    ? null
    : row.confirmed_at

/** What a receipt was worth when it came, whether or not it counts for its invoice; null without a price. */
const receiptValue = (row: PaymentRow): UsdMillis | null =>
  amountIfAccepted({
    amount: usdMillis(row.amount),
    units: baseUnits(BigInt(row.units)),
    tokenDecimals: row.token_decimals,
    metadata: { quote: row.quote }
  })

const receiptUnits = (row: PaymentRow): string | null =>
  row.token_decimals === null ? null : formatUnits(BigInt(row.units), row.token_decimals)

export const lotColumns = [
  "payment_id",
  "invoice_id",
  "environment",
  "network",
  "token_id",
  "token_symbol",
  "token_amount",
  "value_usd",
  "price_usd",
  "payment_status",
  "received_at",
  "final_at",
  "tx_hash",
  "customer_id"
] as const

/** A receipt with what it was worth. Without a price, value and price are empty. */
export const lotCells = (row: PaymentRow): ReadonlyArray<Cell> => {
  const value = receiptValue(row)
  return [
    text(row.id),
    text(row.invoice_id),
    text(row.environment),
    text(row.network),
    decimal(row.token_id === null ? null : String(row.token_id)),
    text(row.token?.symbol ?? null),
    decimal(receiptUnits(row)),
    decimal(value === null ? null : usdDecimal(value)),
    decimal(row.quote?.exchange_rate ?? null),
    text(row.status),
    time(row.seen_at),
    time(row.confirmed_at),
    text(row.tx_hash),
    text(row.customer_id)
  ]
}

/** Names of Koinly's "simple" file: https://support.koinly.io/en/articles/9489976. */
export const koinlyColumns = [
  "Koinly Date",
  "Amount",
  "Currency",
  "Net Worth Amount",
  "Net Worth Currency",
  "Label",
  "Description",
  "TxHash"
] as const

/**
 * Receipts by when they were final; refunds by when their payout was, which nothing changes afterwards; what else was
 * sent by when it was booked. Money that pays no invoice is no receipt, so neither is its refund told: an asset would
 * go out that never came in.
 */
export const movementMoment: Moment<MovementRow> = (row) => {
  switch (row.kind) {
    case "payment":
      return receiptMoment(row)
    case "refund":
      if (row.invoice_id === null) return null
      return row.status === "succeeded" && refundTokenAmount(row) !== null ? row.updated_at : null
    case "sent":
      return row.is_exported && row.token !== null ? row.created_at : null
    case "fee":
      return row.paid_at
  }
}

interface KoinlyRow {
  readonly at: bigint
  /** Whole tokens, below zero where they went out. */
  readonly amount: string | null
  readonly symbol: string | null
  /** What they were worth then; null: Koinly takes the market's price. */
  readonly worth: UsdMillis | null
  readonly label?: "cost"
  readonly description: string
  readonly txHash: string | null
}

/** Receipts are dated when they came in. What goes out is negative; a refund is worth what the payor was given back. */
const koinlyRow = (row: MovementRow): KoinlyRow => {
  switch (row.kind) {
    case "payment":
      return {
        at: row.seen_at,
        amount: receiptUnits(row),
        symbol: row.token?.symbol ?? null,
        worth: receiptValue(row),
        description: `Payment ${row.id} of invoice ${row.invoice_id}`,
        txHash: row.tx_hash
      }
    case "refund":
      return {
        at: row.updated_at,
        amount: `-${refundTokenAmount(row)}`,
        symbol: row.token?.symbol ?? null,
        worth: usdMillis(row.amount - row.fee),
        description: `Refund ${row.id} of invoice ${row.invoice_id}`,
        txHash: row.tx_hash
      }
    case "sent":
      return {
        at: row.created_at,
        amount: signedUnits(BigInt(row.units), row.token?.decimals ?? 0),
        symbol: row.token?.symbol ?? null,
        // Without a price it was stored as 0.
        worth: row.amount === null || row.amount === 0n ? null : usdMillis(row.amount),
        description: sentWords(row),
        txHash: row.tx_hash
      }
    case "fee": {
      const { decimals, symbol } = descriptorOf(row.fee_network).coin
      return {
        at: row.paid_at,
        amount: signedUnits(-BigInt(row.network_fee), decimals),
        symbol,
        worth: null,
        label: "cost",
        description: `Network fee of batch ${row.batch_id}`,
        txHash: row.fee_tx_hash
      }
    }
  }
}

const signedUnits = (units: bigint, decimals: number): string =>
  units < 0n ? `-${formatUnits(-units, decimals)}` : formatUnits(units, decimals)

const sentWords = ({ reference, source_id: id, source_object: object }: SentRow): string => {
  if (object === "batch_line") return `Payout ${id}${reference == null || reference === "" ? "" : `: ${reference}`}`
  return object === "exception" ? `Sent unasked, exception ${id}` : `Adjustment ${id}`
}

export const koinlyCells = (row: MovementRow): ReadonlyArray<Cell> => {
  const { amount, at, description, label, symbol, txHash, worth } = koinlyRow(row)
  return [
    koinlyTime(at),
    decimal(amount),
    text(symbol),
    decimal(worth === null ? null : usdDecimal(worth)),
    text(worth === null ? null : "USD"),
    text(label ?? null),
    text(description),
    text(txHash)
  ]
}

/** Of what the books hold; those of the other environment are read with them, as both are under one key. */
export const bookedAt: Moment<{ readonly created_at: bigint; readonly is_exported: boolean }> = (row) =>
  row.is_exported ? row.created_at : null

const signedUsd = (amount: bigint): Cell => decimal(signedUsdDecimal(amount))

export const bookingColumns = [
  "id",
  "environment",
  "created_at",
  "type",
  "status",
  "amount_usd",
  "net_usd",
  "asset",
  "units",
  "source_object",
  "source_id",
  "reverses"
] as const

const bookingStatuses = { posted: "available", voided: "voided" } as const

/** As the list of balance transactions tells it. */
const bookingStatus = ({ end, is_pending: isPending }: BookingRow): string => {
  if (!isPending) return "available"
  return end === null ? "pending" : bookingStatuses[end]
}

/** Units are base units: the books know assets that are in no list of tokens. */
export const bookingCells = (row: BookingRow): ReadonlyArray<Cell> => [
  text(row.id),
  text(row.environment),
  time(row.created_at),
  text(row.type),
  text(bookingStatus(row)),
  signedUsd(row.amount),
  signedUsd(row.net),
  text(row.asset),
  decimal(row.units),
  text(row.source_object),
  text(row.source_id),
  text(row.reverses)
]

export const journalColumns = [
  "date",
  "environment",
  "transaction_id",
  "account",
  "debit_usd",
  "credit_usd",
  "asset",
  "units",
  "description"
] as const

/** One side of an entry: the amount stands under it, and the other one is empty. */
export const journalCells = (row: JournalRow): ReadonlyArray<Cell> => [
  time(row.created_at),
  text(row.environment),
  text(row.transaction_id),
  text(row.side === "debit" ? row.debit : row.credit),
  row.side === "debit" ? signedUsd(row.usd_millis) : decimal(null),
  row.side === "credit" ? signedUsd(row.usd_millis) : decimal(null),
  text(row.asset),
  decimal(row.units),
  text(`${row.type} ${row.kind}: ${row.source_object} ${row.source_id}`)
]
