/**
 * Deliveries of the endpoints a caller manages: looked up, and sent by hand as a test, once more, or a range of them.
 */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type Commit, type CommitCause, dieOnReplay, type IdempotentCall } from "../../../runtime/Commit.ts"
import { type RateLimiter } from "../../../runtime/Http.ts"
import type { ReadsOf } from "../../../runtime/ReadReplica.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import type { Webhooks } from "../../../runtime/Webhooks.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { PublicError, publicError } from "../../../schemas/Errors.ts"
import type { EventId } from "../../../schemas/Ids.ts"
import type { Delivery, ManagedEndpoint, Replay, Repo } from "../repo.ts"
import {
  cursorParam,
  type DeliveriesQuery,
  deliveryUuid,
  manages,
  readPage,
  readReplay,
  type ReplayRange,
  type ReplayRequest
} from "../rules.ts"
import { admitEndpoint, checkEndpointRight, type EndpointRight, requireEndpoint } from "./EndpointContext.ts"

export interface DeliveryContext {
  readonly actors: Actors["Service"]
  readonly commit: Commit["Service"]
  readonly rateLimiter: RateLimiter["Service"]
  readonly webhooks: Webhooks["Service"]
  readonly repo: Repo
  readonly reads: ReadsOf<Repo>
}

/** A test event on its way. */
export interface TestDelivery {
  readonly deliveryId: string
  readonly eventId: EventId
}

const deliveryNotFound = publicError("DELIVERY_NOT_FOUND")

const requireEnabled = ({ status }: ManagedEndpoint): Effect.Effect<void, PublicError> =>
  status === "enabled" ? Effect.void : Effect.fail(publicError("WEBHOOK_DISABLED"))

/** A delivery by hand needs an enabled endpoint, and counts for the endpoint's rate limit. */
const checkManualSend = ({ rateLimiter }: DeliveryContext, endpoint: ManagedEndpoint) =>
  Effect.andThen(requireEnabled(endpoint), rateLimiter.endpoint(endpoint.id))

/** The endpoint of a merchant's delivery, and the delivery's UUID. */
const findEndpointOf = Effect.fnUntraced(function*({ repo }: DeliveryContext, merchantId: number, id: string) {
  const uuid = deliveryUuid(id)
  const endpoint = uuid === undefined ? undefined : yield* repo.endpointOf(merchantId, uuid)
  return uuid === undefined || endpoint === undefined ? yield* deliveryNotFound : { uuid, endpoint }
})

/** The same, of a caller who manages the endpoint. */
const findManagedEndpointOf = Effect.fnUntraced(
  function*(context: DeliveryContext, principal: Principal, id: string, right: EndpointRight) {
    const found = yield* findEndpointOf(context, principal.merchantId, id)
    if (!manages(principal, found.endpoint)) return yield* deliveryNotFound
    yield* checkEndpointRight(principal, found.endpoint, right)
    return found
  }
)

const requireDelivery = ({ repo }: DeliveryContext, endpoint: ManagedEndpoint, uuid: string) =>
  Effect.flatMap(
    repo.delivery(endpoint, uuid),
    (delivery) => delivery === undefined ? Effect.fail(deliveryNotFound) : Effect.succeed(delivery)
  )

export const deliveryPage = Effect.fnUntraced(
  function*(context: DeliveryContext, principal: Principal, id: string, query: DeliveriesQuery) {
    const pageQuery = readPage(query)
    if (pageQuery instanceof PublicError) {
      yield* requireEndpoint(context, principal, id, "webhooks:read")
      return yield* pageQuery
    }
    const { merchantId } = principal
    const isBehindFirst = pageQuery.cursor !== undefined && pageQuery.direction === "older"
    const page = yield* context.reads.page(
      isBehindFirst,
      (from) => from.page({ id, merchantId }, pageQuery, (found) => admitEndpoint(principal, found, "webhooks:read"))
    )
    return page ?? (yield* publicError("INVALID_CURSOR", { param: cursorParam(pageQuery) }))
  }
)

export const getDelivery = Effect.fnUntraced(function*(context: DeliveryContext, principal: Principal, id: string) {
  const { endpoint, uuid } = yield* findManagedEndpointOf(context, principal, id, "webhooks:read")
  return {
    delivery: yield* requireDelivery(context, endpoint, uuid),
    attempts: yield* context.repo.attempts(principal.merchantId, uuid)
  }
})

