/** The payor's endpoints: definitions only (contract §4.6; API reference, "Payor session endpoints"). */
import { Context, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { AnyOrigin, errors, Flat, SchemesTogether } from "../../runtime/Http.ts"
import { EpochSeconds, InvoiceId, TokenId } from "../../schemas/Ids.ts"
import { InvoiceStatus, WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { PayorPayment } from "../../schemas/Payment.ts"
import { Quote, QuoteStatus, QuoteStatusCode } from "../../schemas/Quote.ts"
import { TokenType } from "../../schemas/Token.ts"

/** The invoice a payor's session opens. */
export class CurrentSession extends Context.Service<CurrentSession, {
  readonly invoiceId: InvoiceId
}>()("tillwire/modules/payments/CurrentSession") {}

/**
 * Opens the payor's session. Merchant credentials are refused here whatever else is sent (`CREDENTIAL_NOT_ALLOWED`); a
 * missing or wrong pair is `SESSION_INVALID`.
 */
export class PayorSession extends HttpApiMiddleware.Service<PayorSession, { provides: CurrentSession }>()(
  "tillwire/modules/payments/PayorSession",
  {
    security: {
      sessionToken: HttpApiSecurity.apiKey({ key: "x-session-token", in: "header" }),
      signature: HttpApiSecurity.apiKey({ key: "x-signature", in: "header" })
    }
  }
) {}

const nullable = Schema.NullOr

/** A payment as a payor's page shows it. */
export const ShownPayment = Schema.Struct({
  ...PayorPayment.fields,
  confirmations: Schema.Int,
  required_confirmations: Schema.Int,
  explorer_url: nullable(Schema.String)
})

const remainingAmounts = {
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal,
  amount_remaining: WireAmount,
  amount_remaining_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis")
}

export const SessionDetails = Schema.Struct({
  invoice_id: InvoiceId,
  invoice_status: InvoiceStatus,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  ...remainingAmounts,
  currency: Schema.Literal("usd"),
  amount_usd: Schema.Finite,
  amount_remaining_usd: Schema.Finite,
  description: nullable(Schema.String),
  invoice_title: nullable(Schema.String),
  invoice_footer: nullable(Schema.String),
  expires_at: EpochSeconds,
  /** Milliseconds, never negative. */
  remaining_time: Schema.Int,
  merchant_name: Schema.String,
  merchant_email: nullable(Schema.String),
  network_environment: Environment,
  payment_return_url: nullable(Schema.String),
  locked_network: nullable(Network),
  locked_token_id: nullable(TokenId),
  locked_payment_address: nullable(Schema.String),
  branding: Schema.Struct({
    name: Schema.String,
    logo_uri: nullable(Schema.String),
    accent: Schema.String,
    support_email: nullable(Schema.String)
  }),
  payments: Schema.Array(ShownPayment)
})

export const AvailableToken = Schema.Struct({
  id: TokenId,
  token_symbol: Schema.String,
  token_name: Schema.String,
  token_type: TokenType,
  network: Network,
  token_decimals: Schema.Int,
  token_address: nullable(Schema.String),
  requires_memo: Schema.Boolean,
  photo_uri: Schema.String,
  has_settlement_route: Schema.Boolean,
  supports_stable_settlement: Schema.Boolean,
  is_monitored: Schema.Boolean,
  settlement_rate: nullable(Schema.Finite),
  settlement_cost_usd: Schema.Finite,
  is_same_token_settlement: Schema.Boolean,
  tier: Schema.Null,
  tier_fee: Schema.Null,
  availability_status: Schema.Literals([
    "DEVNET", "AVAILABLE", "STALE", "NO_LIQUIDITY", "QUOTE_REQUIRED", "NETWORK_DEGRADED"
  ]),
  rate_updated_at: nullable(EpochSeconds),
  unavailable_reason: nullable(Schema.String),
  /** usd_millis. */
  min_amount: Schema.Int
})

export const PaymentAddress = Schema.Struct({
  success: Schema.tag(true),
  temp_address: Schema.String,
  network: Network,
  supported_token_id: TokenId,
  memo: nullable(Schema.String),
  requires_memo: Schema.Boolean,
  payment_uri: nullable(Schema.String),
  estimated_token_amount: nullable(Schema.String),
  exchange_rate: nullable(Schema.String),
  usd_amount: Schema.Finite,
  quote: Quote,
  quote_status: nullable(QuoteStatus),
  status_code: nullable(QuoteStatusCode),
  message: nullable(Schema.String),
  quote_last_updated_at: nullable(EpochSeconds),
  quote_valid_until: nullable(EpochSeconds),
  quote_expires_in_seconds: nullable(Schema.Int),
  retryable: nullable(Schema.Boolean),
  retry_after_seconds: nullable(Schema.Int),
  ws_connection: Schema.Struct({
    token: Schema.String,
    endpoint: Schema.Literal("/ws/payment"),
    format: Schema.Literal("event_v1"),
    ws_url: Schema.String,
    expires_at: EpochSeconds
  })
})

export const PaymentStatusReport = Schema.Struct({
  status: InvoiceStatus,
  paid_at: nullable(EpochSeconds),
  ...remainingAmounts,
  latest_payment: nullable(ShownPayment),
  next_poll_seconds: Schema.Int
})

const sessionErrors = ["CREDENTIAL_NOT_ALLOWED", "SESSION_INVALID", "SESSION_EXPIRED"] as const

export class PaymentsGroup extends HttpApiGroup.make("payments").add(
  HttpApiEndpoint.get("sessionDetails", "/api/v1/payments/session-details", {
    success: SessionDetails,
    error: errors("flat", ...sessionErrors)
  }),
  HttpApiEndpoint.get("availableTokens", "/api/v1/payments/available-tokens", {
    query: {
      mode: Schema.optionalKey(Schema.Literals(["monitored", "all", "network"])),
      network: Schema.optionalKey(Network),
      available_only: Schema.optionalKey(Schema.Literals(["true", "false"]))
    },
    success: Schema.Array(AvailableToken),
    error: errors("flat", "NETWORK_REQUIRED", "VALIDATION_ERROR", ...sessionErrors)
  }),
  HttpApiEndpoint.post("paymentAddress", "/api/v1/payments/payment-addresses", {
    payload: Schema.Struct({
      network: Schema.String,
      token_id: Schema.optionalKey(Schema.Int),
      tokenId: Schema.optionalKey(Schema.Int)
    }),
    success: PaymentAddress,
    error: errors(
      "flat",
      "TOKEN_NOT_ACCEPTED",
      "TOKEN_NETWORK_MISMATCH",
      "UNSUPPORTED_NETWORK",
      "VALIDATION_ERROR",
      ...sessionErrors,
      "INVOICE_NOT_PAYABLE",
      "ROUTE_LOCKED",
      "NETWORK_DEGRADED"
    )
  }),
  HttpApiEndpoint.get("paymentStatus", "/api/v1/payments/payment-status", {
    success: PaymentStatusReport,
    error: errors("flat", ...sessionErrors)
  })
)
  .middleware(PayorSession)
  .middleware(Flat)
  .annotate(AnyOrigin, true)
  .annotate(SchemesTogether, true)
  .annotateMerge(OpenApi.annotations({ title: "Payments" }))
{}

export class PaymentsApi extends HttpApi.make("payments").add(PaymentsGroup) {}
