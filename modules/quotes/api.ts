/** Quotes for merchants: definitions only (modules/docs/reference/quotes.md#calls). Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds, PathId, QuoteId, TokenId } from "../../schemas/Ids.ts"
import { WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { exampleQuote, Quote } from "../../schemas/Quote.ts"
import { success } from "../../schemas/Success.ts"

/** Routes of one batch, at most (modules/docs/reference/quotes.md#calls). */
export const maximumRoutes = 50

const route = {
  network: Schema.String.annotate({ description: "The network the payor would pay on, e.g. `base`." }),
  token_id: Schema.Int.annotate({ description: "The token's id, as the token list gives it." })
}

const invoiceId = Schema.String.annotate({ description: "The invoice to price; one of yours." })

/** One route of an invoice to price. */
export const NewQuote = Schema.Struct({
  invoice_id: invoiceId,
  ...route,
  settlement_token_id: Schema.optionalKey(Schema.NullOr(TokenId)).annotate({
    description: "What you want to receive. Any token but the paid one makes the quote `settlement_unavailable`."
  })
}).annotate({
  identifier: "NewQuote",
  examples: [{ invoice_id: "550e8400-e29b-41d4-a716-446655440000", network: "base", token_id: 123 }]
})
export type NewQuote = typeof NewQuote.Type

/** Several routes of one invoice. */
export const NewQuotes = Schema.Struct({
  invoice_id: invoiceId,
  routes: Schema.Array(Schema.Struct(route)).check(Schema.isMinLength(1), Schema.isMaxLength(maximumRoutes))
}).annotate({
  identifier: "NewQuotes",
  examples: [{
    invoice_id: "550e8400-e29b-41d4-a716-446655440000",
    routes: [{ network: "base", token_id: 123 }, { network: "solana", token_id: 140 }]
  }]
})

/** A quote as this API gives it: with its id, which is null while there is no quote to read back. */
export const IdentifiedQuote = Schema.Struct({
  id: Schema.NullOr(QuoteId).annotate({
    description: "Reads this quote back, also after its end. Null while `quote_status` is `unavailable`."
  }),
  ...Quote.fields
}).annotate({
  identifier: "IdentifiedPaymentQuote",
  description: "What remains of an invoice in one token, and until when that holds.",
  examples: [{ id: QuoteId.make("quo_0192e4a0-7b1c-7c3d-8e4f-5a6b7c8d9e0f"), ...exampleQuote }]
})

/** What became of one route of a batch: its quote, or why it cannot be priced. */
export const RouteResult = Schema.Struct({
  network: Schema.String,
  token_id: Schema.Int,
  quote: Schema.NullOr(IdentifiedQuote),
  error: Schema.NullOr(Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String)
  }))
}).annotate({
  identifier: "QuoteRouteResult",
  description: "One of `quote` and `error` is null.",
  examples: [{
    network: "sui",
    token_id: 124,
    quote: null,
    error: { code: "UNSUPPORTED_NETWORK", message: "This network is not offered here", param: "network" }
  }]
})
export type RouteResult = typeof RouteResult.Type

/** What an amount would cost now: no promise, and never an event. */
export const QuoteEstimate = Schema.Struct({
  object: Schema.tag("quote_estimate"),
  network: Network,
  supported_token_id: TokenId,
  settlement_token_id: TokenId,
  currency: Schema.Literal("usd"),
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  estimated_token_amount: Schema.String.annotate({ description: "In whole tokens, rounded up at the last decimal." }),
  exchange_rate: Schema.String.annotate({ description: "US dollars per whole token." }),
  quote_last_updated_at: EpochSeconds
}).annotate({
  identifier: "QuoteEstimate",
  examples: [{
    object: "quote_estimate",
    network: "base",
    supported_token_id: TokenId.make(123),
    settlement_token_id: TokenId.make(123),
    currency: "usd",
    amount: 49_990,
    amount_decimal: "49.990",
    amount_unit: "usd_millis",
    estimated_token_amount: "49.990000",
    exchange_rate: "1.000000",
    quote_last_updated_at: 1_766_320_496
  }]
})
export type QuoteEstimate = typeof QuoteEstimate.Type

