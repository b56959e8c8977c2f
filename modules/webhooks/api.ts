/** Webhook endpoints and their deliveries: definitions only (modules/docs/reference/webhooks.md#endpoints). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, ParameterCodes, PrivateReplies, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { DeliveryId, EndpointId, EpochSeconds, EventId, PathId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"
import { MomentFrom, MomentTo, TimeFrom } from "../../schemas/Time.ts"
import {
  DeliveryStatus,
  EndpointStatus,
  maximumListed,
  WebhookAttempt,
  WebhookDelivery,
  WebhookEndpoint
} from "../../schemas/Webhook.ts"
import { defaultOverlapSeconds, maximumExamined, maximumOverlapSeconds, maximumReplayed, pageLimits } from "./rules.ts"

/** Filters of one endpoint, at most: more than there are event types and prefixes. */
const maximumFilters = 50

/** Characters of a description, at most: it is a note. */
const maximumDescription = 500

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Url = Schema.String.annotate({ description: "`https`, on a public address, without credentials" })

const EnabledEvents = Schema.Array(Schema.String)
  .check(Schema.isMinLength(1), Schema.isMaxLength(maximumFilters))
  .annotate({
    description: "Event types, `invoice.*`, `invoice_payment.*`, `commerce.order.*`, `commerce.*`, `exception.*`, "
      + "`balance_transaction.*` or `*`. `*` does not include `exception.*` and `balance_transaction.*`",
    examples: [["invoice.*"]]
  })

const Description = Schema.String.check(Schema.isMaxLength(maximumDescription))

const Ordered = Schema.Boolean.annotate({
  description:
    "One delivery at a time, in the order of the events: a failing one holds the others up until it is given up"
})

/** A new endpoint. `environment` absent is the caller's own; null is a key's own, and both for a wallet. */
export const NewWebhookEndpoint = Schema.Struct({
  url: Url,
  enabled_events: EnabledEvents,
  environment: absent(Schema.String).annotate({
    description: "`devnet` or `mainnet`. Absent: the caller's own. null, by a wallet: both; by a key: its own"
  }),
  description: absent(Description),
  ordered: absent(Ordered),
  api_version: absent(Schema.String).annotate({ description: "The version of its deliveries, for good. Absent: yours" })
}).annotate({
  identifier: "NewWebhookEndpoint",
  examples: [{ url: "https://shop.example/hooks", enabled_events: ["invoice.*"], description: "Shop" }]
})

/** What may be changed of an endpoint; a field that is not sent stays. */
export const WebhookEndpointChange = Schema.Struct({
  url: Schema.optionalKey(Url),
  enabled_events: Schema.optionalKey(EnabledEvents),
  environment: absent(Schema.String).annotate({ description: "`devnet` or `mainnet`; null, by a wallet: both" }),
  description: absent(Description),
  status: Schema.optionalKey(EndpointStatus).annotate({
    description: "`disabled`: nothing is sent, and what waits is canceled. `enabled`: its failures so far are forgotten"
  }),
  ordered: Schema.optionalKey(Ordered),
  api_version: absent(Schema.String).annotate({ description: "Only its own: an endpoint keeps its version for good" })
}).annotate({
  identifier: "WebhookEndpointChange",
  examples: [{ status: "enabled", enabled_events: ["invoice.paid"] }]
})

export const SecretRotation = Schema.Struct({
  overlap_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumOverlapSeconds }))
  ).annotate({
    description: `How long deliveries are signed with the old secret too, at most ${maximumOverlapSeconds}; ` +
      `default ${defaultOverlapSeconds}`
  })
}).annotate({ identifier: "SecretRotation", examples: [{ overlap_seconds: defaultOverlapSeconds }] })

