/** Wire to actor and back. */
import { Effect } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { answerIdempotently, CurrentPrincipal, Idempotency, jsonText, RequestInfo } from "../../runtime/Http.ts"
import { requireFreshProof } from "../../runtime/Rights.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import { type EventId, eventIdOf, type MerchantId } from "../../schemas/Ids.ts"
import { Deliveries, Endpoints } from "./actor.ts"
import { originOf } from "./actor/EndpointActs.ts"
import type { EndpointWithSecret } from "./actor/EndpointChanges.ts"
import { type WebhookEndpointChange, WebhooksApi } from "./api.ts"
import { defaultFailing, defaultOverlapSeconds, type EndpointChange, overlapEnd, pageOfEndpoints } from "./rules.ts"
import {
  type Attempt,
  type Delivery,
  type EndpointFailure,
  makeRepo,
  type ManagedEndpoint,
  type Replay
} from "./repo.ts"
import { type FailingEndpoint, WebhooksRpc } from "./rpc.ts"
import * as Operations from "../../runtime/Operations.ts"

/** An endpoint on the wire, with its secret where it was just made. */
const endpointObject = (endpoint: ManagedEndpoint, now: number, secret?: string) => ({
  id: endpoint.id,
  object: "webhook_endpoint",
  url: endpoint.url,
  status: endpoint.status,
  enabled_events: endpoint.filters,
  environment: endpoint.environment,
  api_version: endpoint.apiVersion,
  description: endpoint.description,
  ...(secret === undefined ? {} : { secret }),
  ordered: endpoint.ordered,
  previous_secret_expires_at: overlapEnd(endpoint, now),
  consecutive_failures: endpoint.consecutiveFailures,
  disabled_reason: endpoint.disabledReason,
  created_at: endpoint.createdAt,
  updated_at: endpoint.updatedAt
})

const deliveryObject = (delivery: Delivery) => ({
  id: `whd_${delivery.id}`,
  object: "webhook_delivery",
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  event_type: delivery.type,
  status: delivery.status,
  attempt_count: delivery.attempts,
  next_attempt_at: delivery.nextAttemptAt,
  response_status: delivery.answerStatus,
  error: delivery.error,
  latency_ms: delivery.latencyMillis,
  created_at: delivery.createdAt,
  finished_at: delivery.finishedAt
})

const attemptObject = (attempt: Attempt) => ({
  number: attempt.number,
  status: attempt.outcome,
  response_status: attempt.status,
  error: attempt.error,
  latency_ms: attempt.latencyMillis,
  response_body: attempt.response,
  ended_at: attempt.endedAt
})

const replayObject = ({ next, queued }: Replay) => ({
  queued,
  has_more: next !== undefined,
  next_event_id: next === undefined ? null : eventIdOf(next)
})

const wrappedJson = (data: object): string => JSON.stringify({ success: true, data })

const listResponse = (data: ReadonlyArray<object>, hasMore: boolean) =>
  jsonText(wrappedJson({ object: "list", data, has_more: hasMore }))

/** What a change asks for; what was not sent is not in it. */
const changeOf = (change: typeof WebhookEndpointChange.Type): EndpointChange => ({
  ...(change.url === undefined ? {} : { url: change.url }),
  ...(change.enabled_events === undefined ? {} : { enabledEvents: change.enabled_events }),
  ...(change.environment === undefined ? {} : { environment: change.environment }),
  ...(change.description === undefined ? {} : { description: change.description }),
  ...(change.status === undefined ? {} : { status: change.status }),
  ...(change.ordered === undefined ? {} : { ordered: change.ordered }),
  ...(typeof change.api_version === "string" ? { apiVersion: change.api_version } : {})
})

