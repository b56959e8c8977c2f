/** The routes of the plugin: definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  authenticationErrors,
  errors,
  Idempotent,
  MerchantAuth,
  RightsOf,
  success,
  WrappedErrors
} from "tillwire/plugin"

export const LoyaltyAccount = Schema.Struct({
  object: Schema.tag("acme_loyalty_account"),
  customer_id: Schema.String,
  points: Schema.Int
}).annotate({ identifier: "AcmeLoyaltyAccount" })

const answer = success(LoyaltyAccount)
const params = { customerId: Schema.String.check(Schema.isMaxLength(255)) }
const serviceErrors = ["VALIDATION_ERROR", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE"] as const

export class LoyaltyGroup extends HttpApiGroup.make("acme-loyalty").add(
  HttpApiEndpoint.get("account", "/:customerId", {
    params,
    success: answer,
    error: errors("wrapped", ...authenticationErrors, ...serviceErrors)
  }).annotateMerge(OpenApi.annotations({ summary: "Read the points of a customer" })),
  HttpApiEndpoint.post("redeem", "/:customerId/redeem", {
    params,
    payload: Schema.Struct({ points: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 })) }),
    success: answer,
    error: errors(
      "wrapped",
      ...authenticationErrors,
      ...serviceErrors,
      "IDEMPOTENCY_KEY_REUSED",
      "IDEMPOTENCY_KEY_INVALID"
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({ summary: "Redeem points of a customer" }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .prefix("/api/v1/acme-loyalty")
  .annotateMerge(OpenApi.annotations({ title: "Loyalty points", description: "One point for each dollar paid." }))
{}

export class LoyaltyApi extends HttpApi.make("acme-loyalty").add(LoyaltyGroup) {}
