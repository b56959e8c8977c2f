/** A merchant's settings: definitions only (modules/docs/reference/settings.md#rules). Flat family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, FlatErrors, Idempotent, MerchantAuth, ParameterCodes } from "../../runtime/Http.ts"
import { RightOf, RightsOf } from "../../runtime/Rights.ts"
import { MerchantSettings, MerchantSettingsChange } from "../../schemas/MerchantSettings.ts"
import { PathId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"

const answerErrors = [
  "INVALID_ENVIRONMENT",
  "NOT_FOUND",
  "CREDENTIAL_NOT_ALLOWED",
  "IDEMPOTENCY_KEY_INVALID",
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "SCOPE_MISMATCH",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
  "SERVICE_UNAVAILABLE"
] as const

const path = "/api/v1/merchant/settings"

export class SettingsGroup extends HttpApiGroup.make("settings").add(
  HttpApiEndpoint.get("get", path, {
    query: { environment: Schema.optionalKey(Environment) },
    success: MerchantSettings,
    error: errors(
      "flat",
      "INVALID_ENVIRONMENT",
      "UNAUTHORIZED",
      "API_KEY_INVALID",
      "SCOPE_MISMATCH",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Get the merchant's settings",
    description: "What holds for later invoices and the payment page in one environment, the caller's own unless " +
      "`environment` names the other one: the merchant's choices, and the defaults where it made none."
  })),
  HttpApiEndpoint.patch("change", path, {
    query: {
      environment: Schema.optionalKey(Environment.annotate({
        description: "Where a call with a JWT acts; default: the merchant's. A key acts in its own environment only."
      }))
    },
    payload: MerchantSettingsChange,
    success: MerchantSettings,
    error: errors(
      "flat",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "IDEMPOTENCY_KEY_INVALID",
      "UNAUTHORIZED",
      "API_KEY_INVALID",
      "SCOPE_MISMATCH",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED",
      "IDEMPOTENCY_REQUEST_IN_PROGRESS",
      "IDEMPOTENCY_KEY_REUSED",
      "SERVICE_UNAVAILABLE"
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change the merchant's settings",
    description:
      "Changes the fields that are sent, in the caller's own environment; `null` goes back to the default, " +
      "`branding` is changed field by field. Every invoice keeps the settings it was created under, so a change is " +
      "about later invoices only; it is in force everywhere within 2 seconds. On mainnet a higher limit of money that " +
      "goes out stands in `pending_change` first: until another person approves it, where there is one who may, and then " +
      "for 24 hours. A lower one holds at once. Answers with all settings."
  })),
  HttpApiEndpoint.post("approve", `${path}/changes/:id/approve`, {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: MerchantSettings,
    error: errors("flat", "APPROVER_MUST_DIFFER", "INVALID_TRANSITION", ...answerErrors)
  }).middleware(Idempotent).annotate(RightOf, "rules:approve").annotateMerge(OpenApi.annotations({
    summary: "Approve higher limits",
    description:
      "By a person other than the one who wants them, an owner or an admin. `id` is that of `pending_change`: approved " +
      "is what was read. It comes into force 24 hours later. Answers with all settings."
  })),
  HttpApiEndpoint.delete("cancel", `${path}/changes/:id`, {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: MerchantSettings,
    error: errors("flat", ...answerErrors)
  }).middleware(Idempotent).annotate(RightOf, "rules:cancel").annotateMerge(OpenApi.annotations({
    summary: "Cancel higher limits",
    description:
      "By an owner or an admin, whoever wanted them, at any time before they are in force; what holds stays. It takes no " +
      "wait after a sign-in, so that who has just recovered can, too. Answers with all settings."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "settings:write" })
  .middleware(FlatErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(OpenApi.annotations({
    title: "Merchant settings",
    description: "What a merchant decides about its later invoices and its payment page, in each environment."
  }))
{}

export class SettingsApi extends HttpApi.make("settings").add(SettingsGroup) {}
