/** The invoice as it crosses the wire and enters events (contract §2.2): exactly these fields, in this order. */
import { Schema } from "effect"
import { EpochSeconds, InvoiceId, MerchantId } from "./Ids.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"

/** Complete for v1 (API reference, "Invoice"). The transitions are in modules/invoices/machine.ts. */
export const InvoiceStatus = Schema.Literals(["unpaid", "underpaid", "paid", "expired", "canceled"])
export type InvoiceStatus = typeof InvoiceStatus.Type

/** `commerce` invoices belong to an order; every other is `standard`. */
export const InvoiceType = Schema.Literals(["standard", "commerce"])
export type InvoiceType = typeof InvoiceType.Type

/** usd_millis as the integer the wire carries; arithmetic is done on `UsdMillis` before it gets here. */
export const WireAmount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Merchant's own data: at most 50 keys of at most 64 characters, 16 KiB serialized; returned as stored. */
export const Metadata = Schema.Record(Schema.String, Schema.Json)
export type Metadata = typeof Metadata.Type

/** Limits of {@link Metadata}, checked where it is accepted (API reference, "Conventions"). */
export const metadataLimits = { keys: 50, keyLength: 64, bytes: 16_384 } as const

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
}).annotate({ identifier: "Invoice", description: "An amount of US dollars that a payor pays in tokens." })
export type Invoice = typeof Invoice.Type
