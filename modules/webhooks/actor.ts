/** Load, decide, commit: how a merchant's endpoints change, and how their deliveries are read and repeated. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, type CommitCause, type IdempotentCall } from "../../runtime/Commit.ts"
import { RateLimiter } from "../../runtime/Http.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Webhooks } from "../../runtime/Webhooks.ts"
import type { Principal } from "../../schemas/Auth.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  type DeliveryContext,
  deliveryPage,
  getDelivery,
  redeliver,
  redeliverForOperator,
  replayEvents,
  replayForOperator,
  sendTest,
  type TestDelivery
} from "./actor/DeliveryRequests.ts"
import {
  changeEndpoint,
  createEndpoint,
  type EndpointWithSecret,
  removeEndpoint,
  rotateSecret
} from "./actor/EndpointChanges.ts"
import { makeEndpointContext, objectionToEndpoint, requireEndpoint } from "./actor/EndpointContext.ts"
import { type Attempt, type Delivery, makeRepo, type ManagedEndpoint, type Replay } from "./repo.ts"
import {
  type DeliveriesQuery,
  type EndpointChange,
  type EndpointRequest,
  isListed,
  objectionToListing,
  type ReplayRequest
} from "./rules.ts"

/**
 * The endpoints a caller manages; one that it does not manage is as unknown (`WEBHOOK_NOT_FOUND`). `PERMISSION_DENIED`
 * for one of an environment in which the caller's role may not: what hears of both is of mainnet.
 */
