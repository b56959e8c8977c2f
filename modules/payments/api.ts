/** The payor's endpoints: definitions only (modules/docs/reference/payor-sessions.md#rules-of-all-payor-calls). */
import { Context, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import {
  AnyOrigin,
  ConditionalGet,
  errors,
  FlatErrors,
  RequiresAllSchemes,
  UnknownParameters
} from "../../runtime/Http.ts"
import { EpochSeconds, InvoiceId, TokenId } from "../../schemas/Ids.ts"
import { InvoiceStatus, WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { PayorPayment } from "../../schemas/Payment.ts"
import { exampleQuote, Quote, QuoteStatus, QuoteStatusCode } from "../../schemas/Quote.ts"
import { TokenType } from "../../schemas/Token.ts"
import { EmailAddress } from "../../schemas/Web.ts"

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
export const SessionPayment = Schema.Struct({
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

/** An example of the reference: an invoice of 49.99 dollars that nobody has paid yet. */
const exampleAmounts = {
  amount_paid: 0,
  amount_paid_decimal: "0.000",
  amount_remaining: 49_990,
  amount_remaining_decimal: "49.990",
  amount_unit: "usd_millis"
} as const

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
    support_email: nullable(Schema.String),
    domain: nullable(Schema.String).annotate({
      description: "The merchant's domain while it is verified; null: it is not, or the merchant has named none"
    }),
    domain_verified_at: nullable(EpochSeconds).annotate({ description: "When the domain last named the merchant" })
  }),
  payments: Schema.Array(SessionPayment).annotate({ description: "Newest first, in the order they were recorded" })
}).annotate({
  identifier: "SessionDetails",
  examples: [{
    invoice_id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
    invoice_status: "unpaid",
    amount: 49_990,
    amount_decimal: "49.990",
    ...exampleAmounts,
    currency: "usd",
    amount_usd: 49.99,
    amount_remaining_usd: 49.99,
    description: "Starter plan",
    invoice_title: "Starter",
    invoice_footer: null,
    expires_at: 1_766_363_200,
    remaining_time: 42_704_000,
    merchant_name: "Demo Store",
    merchant_email: "help@shop.example",
    network_environment: "devnet",
    payment_return_url: "https://shop.example/done",
    locked_network: null,
    locked_token_id: null,
    locked_payment_address: null,
    branding: {
      name: "Demo Store",
      logo_uri: null,
      accent: "#2a4fd8",
      support_email: "help@shop.example",
      domain: "shop.example",
      domain_verified_at: 1_766_320_498
    },
    payments: []
  }]
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
    "DEVNET",
    "AVAILABLE",
    "STALE",
    "NO_LIQUIDITY",
    "QUOTE_REQUIRED",
    "NETWORK_DEGRADED"
  ]),
  rate_updated_at: nullable(EpochSeconds),
  unavailable_reason: nullable(Schema.String),
  /** usd_millis. */
  min_amount: Schema.Int,
  network_fee_usd: nullable(Schema.Finite).annotate({
    description:
      "An estimate of what the payor's wallet pays the network for the transfer, in US dollars, rounded up to " +
      "one significant digit, without what rollups take for data, and without rent on Solana; null where it is not " +
      "known, or known only as it was more than 10 minutes ago"
  }),
  expected_seconds: Schema.Int.annotate({
    description:
      "About how many seconds pass from a payment's block until the service sees it at the depth at which it " +
      "counts"
  })
}).annotate({
  identifier: "AvailableToken",
  examples: [{
    id: TokenId.make(123),
    token_symbol: "USDC",
    token_name: "USD Coin",
    token_type: "erc20",
    network: "base",
    token_decimals: 6,
    token_address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    requires_memo: false,
    photo_uri: "/assets/tokens/usdc.svg",
    has_settlement_route: false,
    supports_stable_settlement: true,
    is_monitored: true,
    settlement_rate: 1,
    settlement_cost_usd: 0,
    is_same_token_settlement: true,
    tier: null,
    tier_fee: null,
    availability_status: "DEVNET",
    rate_updated_at: 1_766_320_400,
    unavailable_reason: null,
    min_amount: 10,
    network_fee_usd: 0.002,
    expected_seconds: 3
  }]
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
}).annotate({
  identifier: "PaymentAddress",
  examples: [{
    success: true,
    temp_address: "0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D",
    network: "base",
    supported_token_id: TokenId.make(123),
    memo: null,
    requires_memo: false,
    payment_uri: "ethereum:0x036CbD53842c5426634e7929541eC2318f3dCF7e@84532/transfer"
      + "?address=0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D&uint256=49990000",
    estimated_token_amount: "49.990000",
    exchange_rate: "1.000000",
    usd_amount: 49.99,
    quote: exampleQuote,
    quote_status: "available",
    status_code: "ok",
    message: null,
    quote_last_updated_at: 1_766_320_496,
    quote_valid_until: 1_766_320_796,
    quote_expires_in_seconds: 300,
    retryable: null,
    retry_after_seconds: null,
    ws_connection: {
      token: "eyJhbGciOi…",
      endpoint: "/ws/payment",
      format: "event_v1",
      ws_url: "wss://pay.example/ws/payment",
      expires_at: 1_766_324_096
    }
  }]
})

export const PaymentStatusReport = Schema.Struct({
  status: InvoiceStatus,
  paid_at: nullable(EpochSeconds),
  ...remainingAmounts,
  latest_payment: nullable(SessionPayment),
  next_poll_seconds: Schema.Int.annotate({ description: "Seconds to wait before asking again" })
}).annotate({
  identifier: "PaymentStatusReport",
  examples: [{ status: "unpaid", paid_at: null, ...exampleAmounts, latest_payment: null, next_poll_seconds: 3 }]
})

