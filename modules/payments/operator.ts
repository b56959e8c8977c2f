/** Stuck payments for operators (modules/docs/reference/operator-api.md#stuck-payments): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { listParameterCodes, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import { EpochSeconds, InvoiceId, MerchantId, PaymentId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { pageLimits } from "../../schemas/Page.ts"
import { PaymentStatus } from "../../schemas/Payment.ts"
import { success } from "../../schemas/Success.ts"

const example = {
  object: "stuck_payment",
  payment_id: PaymentId.make("550e8400-e29b-41d4-a716-446655440000"),
  invoice_id: InvoiceId.make("6ba7b810-9dad-41d1-80b4-00c04fd430c8"),
  merchant_id: MerchantId.make(123),
  environment: "devnet",
  status: "manual_retry",
  reason: "no price of the token was known when it was deep enough",
  network: "base",
  token_id: 7,
  units: "49990000",
  tx_hash: "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
  seen_at: 1_766_320_496 as never
} as const

export const StuckPayment = Schema.Struct({
  object: Schema.tag("stuck_payment"),
  payment_id: PaymentId,
  invoice_id: InvoiceId,
  merchant_id: MerchantId,
  environment: Environment,
  status: PaymentStatus,
  reason: Schema.String.annotate({ description: "Why it waits, in a sentence for people" }),
  network: Network,
  token_id: Schema.NullOr(Schema.Int),
  units: Schema.String.annotate({ description: "Base units of the token" }),
  tx_hash: Schema.NullOr(Schema.String),
  seen_at: EpochSeconds
}).annotate({ identifier: "StuckPayment", examples: [example] })

const retriedExample = {
  object: "payment",
  payment_id: example.payment_id,
  invoice_id: example.invoice_id,
  merchant_id: example.merchant_id,
  environment: "devnet",
  status: "confirmed"
} as const

const RetriedPayment = Schema.Struct({
  object: Schema.tag("payment"),
  payment_id: PaymentId,
  invoice_id: InvoiceId,
  merchant_id: MerchantId,
  environment: Environment,
  status: PaymentStatus
})

export class OperatorPaymentsGroup extends HttpApiGroup.make("operatorPayments").add(
  HttpApiEndpoint.get("stuck", "/admin/v1/payments/stuck", {
    query: {
      environment: Schema.optionalKey(Environment),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String)
    },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(StuckPayment),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "StuckPayments",
      examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }]
    }),
    error: operatorErrors(
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_ENVIRONMENT",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List payments that wait for an operator",
    description:
      "Payments that are `manual_retry`, the oldest first, of all merchants. A cursor is the id of a payment."
  })),
  HttpApiEndpoint.post("retry", "/admin/v1/payments/:payment_id/retry", {
    params: { payment_id: PaymentId },
    success: success(RetriedPayment).annotate({
      identifier: "OneRetriedPayment",
      examples: [{ success: true, data: retriedExample }]
    }),
    error: operatorErrors("INVOICE_NOT_FOUND", "INVALID_TRANSITION", "QUOTE_UNAVAILABLE")
  }).annotateMerge(OpenApi.annotations({
    summary: "Take a payment up again",
    description:
      "Prices a payment that is `manual_retry` now and counts it, or prices one that came too late, for its refund. "
      + "`QUOTE_UNAVAILABLE` while there is still no price."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { ...listParameterCodes, payment_id: "INVOICE_NOT_FOUND" })
  .annotateMerge(OpenApi.annotations({
    title: "Operator: payments",
    description: "Payments whose processing gave up."
  }))
{}

export class OperatorPaymentsApi extends HttpApi.make("operatorPayments").add(OperatorPaymentsGroup) {}