/** Which events are queued once more. */
export const WebhookReplay = Schema.Struct({
  from_event_id: absent(Schema.String).annotate({
    description: "This event and later ones. It need not exist: an id is a position",
    examples: ["evt_1766320496123-8841"]
  }),
  created_gte: absent(MomentFrom).annotate({
    description: "Events of this moment or later: epoch seconds, or ISO 8601"
  }),
  created_lte: absent(MomentTo).annotate({
    description: "Events of this moment or earlier: epoch seconds, or ISO 8601"
  }),
  types: absent(Schema.Array(Schema.String)).annotate({
    description: `At most ${maximumListed} event types, each exact, \`prefix.*\` or \`*\``,
    examples: [["invoice.*"]]
  }),
  only_failed: absent(Schema.Boolean).annotate({
    description:
      "Default true: events whose deliveries to this endpoint all failed or were canceled. false: every event that " +
      "it listens to, sent before or not"
  })
}).annotate({
  identifier: "WebhookReplay",
  examples: [{ created_gte: 1_766_320_000, types: ["invoice.*"], only_failed: true }]
})

const { description, environment, api_version, enabled_events, id, object, status, url, ...state } =
  WebhookEndpoint.fields

const exampleId = EndpointId.make("we_7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34")
const exampleSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

const exampleIdentity = {
  id: exampleId,
  object: "webhook_endpoint",
  url: "https://shop.example/hooks",
  status: "enabled"
} as const

const exampleState = {
  enabled_events: ["invoice.*"],
  environment: "devnet",
  api_version: "2026-01-15",
  description: "Shop"
} as const

const exampleRest = {
  ordered: false,
  previous_secret_expires_at: null,
  consecutive_failures: 0,
  disabled_reason: null,
  created_at: 1_766_320_496,
  updated_at: 1_766_320_496
} as const

const exampleEndpoint = { ...exampleIdentity, ...exampleState, ...exampleRest }

/** The endpoint with its secret: shown this once. */
export const CreatedWebhookEndpoint = success(Schema.Struct({
  id,
  object,
  url,
  status,
  enabled_events,
  environment,
  api_version,
  description,
  secret: Schema.String.annotate({ description: "What its deliveries are signed with, shown this once" }),
  ...state
})).annotate({
  identifier: "CreatedWebhookEndpoint",
  examples: [{ success: true, data: { ...exampleIdentity, ...exampleState, secret: exampleSecret, ...exampleRest } }]
})
export type CreatedWebhookEndpoint = typeof CreatedWebhookEndpoint.Type

const OneWebhookEndpoint = success(WebhookEndpoint).annotate({
  identifier: "OneWebhookEndpoint",
  examples: [{ success: true, data: exampleEndpoint }]
})

const listOf = <S extends Schema.Top>(item: S) =>
  success(Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(item), has_more: Schema.Boolean }))

const WebhookEndpointList = listOf(WebhookEndpoint).annotate({
  identifier: "WebhookEndpointList",
  examples: [{ success: true, data: { object: "list", data: [exampleEndpoint], has_more: false } }]
})

const RotatedSecret = success(Schema.Struct({
  secret: Schema.String.annotate({ description: "What deliveries are signed with from now on, shown this once" }),
  previous_secret_expires_at: Schema.NullOr(EpochSeconds).annotate({
    description: "Until when deliveries carry the old secret's signature too; null without an overlap"
  })
})).annotate({
  identifier: "RotatedSecret",
  examples: [{ success: true, data: { secret: exampleSecret, previous_secret_expires_at: 1_766_406_896 } }]
})

const exampleDelivery = {
  id: DeliveryId.make("whd_2b0c9e7a-6c3b-4e9d-8f51-7d4f2a106d34"),
  object: "webhook_delivery",
  endpoint_id: exampleId,
  event_id: EventId.make("evt_1766320496123-8841"),
  event_type: "invoice.paid",
  status: "retrying",
  attempt_count: 1,
  next_attempt_at: 1_766_320_556,
  response_status: 500,
  error: null,
  latency_ms: 42,
  created_at: 1_766_320_496,
  finished_at: null
} as const

const WebhookDeliveryList = listOf(WebhookDelivery).annotate({
  identifier: "WebhookDeliveryList",
  examples: [{ success: true, data: { object: "list", data: [exampleDelivery], has_more: true } }]
})

