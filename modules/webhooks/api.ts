/** Webhook endpoints: definitions only (API reference, "Endpoint management"). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, Wrapped } from "../../runtime/Http.ts"
import { EndpointId } from "../../schemas/Ids.ts"
import { WebhookEndpoint } from "../../schemas/Webhook.ts"

/** Filters of one endpoint, at most. Ours: more than there are event types and prefixes. */
const maximumFilters = 50

/** Characters of a description, at most. Ours. */
const maximumDescription = 500

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A new endpoint. `environment` absent is the caller's own; null is a key's own, and both for a wallet. */
export const NewWebhookEndpoint = Schema.Struct({
  url: Schema.String,
  enabled_events: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(maximumFilters)),
  environment: absent(Schema.String).annotate({
    description: "Absent: the caller's own. null, by a wallet: both; by a key: its own"
  }),
  description: absent(Schema.String.check(Schema.isMaxLength(maximumDescription))),
  api_version: absent(Schema.String)
}).annotate({
  identifier: "NewWebhookEndpoint",
  examples: [{ url: "https://shop.example/hooks", enabled_events: ["invoice.*"], description: "Shop" }]
})

const { description, environment, api_version, enabled_events, id, object, status, url, ...state } =
  WebhookEndpoint.fields

/** The endpoint with its secret: shown this once. */
export const CreatedWebhookEndpoint = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    id, object, url, status, enabled_events, environment, api_version, description, secret: Schema.String, ...state
  })
}).annotate({
  identifier: "CreatedWebhookEndpoint",
  examples: [{
    success: true,
    data: {
      id: EndpointId.make("we_7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34"),
      object: "webhook_endpoint",
      url: "https://shop.example/hooks",
      status: "enabled",
      enabled_events: ["invoice.*"],
      environment: "devnet",
      api_version: "2026-01-15",
      description: "Shop",
      secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
      previous_secret_expires_at: null,
      consecutive_failures: 0,
      disabled_reason: null,
      created_at: 1_766_320_496,
      updated_at: 1_766_320_496
    }
  }]
})
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
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Register a webhook endpoint",
    description: "Events that match `enabled_events` are sent there from now on. `secret` is shown this once: deliveries " +
      "are signed with it, see the guide on webhooks."
  }))
)
  .middleware(MerchantAuth)
  .middleware(Wrapped)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Where events are sent, signed." }))
{}

export class WebhooksApi extends HttpApi.make("webhooks").add(WebhooksGroup) {}