export const handlers = Operations.group(
  WebhooksApi,
  "webhooks",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const endpoints = yield* Endpoints
    const deliveries = yield* Deliveries

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* CurrentPrincipal
          const { apiVersion } = yield* RequestInfo
          const request = {
            url: payload.url,
            enabledEvents: payload.enabled_events,
            environment: payload.environment,
            description: payload.description ?? null,
            ordered: payload.ordered ?? false,
            apiVersion: payload.api_version ?? apiVersion
          }
          return yield* answerIdempotently<EndpointWithSecret, PublicError>(
            (call) => endpoints.create(principal, request, call),
            ({ endpoint, secret }, now) => endpointObject(endpoint, now, secret)
          )
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const found = pageOfEndpoints(yield* endpoints.list(yield* CurrentPrincipal, query.environment), query)
          if (isPublicError(found)) return yield* found
          const now = yield* nowSeconds
          return listResponse(found.page.map((endpoint) => endpointObject(endpoint, now)), found.hasMore)
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params }) {
          const found = yield* endpoints.get(yield* CurrentPrincipal, params.id)
          return jsonText(wrappedJson(endpointObject(found, yield* nowSeconds)))
        })
      )
      .handle(
        "change",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* CurrentPrincipal
          return yield* answerIdempotently<ManagedEndpoint, PublicError>(
            (call) => endpoints.change(principal, params.id, changeOf(payload), call),
            (endpoint, now) => endpointObject(endpoint, now)
          )
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function*({ params }) {
          const principal = yield* CurrentPrincipal
          return yield* answerIdempotently<ManagedEndpoint, PublicError>(
            (call) => endpoints.remove(principal, params.id, call),
            (endpoint, now) => ({ ...endpointObject(endpoint, now), status: "disabled" })
          )
        })
      )
      .handle(
        "rotateSecret",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* CurrentPrincipal
          // Whoever has the secret signs deliveries that shops believe. Of play money too: an endpoint can be moved.
          yield* requireFreshProof
          const overlap = payload.overlap_seconds ?? defaultOverlapSeconds
          return yield* answerIdempotently<EndpointWithSecret, PublicError>(
            (call) => endpoints.rotate(principal, params.id, overlap, call),
            ({ endpoint, secret }, now) => ({ secret, previous_secret_expires_at: overlapEnd(endpoint, now) })
          )
        })
      )
      .handle(
        "test",
        Effect.fnUntraced(function*({ params }) {
          const { requestId } = yield* RequestInfo
          const { key } = yield* Idempotency
          const sent = yield* deliveries.test(yield* CurrentPrincipal, params.id, { requestId, idempotencyKey: key })
          return jsonText(wrappedJson({ delivery_id: sent.deliveryId, event_id: sent.eventId }))
        })
      )
      .handle(
        "replay",
        Effect.fnUntraced(function*({ params, payload }) {
          const principal = yield* CurrentPrincipal
          const request = {
            fromEventId: payload.from_event_id ?? undefined,
            createdFrom: payload.created_gte ?? undefined,
            createdTo: payload.created_lte ?? undefined,
            types: payload.types ?? undefined,
            onlyFailed: payload.only_failed ?? true
          }
          return yield* answerIdempotently<Replay, PublicError>(
            ({ reply }) => deliveries.replay(principal, params.id, request, reply),
            replayObject
          )
        })
      )
      .handle(
        "deliveries",
        Effect.fnUntraced(function*({ params, query }) {
          const found = yield* deliveries.page(yield* CurrentPrincipal, params.id, query)
          return listResponse(found.deliveries.map(deliveryObject), found.hasMore)
        })
      )
      .handle(
        "delivery",
        Effect.fnUntraced(function*({ params }) {
          const { attempts, delivery } = yield* deliveries.get(yield* CurrentPrincipal, params.delivery_id)
          return jsonText(wrappedJson({ ...deliveryObject(delivery), attempts: attempts.map(attemptObject) }))
        })
      )
      .handle(
        "redeliver",
        Effect.fnUntraced(function*({ params }) {
          const principal = yield* CurrentPrincipal
          return yield* answerIdempotently<Delivery, PublicError>(
            ({ reply }) => deliveries.redeliver(principal, params.delivery_id, reply),
            deliveryObject
          )
        })
      )
  })
)

const placeOf = ({ endpointId, merchantId }: EndpointFailure) => ({
  merchant_id: merchantId as MerchantId,
  endpoint_id: endpointId
})

/** An endpoint that fails, on the wire. */
export const failingObject = (found: EndpointFailure): FailingEndpoint => ({
  ...placeOf(found),
  environment: found.environment,
  url_origin: originOf(found.url),
  status: found.status,
  disabled_reason: found.disabledReason,
  breaker: found.isOpen === null ? "closed" : found.isOpen ? "open" : "half_open",
  open_until: found.openUntil,
  openings: found.openings,
  consecutive_failures: found.consecutiveFailures,
  failing_since: found.failingSince,
  waiting: found.waiting,
  oldest_waiting_seconds: found.oldestWaitingSeconds,
  last_attempt: found.attemptEndedAt === null ? null : {
    ended_at: found.attemptEndedAt,
    status: found.attemptOutcome!,
    response_status: found.attemptStatus,
    error: found.attemptError,
    latency_ms: found.attemptLatencyMillis!
  }
})

/** The calls of `WebhooksRpc`. */
export const rpcHandlers = Rpc.handlers(
  WebhooksRpc,
  Effect.gen(function*() {
    const repo = yield* makeRepo
    const deliveries = yield* Deliveries
    return WebhooksRpc.of({
      "webhooks.failing": Effect.fnUntraced(function*({ after, limit = defaultFailing, merchant_id }) {
        const found = yield* repo.failingEndpoints({
          merchantId: merchant_id ?? null,
          after: { merchantId: after?.merchant_id ?? 0, endpointId: after?.endpoint_id ?? "" },
          limit
        })
        const page = found.slice(0, limit)
        return { endpoints: page.map(failingObject), next: found.length > limit ? placeOf(page.at(-1)!) : null }
      }),
      "webhooks.deliveries.retry": ({ delivery_id, merchant_id }) =>
        Effect.map(deliveries.redeliverForOperator(merchant_id, delivery_id), ({ eventId, id }) => ({
          delivery_id: `whd_${id}`,
          event_id: eventId as EventId
        }))
    })
  })
)
