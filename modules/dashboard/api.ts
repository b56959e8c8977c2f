/** The dashboard's addresses: definitions only. They are pages, not calls, so they are not in the OpenAPI document. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { errors, TakesForms, WrappedErrors } from "../../runtime/Http.ts"

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const plain = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

/** A merchant's id and an environment, as addresses name them. */
const shop = { merchant: Schema.String, environment: Schema.String }

const refusals = errors(
  "wrapped",
  ...["NOT_FOUND", "PERMISSION_DENIED", "ORIGIN_NOT_ALLOWED", "TOKEN_INVALID", "VALIDATION_ERROR"] as const,
  ...["RATE_LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE"] as const
)

export class SignInPagesGroup extends HttpApiGroup.make("sign-in-pages").add(
  HttpApiEndpoint.get("entry", "/dashboard", { success: html, error: refusals }),
  HttpApiEndpoint.get("signIn", "/dashboard/signin", { success: html, error: refusals }),
  HttpApiEndpoint.get("link", "/dashboard/signin/link", { success: html, error: refusals }),
  HttpApiEndpoint.post("useLink", "/dashboard/signin/link", { success: html, error: refusals }),
  HttpApiEndpoint.get("invitation", "/dashboard/invitation", { success: html, error: refusals }),
  HttpApiEndpoint.post("acceptInvitation", "/dashboard/invitation", { success: html, error: refusals }),
  HttpApiEndpoint.post("useRecovery", "/dashboard/signin/recovery", { success: html, error: refusals }),
  HttpApiEndpoint.post("passkeyOptions", "/dashboard/signin/passkey-options", { success: plain, error: refusals }),
  HttpApiEndpoint.post("usePasskey", "/dashboard/signin/passkey", { success: plain, error: refusals }),
  HttpApiEndpoint.post("signOut", "/dashboard/signout", { success: html, error: refusals }),
  HttpApiEndpoint.get("asset", "/dashboard/assets/:name", {
    params: { name: Schema.String },
    success: plain,
    error: errors("wrapped", "NOT_FOUND")
  })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

/** Every page of a merchant: what there is below these addresses is the table in `pages.ts`. */
export class PagesGroup extends HttpApiGroup.make("dashboard-pages").add(
  HttpApiEndpoint.get("page0", "/dashboard/:merchant/:environment", { params: shop, success: html, error: refusals }),
  HttpApiEndpoint.get("page1", "/dashboard/:merchant/:environment/:a", {
    params: { ...shop, a: Schema.String },
    success: html,
    error: refusals
  }),
  HttpApiEndpoint.get("page2", "/dashboard/:merchant/:environment/:a/:b", {
    params: { ...shop, a: Schema.String, b: Schema.String },
    success: html,
    error: refusals
  }),
  HttpApiEndpoint.get("page3", "/dashboard/:merchant/:environment/:a/:b/:c", {
    params: { ...shop, a: Schema.String, b: Schema.String, c: Schema.String },
    success: html,
    error: refusals
  }),
  HttpApiEndpoint.post("act0", "/dashboard/:merchant/:environment", { params: shop, success: html, error: refusals }),
  HttpApiEndpoint.post("act1", "/dashboard/:merchant/:environment/:a", {
    params: { ...shop, a: Schema.String },
    success: html,
    error: refusals
  }),
  HttpApiEndpoint.post("act2", "/dashboard/:merchant/:environment/:a/:b", {
    params: { ...shop, a: Schema.String, b: Schema.String },
    success: html,
    error: refusals
  }),
  HttpApiEndpoint.post("act3", "/dashboard/:merchant/:environment/:a/:b/:c", {
    params: { ...shop, a: Schema.String, b: Schema.String, c: Schema.String },
    success: html,
    error: refusals
  })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

export class DashboardApi extends HttpApi.make("dashboard").add(SignInPagesGroup).add(PagesGroup) {}
