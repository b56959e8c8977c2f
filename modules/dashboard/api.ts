/** The dashboard's addresses: definitions only. They are pages, not calls, so they are not in the OpenAPI document. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { errors, TakesForms, WrappedErrors } from "../../runtime/Http.ts"

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const plain = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const refusals = errors(
  "wrapped",
  ...["WALLET_ADDRESS_INVALID", "UNSUPPORTED_NETWORK"] as const,
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
  HttpApiEndpoint.post("usePasskey", "/dashboard/signin/passkey", { success: html, error: refusals }),
  HttpApiEndpoint.get("proof", "/dashboard/signin/again", { success: html, error: refusals }),
  HttpApiEndpoint.post("prove", "/dashboard/signin/again", { success: html, error: refusals }),
  HttpApiEndpoint.post("walletNonce", "/dashboard/signin/wallet-nonce", { success: plain, error: refusals }),
  HttpApiEndpoint.post("useWallet", "/dashboard/signin/wallet", { success: html, error: refusals }),
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

const shop = "/dashboard/:merchant/:environment"
const shopParts = { merchant: Schema.String, environment: Schema.String }
const first = { ...shopParts, a: Schema.String }
const second = { ...first, b: Schema.String }
const third = { ...second, c: Schema.String }

const answers = { success: html, error: refusals }

/** Every page of a merchant: what there is below these addresses is the table in `pages.ts`. */
export class PagesGroup extends HttpApiGroup.make("dashboard-pages").add(
  HttpApiEndpoint.get("page0", shop, { params: shopParts, ...answers }),
  HttpApiEndpoint.get("page1", `${shop}/:a`, { params: first, ...answers }),
  HttpApiEndpoint.get("page2", `${shop}/:a/:b`, { params: second, ...answers }),
  HttpApiEndpoint.get("page3", `${shop}/:a/:b/:c`, { params: third, ...answers }),
  HttpApiEndpoint.post("act0", shop, { params: shopParts, ...answers }),
  HttpApiEndpoint.post("act1", `${shop}/:a`, { params: first, ...answers }),
  HttpApiEndpoint.post("act2", `${shop}/:a/:b`, { params: second, ...answers }),
  HttpApiEndpoint.post("act3", `${shop}/:a/:b/:c`, { params: third, ...answers })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

export class DashboardApi extends HttpApi.make("dashboard").add(SignInPagesGroup).add(PagesGroup) {}
