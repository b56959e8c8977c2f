/** Webhook endpoints: where events are sent, which, and how the filters match. */
import { Schema } from "effect"
import { EndpointId, EpochSeconds } from "./Ids.ts"
import { Environment } from "./Network.ts"

export const EndpointStatus = Schema.Literals(["enabled", "disabled"])

/** An exact type, `prefix.*` with the prefix ending on a dot boundary, or `*`. */
export const EventFilter = Schema.String.check(
  Schema.isPattern(/^(\*|[a-z_]+(\.[a-z_]+)*(\.\*)?)$/, { message: "Expected an event type, `prefix.*` or `*`" })
)

export const WebhookEndpoint = Schema.Struct({
  id: EndpointId,
  object: Schema.tag("webhook_endpoint"),
  url: Schema.String,
  status: EndpointStatus,
  enabled_events: Schema.Array(EventFilter),
  environment: Schema.NullOr(Environment),
  api_version: Schema.String,
  description: Schema.NullOr(Schema.String),
  previous_secret_expires_at: Schema.NullOr(EpochSeconds),
  consecutive_failures: Schema.Int,
  disabled_reason: Schema.NullOr(Schema.String),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({ identifier: "WebhookEndpoint" })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** Endpoints a merchant may have (API reference, "Endpoint management"). */
export const maximumEndpoints = 16

/**
 * Every filter that selects `type`: `*`, the type itself, and each dotted prefix with `.*`. The commit matches
 * endpoints by overlap with this list, and the API and the sockets use it too.
 *
 * @example
 * filtersMatching("commerce.order.updated")
 * // => ["*", "commerce.order.updated", "commerce.*", "commerce.order.*"]
 */
export const filtersMatching = (type: string): ReadonlyArray<string> => {
  const parts = type.split(".")
  return ["*", type, ...parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join(".")}.*`)]
}
