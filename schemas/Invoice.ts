/**
 * The invoice as it crosses the wire and enters events (modules/docs/reference/invoices.md#fields): exactly these
 * fields, in this order.
 */
import { Schema } from "effect"
import { EpochSeconds, InvoiceId, MerchantId } from "./Ids.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"

/** Complete for v1 (modules/docs/reference/invoices.md#states). The transitions are in modules/invoices/machine.ts. */
export const InvoiceStatus = Schema.Literals(["unpaid", "underpaid", "paid", "expired", "canceled"])
export type InvoiceStatus = typeof InvoiceStatus.Type

/** `commerce` invoices belong to an order; every other is `standard`. */
export const InvoiceType = Schema.Literals(["standard", "commerce"])
export type InvoiceType = typeof InvoiceType.Type

/** usd_millis as the integer the wire carries; arithmetic is done on `UsdMillis` before it gets here. */
export const WireAmount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ examples: [49_990] })

/** Merchant's own data: at most 50 keys of at most 64 characters, 16 KiB serialized; returned as stored. */
export const Metadata = Schema.Record(Schema.String, Schema.Json)
export type Metadata = typeof Metadata.Type

/** Limits of {@link Metadata}, checked where it is accepted (modules/docs/reference/conventions.md#metadata). */
export const metadataLimits = { keys: 50, keyLength: 64, bytes: 16_384 } as const

/** The invoice of the reference's examples. */
export const exampleInvoice = {
  object: "invoice",
  id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  merchant_id: MerchantId.make(123),
  status: "paid",
  invoice_type: "standard",
  currency: "usd",
  amount: 49_990,
  amount_decimal: "49.990",
  amount_paid: 49_990,
  amount_paid_decimal: "49.990",
  amount_remaining: 0,
  amount_remaining_decimal: "0.000",
  amount_unit: "usd_millis",
  customer_id: "cust_123",
  payer_wallet_address: "0x8c9d3f0b1a2e4c5d6f708192a3b4c5d6e7f8781d",
  payer_wallet_network: "base",
  commerce_order_id: null,
  environment: "devnet",
  expires_at: 1_766_363_200,
  created_at: 1_766_320_000,
  paid_at: 1_766_320_496,
  last_payment_at: 1_766_320_480,
  metadata: { order_id: "ORD-1" }
} as const

/** An invoice as the API shows it. */
export const Invoice = Schema.Struct({
  object: Schema.tag("invoice"),
  id: InvoiceId,
  merchant_id: MerchantId,
  status: InvoiceStatus,
  invoice_type: InvoiceType,
  currency: Schema.Literal("usd"),
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal,
  amount_remaining: WireAmount,
  amount_remaining_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  customer_id: Schema.NullOr(Schema.String),
  payer_wallet_address: Schema.NullOr(Schema.String),
  payer_wallet_network: Schema.NullOr(Network),
  commerce_order_id: Schema.NullOr(Schema.String),
  environment: Environment,
  expires_at: EpochSeconds,
  created_at: EpochSeconds,
  paid_at: Schema.NullOr(EpochSeconds),
  last_payment_at: Schema.NullOr(EpochSeconds),
  metadata: Metadata
}).annotate({
  identifier: "Invoice",
  description: "An amount of US dollars that a payor pays in tokens.",
  examples: [exampleInvoice]
})
export type Invoice = typeof Invoice.Type
