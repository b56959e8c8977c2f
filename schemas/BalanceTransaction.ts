/** The balance transaction as it crosses the wire (modules/docs/reference/ledger.md#balance-transactions). */
import { Schema } from "effect"
import { BalanceTransactionId, EpochSeconds } from "./Ids.ts"
import { Environment } from "./Network.ts"

/** Complete for v1 (modules/docs/reference/ledger.md#types). */
export const BalanceTransactionType = Schema.Literals([
  "payment",
  "payment_reversal",
  "settlement",
  "refund",
  "refund_reversal",
  "fee",
  "adjustment",
  "suspense",
  "tolerance_writeoff",
  "credit",
  "payout"
])
export type BalanceTransactionType = typeof BalanceTransactionType.Type

export const SignedUsd = Schema.Int.annotate({ description: "usd_millis; below zero: they go away" })
export const SignedDecimal = Schema.String.check(Schema.isPattern(/^-?\d+\.\d{3}$/u))
export const SignedUnits = Schema.String.check(Schema.isPattern(/^-?\d{1,78}$/u)).annotate({
  description: "Base units"
})
export const TokenAmount = Schema.NullOr(Schema.String).annotate({ description: "Null where the token is in no list" })

/** The example of the documentation. */
export const exampleBalanceTransaction = {
  id: BalanceTransactionId.make("bt_3f9c2b10-6c3b-8e9d-8f51-2b0c9e7a6d34"),
  object: "balance_transaction",
  type: "payment",
  status: "available",
  amount: 49_990,
  amount_decimal: "49.990",
  fee: 0,
  fee_decimal: "0.000",
  net: 49_990,
  net_decimal: "49.990",
  currency: "usd",
  amount_unit: "usd_millis",
  asset: "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  units: "49990000",
  token_amount: "49.990000",
  source: { object: "invoice_payment", id: "7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34" },
  reverses: null,
  environment: "devnet",
  created_at: 1_766_320_400,
  available_at: 1_766_320_496,
  entries: [
    {
      kind: "booked",
      debit: "chain:9b1f…",
      credit: "merchant_pending",
      asset: "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
      units: "49990000",
      usd_millis: 49_990,
      created_at: 1_766_320_400
    },
    {
      kind: "posted",
      debit: "merchant_pending",
      credit: "merchant_available",
      asset: "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
      units: "49990000",
      usd_millis: 49_990,
      created_at: 1_766_320_496
    }
  ]
} as const

export const BalanceTransaction = Schema.Struct({
  id: BalanceTransactionId,
  object: Schema.tag("balance_transaction"),
  type: BalanceTransactionType,
  status: Schema.Literals(["pending", "available", "voided"]),
  amount: SignedUsd,
  amount_decimal: SignedDecimal,
  fee: SignedUsd,
  fee_decimal: SignedDecimal,
  net: SignedUsd.annotate({ description: "usd_millis that it adds to your balance, pending or available" }),
  net_decimal: SignedDecimal,
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  asset: Schema.NullOr(Schema.String).annotate({
    description: "`<network>:<address of the token>`, or `<network>:native`; null where no token moves"
  }),
  units: SignedUnits,
  token_amount: TokenAmount,
  source: Schema.Struct({
    object: Schema.Literals(["invoice_payment", "exception", "refund", "invoice", "adjustment", "batch_line"]),
    id: Schema.String
  }),
  reverses: Schema.NullOr(Schema.String),
  environment: Environment,
  created_at: EpochSeconds,
  available_at: Schema.NullOr(EpochSeconds),
  entries: Schema.Array(Schema.Struct({
    kind: Schema.Literals(["booked", "posted", "voided"]),
    debit: Schema.String,
    credit: Schema.String,
    asset: Schema.String,
    units: SignedUnits,
    usd_millis: Schema.Int,
    created_at: EpochSeconds
  }))
}).annotate({
  identifier: "BalanceTransaction",
  description: "What was booked of one thing that happened to money.",
  examples: [exampleBalanceTransaction]
})
export type BalanceTransaction = typeof BalanceTransaction.Type
