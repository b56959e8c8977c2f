/** The payment page, the claim page, their fragments and scripts: definitions only. Refusals are pages too. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { errors, TakesForms, WrappedErrors } from "../../runtime/Http.ts"

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const script = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/javascript" }))
const params = { id: Schema.String }

/** Drawn as pages (`pages/ErrorPage.ts`, `pages/ClaimPage.ts`). */
const refusals = [
  "CREDENTIAL_NOT_ALLOWED",
  "SESSION_INVALID",
  "SESSION_EXPIRED",
  "RATE_LIMIT_EXCEEDED",
  "SERVICE_UNAVAILABLE"
] as const

/**
 * Behind the session of `payment_url`, in its address or its cookie
 * (modules/docs/reference/payor-sessions.md#the-payment-url).
 */
export class CheckoutGroup extends HttpApiGroup.make("checkout").add(
  HttpApiEndpoint.get("page", "/pay/:id", { params, success: html, error: errors("wrapped", ...refusals) }),
  HttpApiEndpoint.get("state", "/pay/:id/state", { params, success: html, error: errors("wrapped", ...refusals) }),
  /** Behind a token of its own (modules/docs/reference/payment-page.md#receipts). */
  HttpApiEndpoint.get("receipt", "/pay/:id/receipt", {
    params,
    success: html,
    error: errors(
      "wrapped",
      ...["CREDENTIAL_NOT_ALLOWED", "NOT_FOUND", "RATE_LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE"] as const
    )
  }),
  HttpApiEndpoint.post("act", "/pay/:id", {
    params,
    success: html,
    error: errors(
      "wrapped",
      ...refusals,
      ...["ORIGIN_NOT_ALLOWED", "VALIDATION_ERROR", "INVALID_JSON", "PAYLOAD_TOO_LARGE"] as const,
      ...["UNSUPPORTED_MEDIA_TYPE", "DEVNET_ONLY", "INVOICE_NOT_PAYABLE", "TOKEN_NOT_ACCEPTED"] as const
    )
  }),
  HttpApiEndpoint.get("asset", "/assets/:name", {
    params: { name: Schema.String },
    success: script,
    error: errors("wrapped", "NOT_FOUND")
  })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

const claimRefusals = [
  "CREDENTIAL_NOT_ALLOWED",
  "NOT_FOUND",
  "RATE_LIMIT_EXCEEDED",
  "SERVICE_UNAVAILABLE"
] as const

const claimFormRefusals = [
  ...claimRefusals,
  ...["REFUND_NOT_FOUND", "ORIGIN_NOT_ALLOWED", "VALIDATION_ERROR", "INVALID_JSON"] as const,
  ...["PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const
] as const

/** Behind the token of a claim link, which every form carries (modules/docs/reference/claim-page.md#the-token). */
export class ClaimGroup extends HttpApiGroup.make("claims").add(
  HttpApiEndpoint.get("page", "/claim/:id", { params, success: html, error: errors("wrapped", ...claimRefusals) }),
  HttpApiEndpoint.post("act", "/claim/:id", { params, success: html, error: errors("wrapped", ...claimFormRefusals) }),
  HttpApiEndpoint.post("state", "/claim/:id/state", {
    params,
    success: html,
    error: errors("wrapped", ...claimFormRefusals)
  })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

export class CheckoutApi extends HttpApi.make("checkout").add(CheckoutGroup).add(ClaimGroup) {}
