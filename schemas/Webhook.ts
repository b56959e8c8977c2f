/** Webhook endpoints and deliveries: where events are sent, which, how the filters match, and what came of it. */
import { Schema } from "effect"
import { type EventType, isOptIn, optInTypes } from "./Event.ts"
import { DeliveryId, EndpointId, EpochSeconds, EventId } from "./Ids.ts"
import { Environment } from "./Network.ts"

export const EndpointStatus = Schema.Literals(["enabled", "disabled"])

/** An exact type, `prefix.*` with the prefix ending on a dot boundary, or `*`. */
export const EventFilter = Schema.String.check(
  Schema.isPattern(/^(\*|[a-z_]+(\.[a-z_]+)*(\.\*)?)$/, { message: "Expected an event type, `prefix.*` or `*`" })
)

/** Whether a text has the form of a filter. What it names need not exist. */
export const isEventFilter = Schema.is(EventFilter)

/**
 * Filters in one list of a call, at most, and characters of it in a query: 20 of the longest names fit several times
 * over.
 */
export const maximumListed = 20
const maximumListLength = 1_024

/**
 * A comma list of filters, as `type` of the events API and `types` of the streams have it
 * (modules/docs/reference/events.md#list); null where it is malformed, which is answered with `INVALID_EVENT_TYPE`.
 * Linear in its length.
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
  ordered: Schema.Boolean.annotate({
    description:
      "One delivery at a time, in the order of the events; the next waits until it succeeded or was given up",
    examples: [false]
  }),
  previous_secret_expires_at: Schema.NullOr(EpochSeconds).annotate({
    description: "Until when deliveries are signed with the secret before the last rotation too"
  }),
  consecutive_failures: Schema.Int.annotate({ description: "Attempts that failed since the last that succeeded" }),
  disabled_reason: Schema.NullOr(Schema.String).annotate({
    description:
      "`merchant`: by you. `gone`: it answered 410. `failing`: it failed for five days. New ones may be added"
  }),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({ identifier: "WebhookEndpoint" })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** What became of a delivery so far (modules/docs/reference/webhooks.md#delivery). */
export const DeliveryStatus = Schema.Literals(["pending", "delivering", "succeeded", "retrying", "failed", "canceled"])
export type DeliveryStatus = typeof DeliveryStatus.Type

/** One request that was sent for a delivery, and what was answered. */
export const WebhookAttempt = Schema.Struct({
  number: Schema.Int.annotate({ description: "From 1", examples: [1] }),
  status: Schema.Literals(["succeeded", "failed", "timed_out"]),
  response_status: Schema.NullOr(Schema.Int).annotate({
    description: "HTTP status; null where none arrived",
    examples: [500]
  }),
  error: Schema.NullOr(Schema.String).annotate({ description: "What went wrong where no HTTP status says it" }),
  latency_ms: Schema.Int.annotate({
    description: "Milliseconds until the answer, or until it was given up",
    examples: [42]
  }),
  response_body: Schema.NullOr(Schema.String).annotate({
    description: "The first 4 KiB of the answer, as text. It is the receiver's: do not show it as HTML",
    examples: ["Internal Server Error"]
  }),
  ended_at: EpochSeconds
}).annotate({ identifier: "WebhookAttempt" })

/** An event on its way to an endpoint. Repeated by hand it is another delivery of the same event. */
export const WebhookDelivery = Schema.Struct({
  id: DeliveryId,
  object: Schema.tag("webhook_delivery"),
  endpoint_id: EndpointId,
  event_id: EventId,
  event_type: Schema.String.annotate({ examples: ["invoice.paid"] }),
  status: DeliveryStatus,
  attempt_count: Schema.Int.annotate({ description: "Requests that were sent", examples: [1] }),
  next_attempt_at: Schema.NullOr(EpochSeconds).annotate({ description: "Not before then; null while nothing waits" }),
  response_status: Schema.NullOr(Schema.Int).annotate({ description: "Of the last attempt", examples: [500] }),
  error: Schema.NullOr(Schema.String).annotate({ description: "Of the last attempt" }),
  latency_ms: Schema.NullOr(Schema.Int).annotate({ description: "Of the last attempt", examples: [42] }),
  created_at: EpochSeconds,
  finished_at: Schema.NullOr(EpochSeconds)
}).annotate({ identifier: "WebhookDelivery" })

/** Endpoints a merchant may have (modules/docs/reference/webhooks.md#endpoints). */
export const maximumEndpoints = 16

/** The filter that an absent one means. */
export const anyType = "*"

/**
 * Every filter that selects `type`: `*` unless the type is opt-in, the type itself, and each dotted prefix with `.*`.
 * The commit matches endpoints by overlap with this list, and the API and the sockets use it too.
 *
 * @example
 * filtersMatching("commerce.order.updated")
 * // => ["*", "commerce.order.updated", "commerce.*", "commerce.order.*"]
 */
export const filtersMatching = (type: string): ReadonlyArray<string> => {
  const parts = type.split(".")
  const prefixes = parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join(".")}.*`)
  return [...(isOptIn(type) ? [] : [anyType]), type, ...prefixes]
}

/** Whether any of `filters` selects events of `type`. Malformed and unknown filters select nothing. */
export const selects = (filters: ReadonlyArray<string>, type: string): boolean =>
  filtersMatching(type).some((filter) => filters.includes(filter))

/** Opt-in types that `filters` do not name: whoever asks so is not even told how many there are of them. */
export const hiddenTypes = (filters: ReadonlyArray<string>): ReadonlyArray<EventType> =>
  optInTypes.filter((type) => !selects(filters, type))