const callerErrors = ["UNAUTHORIZED", "API_KEY_INVALID", "SERVICE_UNAVAILABLE"] as const
const writeErrors = [
  "VALIDATION_ERROR",
  "IDEMPOTENCY_KEY_INVALID",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED",
  "INVOICE_NOT_FOUND",
  "INVOICE_NOT_PAYABLE",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
  ...callerErrors
] as const
const routeErrors = ["UNSUPPORTED_NETWORK", "TOKEN_NOT_ACCEPTED", "TOKEN_NETWORK_MISMATCH", "ROUTE_LOCKED"] as const

export class QuotesGroup extends HttpApiGroup.make("quotes").add(
  HttpApiEndpoint.post("create", "/api/v1/quotes", {
    payload: NewQuote,
    success: success(IdentifiedQuote),
    error: errors("wrapped", ...routeErrors, ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Price one route of an invoice",
    description:
      "What remains of the invoice in one token, at a rate that holds for 300 seconds. A quote of the same " +
      "route and amount with more than 30 seconds left is given again. Without a fresh price, or while the network " +
      "cannot be watched, the answer is still 200, with `quote_status` `unavailable` and when to ask again."
  })),
  HttpApiEndpoint.post("createBatch", "/api/v1/quotes/batch", {
    payload: NewQuotes,
    success: success(Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(RouteResult) })),
    error: errors("wrapped", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Price up to 50 routes of an invoice",
    description: "One result for each route, in the order asked: its quote, or the error that pricing it alone would " +
      "have given. A route that cannot be priced does not fail the others."
  })),
  HttpApiEndpoint.get("estimate", "/api/v1/quotes/estimate", {
    query: {
      amount: Schema.optionalKey(Schema.Int).annotate({ description: "Integer usd_millis; this or `amount_usd`." }),
      amount_usd: Schema.optionalKey(Schema.String).annotate({ description: "US dollars with at most 3 decimals." }),
      network: Schema.String,
      token_id: Schema.Int,
      environment: Schema.optionalKey(Environment)
    },
    success: success(QuoteEstimate),
    error: errors(
      "wrapped",
      "INVALID_AMOUNT_FORMAT",
      "INVALID_AMOUNT_RANGE",
      "UNSUPPORTED_NETWORK",
      "TOKEN_NETWORK_MISMATCH",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "TOKEN_NOT_FOUND",
      "QUOTE_UNAVAILABLE",
      ...callerErrors
    )
  }).annotate(ParameterCodes, {
    amount: "INVALID_AMOUNT_FORMAT",
    amount_usd: "INVALID_AMOUNT_FORMAT"
  }).annotateMerge(OpenApi.annotations({
    summary: "Estimate what an amount costs",
    description:
      "What an amount costs in a token at this moment, without an invoice. It promises nothing and is never " +
      "told as an event. Without a fresh price the answer is 503 `QUOTE_UNAVAILABLE` with `Retry-After`."
  })),
  HttpApiEndpoint.get("get", "/api/v1/quotes/:quote_id", {
    params: { quote_id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: success(IdentifiedQuote),
    error: errors("wrapped", "INVALID_ENVIRONMENT", "ENVIRONMENT_FORBIDDEN", "QUOTE_NOT_FOUND", ...callerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Read a quote back",
    description: "The quote with the seconds it has left, also after its end: then `quote_status` is `expired`."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(OpenApi.annotations({
    title: "Quotes",
    description: "What an invoice costs in a token, and until when that holds."
  }))
{}

export class QuotesApi extends HttpApi.make("quotes").add(QuotesGroup) {}
