/** The payment page, its fragments and its script: definitions only. Pages, not calls: errors are pages too. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { errors, TakesForms, Wrapped } from "../../runtime/Http.ts"

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const script = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/javascript" }))
const params = { id: Schema.String }

/** Behind the session of `payment_url`, in its address or its cookie (API reference, "POST /api/v1/invoices"). */
export class CheckoutGroup extends HttpApiGroup.make("checkout").add(
  HttpApiEndpoint.get("page", "/pay/:id", { params, success: html }),
  HttpApiEndpoint.get("state", "/pay/:id/state", { params, success: html }),
  HttpApiEndpoint.post("act", "/pay/:id", { params, success: html }),
  HttpApiEndpoint.get("asset", "/assets/:name", {
    params: { name: Schema.String },
    success: script,
    error: errors("wrapped", "NOT_FOUND")
  })
)
  .middleware(Wrapped)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

export class CheckoutApi extends HttpApi.make("checkout").add(CheckoutGroup) {}
