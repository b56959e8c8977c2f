/**
 * The refund as it crosses the wire (modules/docs/reference/refunds.md#fields): exactly these fields, in this order.
 */
import { Schema } from "effect"
import { ApprovalSummary } from "./Approval.ts"
import { EpochSeconds, ExceptionId, InvoiceId, PaymentId, RefundId, TokenId } from "./Ids.ts"
import { WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Network } from "./Network.ts"

/** Complete for v1. The transitions are in modules/refunds/machine.ts. */
export const RefundStatus = Schema.Literals([
  "awaiting_destination",
  "pending_approval",
  "processing",
  "succeeded",
  "failed",
  "canceled",
  "expired"
])
export type RefundStatus = typeof RefundStatus.Type

/** Complete for v1. */
export const RefundReason = Schema.Literals([
  "requested_by_customer",
  "overpayment",
  "late_payment",
  "underpayment",
  "wrong_token",
  "order_cancelled",
  "order_failed",
  "duplicate",
  "other"
])
export type RefundReason = typeof RefundReason.Type

/** Who pays the network for a payout: `payor` gets less by the fee, `merchant` pays it on top. */
export const FeeBearer = Schema.Literals(["payor", "merchant"])
export type FeeBearer = typeof FeeBearer.Type

/**
 * How much is given back: all that was received (`full`), what of it is left (`remaining`), what is beyond the amount
 * of the invoice (`overpaid`), or a part (`custom`).
 */
export const RefundAmountMode = Schema.Literals(["full", "overpaid", "remaining", "custom"])
export type RefundAmountMode = typeof RefundAmountMode.Type

/** A transaction as its network names it: hex, base58 or base64, never longer than 128 characters. */
export const PayoutTxHash = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/=_-]{1,128}$/u))

/** `failure_code` of a refund whose money went away while it was to be paid out: the service's own, of no operator. */
export const revertedCode = "payment_reverted"

/** Why a payout failed, in a word of the operator's: `insufficient_funds`. */
export const RefundFailureCode = Schema.String.check(Schema.isPattern(/^[a-z0-9_]{1,64}$/u))

/** The refund of the reference's examples. */
export const exampleRefund = {
  id: RefundId.make("re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "refund",
  invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  invoice_payment_id: PaymentId.make("7d444840-9dc0-41d1-b245-5ffdce74fad2"),
  exception_id: ExceptionId.make("exc_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10"),
  commerce_order_id: null,
  status: "pending_approval",
  amount: 5_000,
  amount_decimal: "5.000",
  amount_unit: "usd_millis",
  currency: "usd",
  token_amount: "5.000000",
  token_symbol: "USDC",
  token_id: TokenId.make(7),
  token_address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  network: "base",
  received_tx_hash: null,
  fee: 20,
  fee_decimal: "0.020",
  net_amount: 4_980,
  net_amount_decimal: "4.980",
  destination_address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  tx_hash: null,
  balance_transaction_id: null,
  claim_url: null,
  approvals: [{ by: "wallet:0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", at: 1_766_320_496 }],
  reason: "overpayment",
  failure_code: null,
  created_at: 1_766_320_496,
  updated_at: 1_766_320_496
} as const

export const Refund = Schema.Struct({
  id: RefundId,
  object: Schema.tag("refund"),
  invoice_id: Schema.NullOr(InvoiceId).annotate({ description: "Null for money that pays no invoice" }),
  invoice_payment_id: Schema.NullOr(PaymentId),
  exception_id: Schema.NullOr(ExceptionId).annotate({ description: "The exception that it decides; null: none" }),
  commerce_order_id: Schema.NullOr(Schema.String),
  status: RefundStatus,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  currency: Schema.Literal("usd"),
  token_amount: Schema.NullOr(Schema.String),
  token_symbol: Schema.NullOr(Schema.String),
  token_id: Schema.NullOr(TokenId).annotate({
    description: "Null: the token is in no list, so that anybody may have made it and chosen its symbol"
  }),
  token_address: Schema.NullOr(Schema.String).annotate({
    description: "The token's contract; null for the network's own coin, and with `token_symbol`"
  }),
  network: Schema.NullOr(Network),
  received_tx_hash: Schema.NullOr(Schema.String).annotate({
    description: "Of money that pays no invoice: the transaction that brought it. Else its payment says it"
  }),
  fee: WireAmount,
  fee_decimal: UsdDecimal,
  net_amount: WireAmount,
  net_amount_decimal: UsdDecimal,
  destination_address: Schema.NullOr(Schema.String),
  tx_hash: Schema.NullOr(Schema.String),
  balance_transaction_id: Schema.NullOr(Schema.String),
  claim_url: Schema.NullOr(Schema.String),
  approvals: Schema.Array(ApprovalSummary).annotate({
    description: "Who has approved it as it is now; where two people must, it waits until there are two"
  }),
  reason: RefundReason,
  failure_code: Schema.NullOr(Schema.String),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({
  identifier: "Refund",
  description: "Money on its way back to the payor.",
  examples: [exampleRefund]
})
export type Refund = typeof Refund.Type

/** What a refund would come to now; `valid_until` is the last second it is honoured. */
export const RefundQuote = Schema.Struct({
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  fee: WireAmount,
  fee_decimal: UsdDecimal,
  net_amount: WireAmount,
  net_amount_decimal: UsdDecimal,
  token: Schema.String,
  network: Network,
  valid_until: EpochSeconds
})
export type RefundQuote = typeof RefundQuote.Type