export class Endpoints extends Context.Service<Endpoints, {
  /**
   * Makes an endpoint with a new secret; the answer is made of both and is stored in the same commit. The limit of 16
   * is exact under any concurrency: one mailbox per merchant here, and a count row with a version over all instances.
   * Errors: `WEBHOOK_URL_INVALID`, `WEBHOOK_LIMIT_REACHED`, `ENVIRONMENT_FORBIDDEN`, `INVALID_ENVIRONMENT`,
   * `*_NOT_ENABLED`, `VALIDATION_ERROR`.
   */
  readonly create: (
    principal: Principal,
    request: EndpointRequest,
    call: IdempotentCall<EndpointWithSecret>
  ) => Effect.Effect<EndpointWithSecret, PublicError>
  /**
   * Newest first; of one environment, those that hear of it. Errors: `ENVIRONMENT_FORBIDDEN` to a key of another one.
   */
  readonly list: (
    principal: Principal,
    environment: Environment | undefined
  ) => Effect.Effect<ReadonlyArray<ManagedEndpoint>, PublicError>
  readonly get: (principal: Principal, id: string) => Effect.Effect<ManagedEndpoint, PublicError>
  /**
   * In force for every commit after it. Disabling cancels what waits. Enabling, and another URL, forget how attempts
   * went. Errors: those of `create` for each field.
   */
  readonly change: (
    principal: Principal,
    id: string,
    change: EndpointChange,
    call: IdempotentCall<ManagedEndpoint>
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  /** Answers the endpoint as it was. What waits for it is canceled. */
  readonly remove: (
    principal: Principal,
    id: string,
    call: IdempotentCall<ManagedEndpoint>
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  readonly rotate: (
    principal: Principal,
    id: string,
    overlapSeconds: number,
    call: IdempotentCall<EndpointWithSecret>
  ) => Effect.Effect<EndpointWithSecret, PublicError>
}>()("tillwire/modules/webhooks/Endpoints") {
  static readonly layer = Layer.effect(
    Endpoints,
    Effect.gen(function*() {
      const context = yield* makeEndpointContext
      return Endpoints.of({
        create: (principal, request, call) => createEndpoint(context, principal, request, call),
        list: Effect.fnUntraced(function*(principal, environment) {
          const objection = objectionToListing(principal, environment)
          if (objection !== undefined) return yield* objection
          const endpoints = yield* context.repo.endpoints(principal.merchantId)
          return endpoints.filter((endpoint) =>
            isListed(principal, endpoint, environment)
            && objectionToEndpoint(principal, endpoint, "webhooks:read") === undefined
          )
        }),
        get: (principal, id) => requireEndpoint(context, principal, id, "webhooks:read"),
        change: (principal, id, change, call) => changeEndpoint(context, principal, id, change, call),
        remove: (principal, id, call) => removeEndpoint(context, principal, id, call),
        rotate: (principal, id, overlapSeconds, call) => rotateSecret(context, principal, id, overlapSeconds, call)
      })
    })
  )
}

/**
 * Deliveries of the endpoints a caller manages. What makes deliveries by hand fails with `WEBHOOK_DISABLED` on a
 * disabled endpoint, and with `RATE_LIMIT_EXCEEDED` after ten calls in a minute.
 */
export class Deliveries extends Context.Service<Deliveries, {
  /** Newest first. Errors: `WEBHOOK_NOT_FOUND`, `INVALID_CURSOR`, `INVALID_EVENT_ID`, `INVALID_EVENT_TYPE`. */
  readonly page: (
    principal: Principal,
    id: string,
    query: DeliveriesQuery
  ) => Effect.Effect<{ readonly deliveries: ReadonlyArray<Delivery>; readonly hasMore: boolean }, PublicError>
  /** Errors: `DELIVERY_NOT_FOUND`. */
  readonly get: (
    principal: Principal,
    id: string
  ) => Effect.Effect<{ readonly delivery: Delivery; readonly attempts: ReadonlyArray<Attempt> }, PublicError>
  /** Emits `test.ping` to one endpoint. Errors: `WEBHOOK_NOT_FOUND`. */
  readonly test: (principal: Principal, id: string, cause: CommitCause) => Effect.Effect<TestDelivery, PublicError>
  /** Queues the event of a delivery once more. Errors: `DELIVERY_NOT_FOUND`. */
  readonly redeliver: (
    principal: Principal,
    id: string,
    reply: IdempotentCall<Delivery>["reply"]
  ) => Effect.Effect<Delivery, PublicError>
  /**
   * The same for an operator, as often as asked. `before` runs once nothing speaks against it. Errors:
   * `DELIVERY_NOT_FOUND`, `WEBHOOK_DISABLED`.
   */
  readonly redeliverForOperator: <R = never>(
    merchantId: number,
    id: string,
    before?: (endpoint: ManagedEndpoint) => Effect.Effect<void, PublicError, R>
  ) => Effect.Effect<Delivery, PublicError, R>
  /** Queues events of a range once more. Errors: `WEBHOOK_NOT_FOUND`, `INVALID_EVENT_ID`, `INVALID_EVENT_TYPE`. */
  readonly replay: (
    principal: Principal,
    id: string,
    request: ReplayRequest,
    reply: IdempotentCall<Replay>["reply"]
  ) => Effect.Effect<Replay, PublicError>
  /**
   * The same for an operator, as often as asked. `before` runs once nothing speaks against it. Errors:
   * `WEBHOOK_DISABLED`, `INVALID_EVENT_ID`, `INVALID_EVENT_TYPE`, `VALIDATION_ERROR`.
   */
  readonly replayForOperator: <R>(
    endpoint: ManagedEndpoint,
    request: ReplayRequest,
    before: Effect.Effect<void, PublicError, R>
  ) => Effect.Effect<Replay, PublicError, R>
}>()("tillwire/modules/webhooks/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function*() {
      const context: DeliveryContext = {
        actors: yield* Actors,
        commit: yield* Commit,
        rateLimiter: yield* RateLimiter,
        webhooks: yield* Webhooks,
        repo: yield* makeRepo,
        reads: yield* readsOf(makeRepo)
      }
      return Deliveries.of({
        page: (principal, id, query) => deliveryPage(context, principal, id, query),
        get: (principal, id) => getDelivery(context, principal, id),
        test: (principal, id, cause) => sendTest(context, principal, id, cause),
        redeliver: (principal, id, reply) => redeliver(context, principal, id, reply),
        redeliverForOperator: (merchantId, id, before) => redeliverForOperator(context, merchantId, id, before),
        replayForOperator: (endpoint, request, before) => replayForOperator(context, endpoint, request, before),
        replay: (principal, id, request, reply) => replayEvents(context, principal, id, request, reply)
      })
    })
  ).pipe(Layer.provideMerge(Endpoints.layer))
}