/** A delivery with what became of each of its attempts. */
const OneWebhookDelivery = success(Schema.Struct({ ...WebhookDelivery.fields, attempts: Schema.Array(WebhookAttempt) }))
  .annotate({
    identifier: "OneWebhookDelivery",
    examples: [{
      success: true,
      data: {
        ...exampleDelivery,
        attempts: [{
          number: 1,
          status: "failed",
          response_status: 500,
          error: null,
          latency_ms: 42,
          response_body: "Internal Server Error",
          ended_at: 1_766_320_496
        }]
      }
    }]
  })

const QueuedWebhookDelivery = success(WebhookDelivery).annotate({
  identifier: "QueuedWebhookDelivery",
  examples: [{
    success: true,
    data: {
      ...exampleDelivery,
      status: "pending",
      attempt_count: 0,
      next_attempt_at: 1_766_320_496,
      response_status: null,
      latency_ms: null
    }
  }]
})

const SentTest = success(Schema.Struct({ delivery_id: DeliveryId, event_id: EventId })).annotate({
  identifier: "SentTest",
  examples: [{ success: true, data: { delivery_id: exampleDelivery.id, event_id: exampleDelivery.event_id } }]
})

const QueuedReplay = success(Schema.Struct({
  queued: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumReplayed })),
  has_more: Schema.Boolean.annotate({ description: "Whether the range was not looked through to its end" }),
  next_event_id: Schema.NullOr(EventId).annotate({
    description: "Where to go on: the next call's `from_event_id`. null at the end of the range"
  })
})).annotate({
  identifier: "QueuedReplay",
  examples: [{ success: true, data: { queued: 12, has_more: false, next_event_id: null } }]
})

/** What makes an endpoint or changes one can be refused with. */
const writeErrors = [
  "WEBHOOK_URL_INVALID",
  "INVALID_VERSION",
  "INVALID_ENVIRONMENT",
  "ENVIRONMENT_FORBIDDEN",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED"
] as const

const manual = "10 a minute for each endpoint, together with the other calls that make deliveries by hand."

