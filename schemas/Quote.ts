/**
 * The payment quote as it crosses the wire (modules/docs/reference/quotes.md#fields): what a route costs now, and until
 * when.
 */
import { Schema } from "effect"
import { EpochSeconds, InvoiceId, TokenId } from "./Ids.ts"
import { WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Network } from "./Network.ts"

export const QuoteStatus = Schema.Literals(["available", "unavailable", "expired"])
export type QuoteStatus = typeof QuoteStatus.Type

export const QuoteStatusCode = Schema.Literals([
  "ok",
  "quote_unavailable",
  "quote_expired",
  "settlement_unavailable",
  "network_degraded"
])

/** Seconds a quote holds (modules/docs/reference/quotes.md#how-long-a-quote-holds). */
export const quoteTtlSeconds = 300

/**
 * Seconds past `quote_valid_until` in which a transfer still gets the quoted rate
 * (modules/docs/reference/payments.md#what-it-is-worth).
 */
export const quoteGraceSeconds = 120

/** A quote that holds, in the shape every document shows it: 49.99 dollars in USDC on Base. */
export const exampleQuote = {
  object: "payment_quote",
  invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  network: "base",
  supported_token_id: TokenId.make(123),
  settlement_token_id: TokenId.make(123),
  currency: "usd",
  amount_remaining: 49_990,
  amount_remaining_decimal: "49.990",
  amount_unit: "usd_millis",
  estimated_token_amount_remaining: "49.990000",
  exchange_rate: "1.000000",
  quote_last_updated_at: 1_766_320_496,
  quote_valid_until: 1_766_320_796,
  quote_expires_in_seconds: 300,
  quote_status: "available",
  status_code: "ok",
  message: null,
  retryable: null,
  retry_after_seconds: null
} as const

export const Quote = Schema.Struct({
  object: Schema.tag("payment_quote"),
  invoice_id: InvoiceId,
  network: Network,
  supported_token_id: Schema.NullOr(TokenId),
  settlement_token_id: Schema.NullOr(TokenId),
  currency: Schema.Literal("usd"),
  amount_remaining: WireAmount,
  amount_remaining_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  estimated_token_amount_remaining: Schema.NullOr(Schema.String),
  exchange_rate: Schema.NullOr(Schema.String),
  quote_last_updated_at: Schema.NullOr(EpochSeconds),
  quote_valid_until: Schema.NullOr(EpochSeconds),
  quote_expires_in_seconds: Schema.NullOr(Schema.Int),
  quote_status: Schema.NullOr(QuoteStatus),
  status_code: Schema.NullOr(QuoteStatusCode),
  message: Schema.NullOr(Schema.String),
  retryable: Schema.NullOr(Schema.Boolean),
  retry_after_seconds: Schema.NullOr(Schema.Int)
}).annotate({
  identifier: "PaymentQuote",
  description: "What remains of an invoice, in one token, at one moment.",
  examples: [exampleQuote]
})
export type Quote = typeof Quote.Type
