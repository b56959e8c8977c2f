/** Webhooks for operators (modules/docs/reference/operator-api.md#webhooks): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { listParameterCodes, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import { EndpointId, EventId, MerchantId, pathId } from "../../schemas/Ids.ts"
import { success } from "../../schemas/Success.ts"
import { WebhookReplay } from "./api.ts"
import { FailingEndpoint } from "./rpc.ts"
import { maximumFailing } from "./rules.ts"

const exampleEndpoint = EndpointId.make("we_7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34")

const failingExample = {
  object: "failing_endpoint",
  merchant_id: MerchantId.make(123),
  endpoint_id: exampleEndpoint,
  environment: "devnet",
  url_origin: "https://shop.example",
  status: "enabled",
  disabled_reason: null,
  breaker: "open",
  open_until: 1_766_320_796 as never,
  openings: 2,
  consecutive_failures: 14,
  failing_since: 1_766_320_496 as never,
  waiting: 31,
  oldest_waiting_seconds: 610,
  last_attempt: null
} as const

const replayExample = {
  object: "webhook_replay",
  merchant_id: MerchantId.make(123),
  queued: 31,
  has_more: false,
  endpoints: [{ endpoint_id: exampleEndpoint, queued: 31, has_more: false, next_event_id: null }]
} as const

const deliveryExample = {
  object: "webhook_delivery",
  delivery_id: "whd_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  event_id: EventId.make("evt_1766320496123-8841")
} as const

const ReplayOfEndpoint = Schema.Struct({
  endpoint_id: Schema.String,
  queued: Schema.Int,
  has_more: Schema.Boolean,
  next_event_id: Schema.NullOr(Schema.String).annotate({
    description: "Where to go on, as `from_event_id`; null where nothing is left"
  })
})

export class OperatorWebhooksGroup extends HttpApiGroup.make("operatorWebhooks").add(
  HttpApiEndpoint.get("failing", "/admin/v1/webhooks/failing", {
    query: {
      merchant_id: Schema.optionalKey(MerchantId),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumFailing }))),
      starting_after: Schema.optionalKey(Schema.String)
    },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(Schema.Struct({ object: Schema.tag("failing_endpoint"), ...FailingEndpoint.fields })),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "FailingEndpoints",
      examples: [{ success: true, data: { object: "list", data: [failingExample], has_more: false } }]
    }),
    error: operatorErrors("INVALID_LIMIT", "INVALID_CURSOR")
  }).annotateMerge(OpenApi.annotations({
    summary: "List endpoints that fail",
    description:
      "Endpoints whose last attempt failed or that have a pause, by merchant, then by id. A cursor is the merchant's id "
      + "and the endpoint's: `123:we_…`."
  })),
  HttpApiEndpoint.post("replay", "/admin/v1/webhooks/replay", {
    payload: Schema.Struct({
      merchant_id: MerchantId,
      endpoint_id: Schema.optionalKey(EndpointId).annotate({ description: "Absent: every enabled endpoint" }),
      ...WebhookReplay.fields
    }).annotate({
      identifier: "OperatorReplay",
      examples: [{ merchant_id: MerchantId.make(123), created_gte: 1_766_320_000, only_failed: true }]
    }),
    success: success(Schema.Struct({
      object: Schema.tag("webhook_replay"),
      merchant_id: MerchantId,
      queued: Schema.Int,
      has_more: Schema.Boolean,
      endpoints: Schema.Array(ReplayOfEndpoint)
    })).annotate({ identifier: "OneOperatorReplay", examples: [{ success: true, data: replayExample }] }),
    error: operatorErrors("WEBHOOK_NOT_FOUND", "WEBHOOK_DISABLED", "INVALID_EVENT_ID", "INVALID_EVENT_TYPE")
  }).annotateMerge(OpenApi.annotations({
    summary: "Send events of a merchant again",
    description:
      "Queues the events of a range once more, for one endpoint of a merchant or for all that are enabled: same bytes, "
      + "same ids, at most 10,000 for each endpoint. The merchant's limit of calls by hand does not count."
  })),
  HttpApiEndpoint.post("retry", "/admin/v1/webhooks/deliveries/:delivery_id/retry", {
    params: { delivery_id: pathId("Id of a delivery.") },
    payload: Schema.Struct({ merchant_id: MerchantId }).annotate({
      identifier: "OperatorDeliveryRetry",
      examples: [{ merchant_id: MerchantId.make(123) }]
    }),
    success: success(Schema.Struct({
      object: Schema.tag("webhook_delivery"),
      delivery_id: Schema.String,
      event_id: EventId
    })).annotate({ identifier: "OneRetriedDelivery", examples: [{ success: true, data: deliveryExample }] }),
    error: operatorErrors("DELIVERY_NOT_FOUND", "WEBHOOK_DISABLED")
  }).annotateMerge(OpenApi.annotations({
    summary: "Send the event of a delivery again",
    description: "A new delivery with the same bytes, whatever became of the old one."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Operator: webhooks",
    description: "Endpoints that fail, and events that are sent again."
  }))
{}

export class OperatorWebhooksApi extends HttpApi.make("operatorWebhooks").add(OperatorWebhooksGroup) {}