export class WebhooksGroup extends HttpApiGroup.make("webhooks").add(
  HttpApiEndpoint.post("create", "/", {
    payload: NewWebhookEndpoint,
    success: CreatedWebhookEndpoint,
    error: errors("wrapped", ...writeErrors, "WEBHOOK_LIMIT_REACHED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Register a webhook endpoint",
    description:
      "Events that match `enabled_events` are sent there from now on. `secret` is shown this once: deliveries " +
      "are signed with it, see the guide on webhooks. A merchant may have 16."
  })),
  HttpApiEndpoint.get("list", "/", {
    query: {
      environment: Schema.optionalKey(Environment).annotate({
        description: "Endpoints that hear of this environment. Absent: all that the caller manages."
      }),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String),
      ending_before: Schema.optionalKey(Schema.String)
    },
    success: WebhookEndpointList,
    error: errors("wrapped", "INVALID_LIMIT", "INVALID_CURSOR", "INVALID_ENVIRONMENT", "ENVIRONMENT_FORBIDDEN")
  }).annotateMerge(OpenApi.annotations({
    summary: "List webhook endpoints, newest first",
    description:
      "A key sees those of its environment, a commerce key those that commerce keys made. A cursor is the id of an endpoint "
      + "that is there."
  })),
  HttpApiEndpoint.get("retrieve", "/:id", {
    params: { id: PathId },
    success: OneWebhookEndpoint,
    error: errors("wrapped", "WEBHOOK_NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a webhook endpoint",
    description: "Its state: whether it is enabled, why not, and how many attempts failed in a row. Never its secret."
  })),
  HttpApiEndpoint.patch("change", "/:id", {
    params: { id: PathId },
    payload: WebhookEndpointChange,
    success: OneWebhookEndpoint,
    error: errors("wrapped", ...writeErrors, "WEBHOOK_NOT_FOUND")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change a webhook endpoint",
    description:
      "In force for every event from now on. Deliveries that wait are canceled when it is disabled; replay them " +
      "after enabling it."
  })),
  HttpApiEndpoint.delete("remove", "/:id", {
    params: { id: PathId },
    success: OneWebhookEndpoint,
    error: errors("wrapped", "WEBHOOK_NOT_FOUND")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Delete a webhook endpoint",
    description:
      "For good: its deliveries are canceled and shown no more, and its secret is forgotten. Answers the endpoint as it " +
      "was, `disabled`."
  })),
  HttpApiEndpoint.post("rotateSecret", "/:id/rotate-secret", {
    params: { id: PathId },
    payload: SecretRotation,
    success: RotatedSecret,
    error: errors("wrapped", "WEBHOOK_NOT_FOUND")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Rotate the secret of a webhook endpoint",
    description:
      "Deliveries are signed with the new secret at once, and with the old one beside it until the overlap ends. A " +
      "secret from before the old one ends now. `secret` is shown this once."
  })),
  HttpApiEndpoint.post("test", "/:id/test", {
    params: { id: PathId },
    success: SentTest,
    error: errors("wrapped", "WEBHOOK_NOT_FOUND", "WEBHOOK_DISABLED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Send a test event to a webhook endpoint",
    description: `Makes a \`test.ping\` event and delivers it to this endpoint, whatever its filters. ${manual}`
  })),
  HttpApiEndpoint.post("replay", "/:id/replay", {
    params: { id: PathId },
    payload: WebhookReplay,
    success: QueuedReplay,
    error: errors("wrapped", "INVALID_EVENT_ID", "INVALID_EVENT_TYPE", "WEBHOOK_NOT_FOUND", "WEBHOOK_DISABLED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Send many events once more",
    description:
      `Queues events of a range again, oldest first: same bytes, same event ids. At most ${maximumReplayed} at a time, ` +
      `of at most ${maximumExamined} looked at; while \`has_more\`, call again from \`next_event_id\`. An event that is on its way ` +
      `already is not queued again. ${manual}`
  })),
  HttpApiEndpoint.get("deliveries", "/:id/deliveries", {
    params: { id: PathId },
    query: {
      status: Schema.optionalKey(DeliveryStatus).annotate({ description: "Only deliveries in this state." }),
      event_id: Schema.optionalKey(Schema.String).annotate({ description: "Only deliveries of this event." }),
      type: Schema.optionalKey(Schema.String),
      created_gte: Schema.optionalKey(TimeFrom),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String),
      ending_before: Schema.optionalKey(Schema.String)
    },
    success: WebhookDeliveryList,
    error: errors(
      "wrapped",
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_EVENT_ID",
      "INVALID_EVENT_TYPE",
      "WEBHOOK_NOT_FOUND"
    )
  }).annotate(ParameterCodes, { type: "INVALID_EVENT_TYPE", event_id: "INVALID_EVENT_ID" })
    .annotateMerge(OpenApi.annotations({
      summary: "List deliveries to a webhook endpoint, newest first",
      description: "What was sent, what waits and what was given up. Filters combine; a cursor is the id of a delivery."
    })),
  HttpApiEndpoint.get("delivery", "/deliveries/:delivery_id", {
    params: { delivery_id: PathId },
    success: OneWebhookDelivery,
    error: errors("wrapped", "DELIVERY_NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a delivery with its attempts",
    description:
      "Each attempt of the last 30 days: when, how it ended, how long it took, and the first 4 KiB of the answer."
  })),
  HttpApiEndpoint.post("redeliver", "/deliveries/:delivery_id/redeliver", {
    params: { delivery_id: PathId },
    success: QueuedWebhookDelivery,
    error: errors("wrapped", "DELIVERY_NOT_FOUND", "WEBHOOK_DISABLED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Send a delivery once more",
    description: `A new delivery of the same event, whatever became of the first: same bytes, same event id. ${manual}`
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "webhooks:read", write: "webhooks:write" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .prefix("/api/v1/webhooks")
  .annotateMerge(OpenApi.annotations({
    title: "Webhooks",
    description: "Where events are sent, signed; what became of each delivery; and how to send it again."
  }))
{}

export class WebhooksApi extends HttpApi.make("webhooks").add(WebhooksGroup) {}
