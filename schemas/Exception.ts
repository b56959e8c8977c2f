/** The exception as it crosses the wire (modules/docs/reference/exceptions.md#fields): what needs a person's decision. */
import { Schema } from "effect"
import { EpochSeconds, ExceptionId, InvoiceId, PaymentId, RefundId, TokenId } from "./Ids.ts"
import { WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"
import { ExceptionStatus, ExceptionType } from "./Payment.ts"

/**
 * What a person can decide (modules/docs/reference/exceptions.md#actions). `accept`: the money counts, or what is
 * missing is waived; `refund`: it goes back to the payor; `credit`: the merchant keeps the money and no invoice
 * changes; `assign`: it counts for an invoice that the person names; `ignore`: nothing follows. More may be added.
 */
export const ExceptionAction = Schema.Literals(["accept", "refund", "credit", "assign", "ignore"])
export type ExceptionAction = typeof ExceptionAction.Type

/** Characters of a note, at most: it is for people. */
export const maximumNote = 500

/** What a decision to keep money was about: so much of a payment, in usd_millis, above what lies below. */
export interface ExcessShare {
  /** Null: of whatever came. */
  readonly payment_id: string | null
  readonly amount: number
  readonly below: number
}

/** A decision as it is kept. */
export interface ExceptionResolution {
  readonly action: ExceptionAction
  /** Empty where the person said nothing. */
  readonly note: string
  /** The credential that decided, as `Principal.credential` names it. */
  readonly actor: string
  /** The invoice that the money was assigned to; null otherwise. */
  readonly invoiceId: string | null
  /** The refund that it opened, the first of several; absent: none. */
  readonly refundId?: string
  /** Of money that is too much and is kept: which payments it came by. */
  readonly shares?: ReadonlyArray<ExcessShare>
  /** Of a refund of money that pays no invoice: this money has left its chain since. Absent: it has not. */
  readonly isReverted?: true
}

/** The example of the documentation. */
export const exampleException = {
  id: ExceptionId.make("exc_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10"),
  object: "exception",
  type: "overpaid",
  status: "open",
  environment: "devnet",
  invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  invoice_payment_id: null,
  customer_id: "cust_123",
  amount: 5_000,
  amount_decimal: "5.000",
  amount_unit: "usd_millis",
  currency: "usd",
  network: null,
  token: null,
  token_amount: null,
  tx_hash: null,
  evidence: { amount: 49_990, amount_paid: 54_990 },
  allowed_actions: ["refund", "credit", "ignore"],
  resolution: null,
  created_at: 1_766_320_496,
  resolved_at: null
} as const

export const Exception = Schema.Struct({
  id: ExceptionId,
  object: Schema.tag("exception"),
  type: ExceptionType,
  status: ExceptionStatus,
  environment: Environment,
  invoice_id: Schema.NullOr(InvoiceId).annotate({ description: "Null for money that pays no invoice" }),
  invoice_payment_id: Schema.NullOr(PaymentId).annotate({
    description: "Null where it is about the whole invoice, or about money that pays no invoice"
  }),
  customer_id: Schema.NullOr(Schema.String),
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  currency: Schema.Literal("usd"),
  network: Schema.NullOr(Network),
  token: Schema.NullOr(Schema.Struct({
    id: Schema.NullOr(TokenId),
    symbol: Schema.NullOr(Schema.String),
    decimals: Schema.NullOr(Schema.Int),
    address: Schema.NullOr(Schema.String)
  })).annotate({ description: "Null where it is about no single transfer. Without an `id`, do not trust the symbol" }),
  token_amount: Schema.NullOr(Schema.String).annotate({
    description: "Whole tokens, or base units where the token's decimals are not known"
  }),
  tx_hash: Schema.NullOr(Schema.String),
  evidence: Schema.Record(Schema.String, Schema.Json),
  allowed_actions: Schema.Array(ExceptionAction).annotate({
    description: "What `resolve` takes now; empty once it is resolved. More may be added in any version"
  }),
  resolution: Schema.NullOr(Schema.Struct({
    action: ExceptionAction,
    note: Schema.String,
    actor: Schema.String.annotate({ description: "The API key or the wallet that decided" }),
    refund_id: Schema.NullOr(RefundId),
    invoice_id: Schema.NullOr(InvoiceId),
    at: EpochSeconds
  })).annotate({ description: "Null while it is open, and where its money left the chain again" }),
  created_at: EpochSeconds,
  resolved_at: Schema.NullOr(EpochSeconds)
}).annotate({
  identifier: "Exception",
  description: "Something about money that needs a person's decision.",
  examples: [exampleException]
})
export type Exception = typeof Exception.Type
