/** Webhook endpoints: where events are sent, which, and how the filters match. */
import { Schema } from "effect"
import { EndpointId, EpochSeconds } from "./Ids.ts"
import { Environment } from "./Network.ts"

export const EndpointStatus = Schema.Literals(["enabled", "disabled"])

/** An exact type, `prefix.*` with the prefix ending on a dot boundary, or `*`. */
export const EventFilter = Schema.String.check(
  Schema.isPattern(/^(\*|[a-z_]+(\.[a-z_]+)*(\.\*)?)$/, { message: "Expected an event type, `prefix.*` or `*`" })
)

/** Whether a text has the form of a filter. What it names need not exist. */
export const isEventFilter = Schema.is(EventFilter)

/** Filters in one list of a query, at most, and its characters: 20 of the longest names fit several times over. */
const maximumListed = 20
const maximumListLength = 1_024

/**
 * A comma list of filters, as `type` of the events API and `types` of the streams have it (API reference, "Events");
 * null where it is malformed, which is answered with `INVALID_EVENT_TYPE`. Linear in its length.
 */
export const readEventFilters = (list: string): ReadonlyArray<string> | null => {
  if (list.length > maximumListLength) return null
  const filters = list.split(",")
  return filters.length <= maximumListed && filters.every(isEventFilter) ? filters : null
}

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

/** Whether any of `filters` selects events of `type`. Malformed and unknown filters select nothing. */
export const selects = (filters: ReadonlyArray<string>, type: string): boolean =>
  filtersMatching(type).some((filter) => filters.includes(filter))