export const sendTest = Effect.fnUntraced(
  function*(context: DeliveryContext, principal: Principal, id: string, cause: CommitCause) {
    const { commit, repo } = context
    const endpoint = yield* requireEndpoint(context, principal, id, "webhooks:write")
    yield* checkManualSend(context, endpoint)
    const ping = {
      object: "test_ping",
      id: `ping_${yield* uuidV4}`,
      message: "Webhook test",
      created_at: yield* nowSeconds
    }
    const { events: [event] } = yield* commit.append({
      merchantId: principal.merchantId,
      environment: endpoint.environment ?? principal.environment,
      cause,
      writes: [],
      events: [{ type: "test.ping", object: ping, previousAttributes: {} }],
      deliverOnlyTo: endpoint.id
    }).pipe(Effect.catchTag(["Conflict", "IdempotentReplay"], (impossible) => Effect.die(impossible)))
    const delivery = yield* repo.deliveryOf(endpoint, event!.position)
    // The endpoint was disabled after the check and before the commit: the event is stored and has no delivery.
    if (delivery === undefined) return yield* publicError("WEBHOOK_DISABLED")
    return { deliveryId: `whd_${delivery}`, eventId: event!.id }
  }
)

/** Queues a delivery of the same event, and has it sent. */
const queueAgain = Effect.fnUntraced(function*(
  { repo, webhooks }: DeliveryContext,
  endpoint: ManagedEndpoint,
  uuid: string,
  reply: IdempotentCall<Delivery>["reply"]
) {
  const delivery = yield* dieOnReplay(repo.redeliver(endpoint, uuid, (queued) => queued && reply(queued)))
  if (delivery === undefined) return yield* deliveryNotFound
  yield* webhooks.wake(endpoint.merchantId)
  return delivery
})

export const redeliver = Effect.fnUntraced(
  function*(context: DeliveryContext, principal: Principal, id: string, reply: IdempotentCall<Delivery>["reply"]) {
    const { endpoint, uuid } = yield* findManagedEndpointOf(context, principal, id, "webhooks:write")
    yield* requireDelivery(context, endpoint, uuid)
    yield* checkManualSend(context, endpoint)
    return yield* queueAgain(context, endpoint, uuid, reply)
  }
)

export const redeliverForOperator = Effect.fnUntraced(function*<R = never>(
  context: DeliveryContext,
  merchantId: number,
  id: string,
  before?: (endpoint: ManagedEndpoint) => Effect.Effect<void, PublicError, R>
) {
  const { endpoint, uuid } = yield* findEndpointOf(context, merchantId, id)
  yield* requireEnabled(endpoint)
  if (before !== undefined) yield* before(endpoint)
  return yield* queueAgain(context, endpoint, uuid, () => undefined)
})

/** Queues the events of a range for one endpoint, and has them sent. */
const queueRange = Effect.fnUntraced(function*(
  { actors, repo, webhooks }: DeliveryContext,
  endpoint: ManagedEndpoint,
  range: ReplayRange,
  reply: IdempotentCall<Replay>["reply"]
) {
  if (range.types.length === 0) return { queued: 0, next: undefined }
  // Replays of one endpoint run one after the other: more would only hold connections and wait for the endpoint's lock.
  const replay = yield* actors.send("webhook-replays", endpoint.id, dieOnReplay(repo.replay(endpoint, range, reply)))
  if (replay.queued > 0) yield* webhooks.wake(endpoint.merchantId)
  return replay
})

export const replayEvents = Effect.fnUntraced(function*(
  context: DeliveryContext,
  principal: Principal,
  id: string,
  request: ReplayRequest,
  reply: IdempotentCall<Replay>["reply"]
) {
  const endpoint = yield* requireEndpoint(context, principal, id, "webhooks:write")
  const range = readReplay(request, endpoint)
  if (range instanceof PublicError) return yield* range
  yield* checkManualSend(context, endpoint)
  return yield* queueRange(context, endpoint, range, reply)
})

export const replayForOperator = Effect.fnUntraced(function*<R>(
  context: DeliveryContext,
  endpoint: ManagedEndpoint,
  request: ReplayRequest,
  before: Effect.Effect<void, PublicError, R>
) {
  const range = readReplay(request, endpoint)
  if (range instanceof PublicError) return yield* range
  yield* requireEnabled(endpoint)
  yield* before
  return yield* queueRange(context, endpoint, range, () => undefined)
})
