/** The invoice payment as it crosses the wire and enters events (modules/docs/reference/payments.md#fields). */
import { Schema } from "effect"
import { EpochSeconds, ExceptionId, InvoiceId, MerchantId, PaymentId, TokenId } from "./Ids.ts"
import { InvoiceType, Metadata, WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"

/**
 * Complete for v1 (modules/docs/reference/payments.md#states): `pending` seen, not deep enough; `underpaid` deep
 * enough, the invoice still short; `confirmed` deep enough and the invoice paid; `manual_retry` our processing failed,
 * an operator must act; `reverted` no longer on the chain; `rejected` not accepted for this invoice.
 */
export const PaymentStatus = Schema.Literals([
  "pending",
  "underpaid",
  "confirmed",
  "manual_retry",
  "reverted",
  "rejected"
])
export type PaymentStatus = typeof PaymentStatus.Type

/** The statuses whose amounts make up the invoice's `amount_paid`. */
export const isCounted = (status: PaymentStatus): boolean => status === "underpaid" || status === "confirmed"

/** Seconds a payor's page waits between two polls (modules/docs/reference/payor-sessions.md#payment-status). */
export const nextPollSeconds = 3

/**
 * Where the money stands on its way to the merchant; `null` until confirmed, and while no settlement plugin is loaded.
 */
export const SettlementStatus = Schema.Literals([
  "pending",
  "processing",
  "manual",
  "failed",
  "settled",
  "partially_refunded",
  "refunded"
])
export type SettlementStatus = typeof SettlementStatus.Type

/** How far a settlement has come (modules/docs/reference/settlement.md#states). Open: a version may add more. */
export const SettlementStage = Schema.Literals(["awaiting_confirmation", "sweep", "convert", "transfer", "final"])
export type SettlementStage = typeof SettlementStage.Type

/** What became of the present stage; `settlement.status` on the wire. */
export const SettlementProgress = Schema.Literals(["queued", "submitted", "confirming", "settled", "failed"])
export type SettlementProgress = typeof SettlementProgress.Type

export const Settlement = Schema.Struct({
  summary_status: Schema.NullOr(Schema.String),
  stage: Schema.NullOr(Schema.String),
  merchant_settlement_id: Schema.NullOr(Schema.Int),
  settlement_tx_hash: Schema.NullOr(Schema.String),
  network: Schema.NullOr(Schema.String),
  status: Schema.NullOr(Schema.String)
})

/** Exceptions that a payment of an invoice may open. */
export const PaymentExceptionType = Schema.Literals([
  "underpaid_expired",
  "overpaid",
  "late_payment",
  "wrong_token",
  "wrong_network",
  "missing_memo",
  "duplicate_payment",
  "below_dust",
  "reorged",
  "screened",
  "settlement_failed",
  "expiry_unseen"
])
export type PaymentExceptionType = typeof PaymentExceptionType.Type

/**
 * Exceptions of money that left. `duplicate_payout`: a transfer fits a line of a batch that another one pays;
 * `payout_mismatch`: a transfer of a batch is not what was signed.
 */
export const payoutExceptionTypes = ["duplicate_payout", "payout_mismatch"] as const
export type PayoutExceptionType = typeof payoutExceptionTypes[number]

/**
 * Everything that waits for a person's decision. `unmatched_payment`: money arrived on an address of a receiving wallet
 * that belongs to no invoice, or that an invoice got only after the block was mined.
 */
export const ExceptionType = Schema.Literals([
  ...PaymentExceptionType.literals,
  "unmatched_payment",
  ...payoutExceptionTypes
])
export type ExceptionType = typeof ExceptionType.Type

/** Exceptions of money that pays no invoice. */
export type UnmatchedPaymentType = Extract<ExceptionType, "missing_memo" | "unmatched_payment">

/** Whether an exception is about money that left, which nobody received here. */
export const isPayoutException = (type: string): type is PayoutExceptionType =>
  payoutExceptionTypes.some((each) => each === type)

/** `open` waits for a decision. */
export const ExceptionStatus = Schema.Literals(["open", "resolved"])
export type ExceptionStatus = typeof ExceptionStatus.Type

/** The exception behind a payment, as its metadata names it. */
export const PaymentException = Schema.Struct({
  id: ExceptionId,
  type: PaymentExceptionType,
  status: ExceptionStatus
})
export type PaymentException = typeof PaymentException.Type

/**
 * The token a payment was made in: copied from the catalogue when it was first seen, else what its contract says of
 * itself, which anybody may have made up.
 */
export const PaymentToken = Schema.Struct({
  id: Schema.NullOr(TokenId).annotate({
    description: "Null for a token that is not in the catalogue: do not trust its symbol"
  }),
  symbol: Schema.NullOr(Schema.String).annotate({ description: "Null while its contract has not said one" }),
  /** Null for the network's own coin. */
  address: Schema.NullOr(Schema.String),
  decimals: Schema.NullOr(Schema.Int).annotate({
    description: "Null while its contract has not said how many, 0 to 255"
  })
})
export type PaymentToken = typeof PaymentToken.Type

/** System-owned metadata of a payment: how it was priced, how deep it was when last written, in which token it came. */
export const PaymentMetadata = Schema.Struct({
  quote: Schema.NullOr(Schema.Struct({
    quote_id: Schema.NullOr(Schema.String),
    exchange_rate: Schema.String,
    rate_source: Schema.String,
    priced_at: EpochSeconds,
    pricing: Schema.Literals(["locked", "spot"]),
    pricing_reason: Schema.optionalKey(
      Schema.Literal("locked_rate_ended").annotate({
        description:
          "`locked_rate_ended`: the merchant's policy for late funds is `locked_rate`, but they came more than 24 hours "
          + "after the invoice's end, so they are worth the price then. Absent otherwise"
      })
    )
  })),
  confirmations: Schema.Int,
  required_confirmations: Schema.Int,
  block_number: Schema.NullOr(Schema.Int),
  exception: Schema.NullOr(PaymentException).annotate({
    description: "The exception behind it: one that is open, else the last that was resolved. Null: there was none"
  }),
  late_at: Schema.optionalKey(EpochSeconds.annotate({
    description: "When the payment was seen, where that was after the invoice's end. Absent otherwise"
  })),
  /** Since version 2026-11-01; null for payments seen before that version. */
  token: Schema.NullOr(PaymentToken)
})
export type PaymentMetadata = typeof PaymentMetadata.Type

const exampleShared = {
  object: "invoice_payment",
  id: PaymentId.make("7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34"),
  invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  merchant_id: MerchantId.make(123),
  invoice_type: "standard",
  environment: "devnet",
  customer_id: "cust_123",
  commerce_order_id: null,
  status: "confirmed",
  network: "base",
  payer_tx_hash: "0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd",
  payer_wallet_address: "0x8c9d3f0b1a2e4c5d6f708192a3b4c5d6e7f8781d",
  payer_wallet_network: "base",
  payer_amount_token: "49.99",
  currency: "usd",
  amount: 49_990,
  amount_decimal: "49.990",
  amount_unit: "usd_millis",
  confirmed_at: 1_766_320_496
} as const

const sharedFields = {
  object: Schema.tag("invoice_payment"),
  id: PaymentId,
  invoice_id: InvoiceId,
  merchant_id: MerchantId,
  invoice_type: InvoiceType,
  environment: Environment,
  customer_id: Schema.NullOr(Schema.String),
  commerce_order_id: Schema.NullOr(Schema.String),
  status: PaymentStatus,
  network: Schema.NullOr(Network),
  payer_tx_hash: Schema.NullOr(Schema.String),
  payer_wallet_address: Schema.NullOr(Schema.String),
  payer_wallet_network: Schema.NullOr(Network),
  payer_amount_token: Schema.NullOr(Schema.String),
  currency: Schema.Literal("usd"),
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  confirmed_at: Schema.NullOr(EpochSeconds)
}

/** The merchant's view: all of it. */
export const Payment = Schema.Struct({
  ...sharedFields,
  settlement_status: Schema.NullOr(SettlementStatus),
  settled_amount: Schema.NullOr(WireAmount),
  settled_amount_decimal: Schema.NullOr(UsdDecimal),
  balance_transaction_id: Schema.NullOr(Schema.String),
  settled_at: Schema.NullOr(EpochSeconds),
  settlement: Schema.NullOr(Settlement),
  metadata: Schema.Union([PaymentMetadata, Metadata])
}).annotate({
  identifier: "InvoicePayment",
  description: "One transfer that pays towards an invoice.",
  examples: [{
    ...exampleShared,
    settlement_status: null,
    settled_amount: null,
    settled_amount_decimal: null,
    balance_transaction_id: null,
    settled_at: null,
    settlement: null,
    metadata: {
      quote: {
        quote_id: "quo_0b6c1f3a-94d2-4c57-a8e6-5d7f2e1c9b80",
        exchange_rate: "1",
        rate_source: "kraken",
        priced_at: 1_766_320_400,
        pricing: "locked"
      },
      confirmations: 12,
      required_confirmations: 12,
      block_number: 39_214_871,
      exception: null
    }
  }]
})
export type Payment = typeof Payment.Type

/** Exactly the fields a payor is never shown (modules/docs/reference/payor-sessions.md#what-a-payor-never-sees). */
export const settlementFields = [
  "settlement_status",
  "settled_amount",
  "settled_amount_decimal",
  "balance_transaction_id",
  "settled_at",
  "settlement"
] as const

/**
 * The payor's view: without the six settlement fields and the merchant's name for the customer, with empty metadata.
 */
export const PayorPayment = Schema.Struct({
  ...sharedFields,
  customer_id: Schema.Null,
  metadata: Schema.Record(Schema.String, Schema.Json).check(Schema.isMaxProperties(0))
}).annotate({ identifier: "PayorInvoicePayment", examples: [{ ...exampleShared, customer_id: null, metadata: {} }] })
export type PayorPayment = typeof PayorPayment.Type
