/** Webhook endpoints: definitions only (API reference, "Endpoint management"). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, Wrapped } from "../../runtime/Http.ts"
import { WebhookEndpoint } from "../../schemas/Webhook.ts"

/** Filters of one endpoint, at most. Ours: more than there are event types and prefixes. */
const maximumFilters = 50

/** Characters of a description, at most. Ours. */
const maximumDescription = 500

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A new endpoint. `environment` absent or null is the key's own. */
export const NewWebhookEndpoint = Schema.Struct({
  url: Schema.String,
  enabled_events: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(maximumFilters)),
  environment: absent(Schema.String),
  description: absent(Schema.String.check(Schema.isMaxLength(maximumDescription))),
  api_version: absent(Schema.String)
}).annotate({ identifier: "NewWebhookEndpoint" })

const { description, environment, api_version, enabled_events, id, object, status, url, ...state } =
  WebhookEndpoint.fields

/** The endpoint with its secret: shown this once. */
export const CreatedWebhookEndpoint = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    id, object, url, status, enabled_events, environment, api_version, description, secret: Schema.String, ...state
  })
}).annotate({ identifier: "CreatedWebhookEndpoint" })
export type CreatedWebhookEndpoint = typeof CreatedWebhookEndpoint.Type

export class WebhooksGroup extends HttpApiGroup.make("webhooks").add(
  HttpApiEndpoint.post("create", "/api/v1/webhooks", {
    payload: NewWebhookEndpoint,
    success: CreatedWebhookEndpoint,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "WEBHOOK_URL_INVALID",
      "INVALID_ENVIRONMENT",
      "IDEMPOTENCY_KEY_INVALID",
      "UNAUTHORIZED",
      "API_KEY_INVALID",
      "ENVIRONMENT_FORBIDDEN",
      "WEBHOOK_LIMIT_REACHED",
      "IDEMPOTENCY_REQUEST_IN_PROGRESS",
      "IDEMPOTENCY_KEY_REUSED",
      "SERVICE_UNAVAILABLE"
    )
  }).middleware(Idempotent)
)
  .middleware(MerchantAuth)
  .middleware(Wrapped)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks" }))
{}

export class WebhooksApi extends HttpApi.make("webhooks").add(WebhooksGroup) {}