/** What a payor asks an address for. */
export const AddressRequest = Schema.Struct({
  network: Schema.String.annotate({ description: "One of the networks of `available-tokens`" }),
  token_id: Schema.optionalKey(
    Schema.Int.annotate({ description: "`id` of `available-tokens`; `tokenId` is read too" })
  ),
  tokenId: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "AddressRequest", examples: [{ network: "base", token_id: 123 }] })

export const CustomerEmail = Schema.Struct({ email: EmailAddress }).annotate({
  identifier: "CustomerEmail",
  examples: [{ email: "payor@example.com" }]
})

export const RefundAddress = Schema.Struct({
  network: Schema.String,
  address: Schema.String.annotate({ description: "A wallet of that network, with a right checksum" }),
  memo: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
    description: "What the receiver needs beside the address, on ton and solana: 1 to 120 visible ASCII characters"
  })
}).annotate({
  identifier: "RefundAddress",
  examples: [{ network: "base", address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" }]
})

const SuccessBody = Schema.Struct({ success: Schema.tag(true) }).annotate({
  identifier: "PayorDone",
  examples: [{ success: true }]
})

const sessionErrors = [
  "CREDENTIAL_NOT_ALLOWED",
  "SESSION_INVALID",
  "SESSION_EXPIRED",
  "RATE_LIMIT_EXCEEDED",
  "SERVICE_UNAVAILABLE"
] as const

const bodyErrors = ["VALIDATION_ERROR", "INVALID_JSON", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const

export class PaymentsGroup extends HttpApiGroup.make("payments").add(
  HttpApiEndpoint.get("sessionDetails", "/api/v1/payments/session-details", {
    success: SessionDetails,
    error: errors("flat", ...sessionErrors)
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "Read the invoice of a session",
    description:
      "What a payment page shows. `locked_*` are set while a part is paid and the rest must come the same way."
  })),
  HttpApiEndpoint.get("availableTokens", "/api/v1/payments/available-tokens", {
    query: {
      mode: Schema.optionalKey(Schema.Literals(["monitored", "all", "network"])),
      network: Schema.optionalKey(Network),
      available_only: Schema.optionalKey(Schema.Literals(["true", "false"]))
    },
    success: Schema.Array(AvailableToken),
    error: errors("flat", "NETWORK_REQUIRED", "VALIDATION_ERROR", ...sessionErrors)
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "List the tokens an invoice can be paid in",
    description:
      "`monitored` (default): tokens of networks that are watched; `all`: also of the others; `network`: of the " +
      "one that `network` names. `available_only=true` leaves out what cannot be paid now. Tokens that are inactive or " +
      "that the merchant blocks never appear; of a part-paid invoice whose route is locked, only the locked token does."
  })),
  HttpApiEndpoint.post("paymentAddress", "/api/v1/payments/payment-addresses", {
    payload: AddressRequest,
    success: PaymentAddress,
    error: errors(
      "flat",
      ...bodyErrors,
      "UNSUPPORTED_NETWORK",
      "TOKEN_NOT_ACCEPTED",
      "TOKEN_NETWORK_MISMATCH",
      ...sessionErrors,
      "INVOICE_NOT_PAYABLE",
      "ROUTE_LOCKED",
      "NETWORK_DEGRADED"
    )
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "Allocate a payment address",
    description:
      "The invoice's address for a token, what to send there, and a socket to follow. The same address comes " +
      "back for the life of the invoice; without a price the address is right all the same and `quote_status` says so."
  })),
  HttpApiEndpoint.get("paymentStatus", "/api/v1/payments/payment-status", {
    success: PaymentStatusReport,
    error: errors("flat", ...sessionErrors)
  }).annotate(UnknownParameters, "warned").annotate(ConditionalGet, true).annotateMerge(OpenApi.annotations({
    summary: "Poll the progress of a payment",
    description: "Carries an `ETag`: sent back as `If-None-Match`, it is answered with 304 while nothing has changed."
  })),
  HttpApiEndpoint.post("customerEmail", "/api/v1/payments/customer-email", {
    payload: CustomerEmail,
    success: SuccessBody,
    error: errors("flat", ...bodyErrors, ...sessionErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Leave an e-mail address",
    description:
      "Where the payor wants to hear of the payment: where the deployment sends mail, a receipt goes there once the " +
      "invoice is paid. The last one holds; only the merchant sees it."
  })),
  HttpApiEndpoint.post("refundAddress", "/api/v1/payments/refund-address", {
    payload: RefundAddress,
    success: SuccessBody,
    error: errors(
      "flat",
      "UNSUPPORTED_NETWORK",
      "WALLET_ADDRESS_INVALID",
      "NETWORK_DEGRADED",
      ...bodyErrors,
      ...sessionErrors
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Leave a refund address",
    description: "Where refunds on a network may go, before or after paying; one for each network, the last one holds."
  }))
)
  .middleware(PayorSession)
  .middleware(FlatErrors)
  .annotate(AnyOrigin, true)
  .annotate(RequiresAllSchemes, true)
  .annotateMerge(
    OpenApi.annotations({
      title: "Payments",
      description: "What a payment page asks, with the session of its invoice."
    })
  )
{}

export class PaymentsApi extends HttpApi.make("payments").add(PaymentsGroup) {}
