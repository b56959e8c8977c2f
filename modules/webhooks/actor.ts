/** Load, decide, commit: how a merchant's endpoints change, and how their deliveries are read and repeated. */
import { Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, type CommitCause, type Conflict, retryConflicts, type Write } from "../../runtime/Commit.ts"
import { dieOnReplay, type IdempotentCall, RateLimiter } from "../../runtime/Http.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { uuidV4 } from "../../runtime/Uuid.ts"
import { Webhooks } from "../../runtime/Webhooks.ts"
import { type EndpointRow, endpointWrite } from "../../runtime/webhooks/Endpoints.ts"
import { secretBytes, secretOf } from "../../runtime/webhooks/Signature.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import type { EventId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { maximumEndpoints } from "../../schemas/Webhook.ts"
import {
  changeEndpoint,
  cursorParam,
  decideEndpoint,
  deleteEndpoint,
  type DeliveriesQuery,
  deliveryUuid,
  type EndpointChange,
  type EndpointRequest,
  manages,
  mayAdd,
  needsUrlCheck,
  readPage,
  readReplay,
  type ReplayRequest,
  resetsHealth,
  rotateSecret
} from "./rules.ts"
import { type Attempt, countWrite, type Delivery, makeRepo, type ManagedEndpoint, type Replay } from "./repo.ts"

/**
 * How often a decision is made anew when another commit was faster: each loss means that another one won, and no more
 * creations than the limit can.
 */
const conflictRetries = maximumEndpoints

/** An endpoint and, this once, its secret. */
export interface EndpointWithSecret {
  readonly endpoint: ManagedEndpoint
  readonly secret: string
}

const newSecret = Effect.sync(() => secretOf(randomBytes(secretBytes)))

const endpointUnknown = publicError("WEBHOOK_NOT_FOUND")
const deliveryUnknown = publicError("DELIVERY_NOT_FOUND")

/** What a call by hand needs. */
const requireEnabled = <E extends Pick<EndpointRow, "status">>(endpoint: E): Effect.Effect<E, PublicError> =>
  endpoint.status === "enabled" ? Effect.succeed(endpoint) : Effect.fail(publicError("WEBHOOK_DISABLED"))

/** The endpoints a caller manages; one that it does not manage is as unknown (`WEBHOOK_NOT_FOUND`). */
export class Endpoints extends Context.Service<Endpoints, {
  /**
   * Makes an endpoint with a new secret; the answer is made of both and lands in the same commit. The limit of 16 is
   * exact under any concurrency: one mailbox per merchant here, and a count row with a version over all instances.
   * Errors: `WEBHOOK_URL_INVALID`, `WEBHOOK_LIMIT_REACHED`, `ENVIRONMENT_FORBIDDEN`, `INVALID_ENVIRONMENT`,
   * `*_NOT_ENABLED`, `VALIDATION_ERROR`.
   */
  readonly create: (
    principal: Principal,
    request: EndpointRequest,
    order: IdempotentCall<EndpointWithSecret>
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
    order: IdempotentCall<ManagedEndpoint>
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  /** Answers the endpoint as it was. What waits for it is canceled. */
  readonly remove: (
    principal: Principal,
    id: string,
    order: IdempotentCall<ManagedEndpoint>
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  readonly rotate: (
    principal: Principal,
    id: string,
    overlapSeconds: number,
    order: IdempotentCall<EndpointWithSecret>
  ) => Effect.Effect<EndpointWithSecret, PublicError>
}>()("tillwire/modules/webhooks/Endpoints") {
  static readonly layer = Layer.effect(
    Endpoints,
    Effect.gen(function*() {
      const actors = yield* Actors
      const commit = yield* Commit
      const secrets = yield* Secrets
      const webhooks = yield* Webhooks
      const { environments } = yield* Settings
      const repo = yield* makeRepo

      /** One change of a merchant's endpoints at a time, decided anew while other instances are faster. */
      const decideInTurn = <A, E>(merchantId: number, attempt: Effect.Effect<A, E | Conflict>) =>
        actors.send("webhooks", String(merchantId), attempt).pipe(
          retryConflicts(conflictRetries),
          Effect.mapError((error) =>
            (error as Conflict)._tag === "Conflict"
              ? publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })
              : error as Exclude<E, Conflict>
          )
        )

      const append = <A>(principal: Principal, writes: ReadonlyArray<Write>, call: IdempotentCall<A>, result: A) => {
        const reply = call.reply(result)
        return dieOnReplay(commit.append({
          merchantId: principal.merchantId,
          environment: principal.environment,
          cause: call.cause,
          writes,
          events: [],
          ...(reply === undefined ? {} : { reply })
        }))
      }

      /**
       * The endpoint takes nothing any more already, and claims cancel what is left: a fault here changes no answer.
       */
      const cancelWaiting = (endpoint: ManagedEndpoint) =>
        Effect.catch(
          repo.cancelWaiting(endpoint),
          (error) => Effect.logWarning(`deliveries to ${endpoint.id} are canceled by later claims`, error)
        )

      const get = (principal: Principal, id: string) =>
        Effect.flatMap(
          repo.endpoint(principal.merchantId, id),
          (found) =>
            found === undefined || !manages(principal, found) ? Effect.fail(endpointUnknown) : Effect.succeed(found)
        )

      const checkUrl = (merchantId: number, { environment, url }: Pick<ManagedEndpoint, "environment" | "url">) =>
        webhooks.checkUrl(url, { merchantId, environment })

      const create = Effect.fnUntraced(function*(
        principal: Principal,
        request: EndpointRequest,
        order: IdempotentCall<EndpointWithSecret>
      ) {
        const { merchantId } = principal
        const draft = decideEndpoint(principal, request, environments)
        if (draft instanceof PublicError) {
          return yield* draft
        }
        yield* checkUrl(merchantId, draft)
        const now = yield* nowSeconds
        const secret = yield* newSecret
        const endpoint: ManagedEndpoint = {
          ...draft,
          id: `we_${yield* uuidV4}`,
          merchantId,
          version: 1,
          status: "enabled",
          sealedSecret: secrets.seal("webhook", secret),
          sealedPreviousSecret: null,
          previousSecretExpiresAt: null,
          consecutiveFailures: 0,
          disabledReason: null,
          createdAt: now,
          updatedAt: now
        }
        const made = { endpoint, secret }
        return yield* decideInTurn(
          merchantId,
          Effect.gen(function*() {
            const count = yield* repo.count(merchantId)
            if (!mayAdd(count.endpoints)) return yield* publicError("WEBHOOK_LIMIT_REACHED")
            const countRow = countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints + 1 })
            yield* append(principal, [countRow, endpointWrite(endpoint)], order, made)
            return made
          })
        )
      })

      const list = Effect.fnUntraced(function*(principal: Principal, environment: Environment | undefined) {
        if (environment !== undefined && principal.kind === "key" && environment !== principal.environment) {
          return yield* publicError("ENVIRONMENT_FORBIDDEN", { param: "environment" })
        }
        const found = yield* repo.endpoints(principal.merchantId)
        return found.filter((endpoint) =>
          manages(principal, endpoint)
          && (environment === undefined || endpoint.environment === null || endpoint.environment === environment)
        )
      })

      const change = Effect.fnUntraced(function*(
        principal: Principal,
        id: string,
        change: EndpointChange,
        order: IdempotentCall<ManagedEndpoint>
      ) {
        const after = yield* decideInTurn(
          principal.merchantId,
          Effect.gen(function*() {
            const before = yield* get(principal, id)
            const decided = changeEndpoint(principal, before, change, environments, yield* nowSeconds)
            if (decided instanceof PublicError) return yield* decided
            if (needsUrlCheck(before, decided)) yield* checkUrl(principal.merchantId, decided)
            const resetsHealthNow = resetsHealth(before, decided)
            const after = resetsHealthNow ? { ...decided, consecutiveFailures: 0 } : decided
            // Before the commit: what is still known of old attempts must not disable it at once.
            if (resetsHealthNow) yield* repo.resetHealth(before)
            yield* append(principal, [endpointWrite(after)], order, after)
            return after
          })
        )
        if (after.status !== "enabled") yield* cancelWaiting(after)
        yield* webhooks.wake(after.merchantId)
        return after
      })

      const remove = Effect.fnUntraced(
        function*(principal: Principal, id: string, order: IdempotentCall<ManagedEndpoint>) {
          const deletedEndpoint = yield* decideInTurn(
            principal.merchantId,
            Effect.gen(function*() {
              const before = yield* get(principal, id)
              const count = yield* repo.count(principal.merchantId)
              const counted = countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints - 1 })
              yield* append(
                principal,
                [counted, endpointWrite(deleteEndpoint(before, yield* nowSeconds))],
                order,
                before
              )
              return before
            })
          )
          yield* cancelWaiting(deletedEndpoint)
          yield* Effect.catch(
            repo.purgeDeleted(deletedEndpoint.merchantId),
            (error) => Effect.logWarning("deleted endpoints are forgotten with the next one", error)
          )
          yield* webhooks.wake(deletedEndpoint.merchantId)
          return deletedEndpoint
        }
      )

      const rotate = Effect.fnUntraced(function*(
        principal: Principal,
        id: string,
        overlapSeconds: number,
        order: IdempotentCall<EndpointWithSecret>
      ) {
        const secret = yield* newSecret
        const sealedSecret = secrets.seal("webhook", secret)
        return yield* decideInTurn(
          principal.merchantId,
          Effect.gen(function*() {
            const endpoint = rotateSecret(yield* get(principal, id), sealedSecret, overlapSeconds, yield* nowSeconds)
            const made = { endpoint, secret }
            yield* append(principal, [endpointWrite(endpoint)], order, made)
            return made
          })
        ).pipe(Effect.tap(() => webhooks.wake(principal.merchantId)))
      })

      return Endpoints.of({ create, list, get, change, remove, rotate })
    })
  )
}

/** A test event on its way. */
export interface TestDelivery {
  readonly deliveryId: string
  readonly eventId: EventId
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
  /** The same for an operator, as often as asked. Errors: `DELIVERY_NOT_FOUND`, `WEBHOOK_DISABLED`. */
  readonly retry: (merchantId: number, id: string) => Effect.Effect<Delivery, PublicError>
  /** Queues events of a range once more. Errors: `WEBHOOK_NOT_FOUND`, `INVALID_EVENT_ID`, `INVALID_EVENT_TYPE`. */
  readonly replay: (
    principal: Principal,
    id: string,
    request: ReplayRequest,
    reply: IdempotentCall<Replay>["reply"]
  ) => Effect.Effect<Replay, PublicError>
}>()("tillwire/modules/webhooks/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function*() {
      const actors = yield* Actors
      const commit = yield* Commit
      const endpoints = yield* Endpoints
      const rateLimiter = yield* RateLimiter
      const webhooks = yield* Webhooks
      const repo = yield* makeRepo

      /** The endpoint of a delivery, and the delivery's UUID. */
      const findDelivery = Effect.fnUntraced(function*(principal: Principal, id: string) {
        const uuid = deliveryUuid(id)
        const endpoint = uuid === undefined ? undefined : yield* repo.endpointOf(principal.merchantId, uuid)
        if (uuid === undefined || endpoint === undefined || !manages(principal, endpoint)) return yield* deliveryUnknown
        return { uuid, endpoint }
      })

      const requireDelivery = (endpoint: ManagedEndpoint, uuid: string) =>
        Effect.flatMap(
          repo.delivery(endpoint, uuid),
          (found) => found === undefined ? Effect.fail(deliveryUnknown) : Effect.succeed(found)
        )

      const checkManualSend = (endpoint: ManagedEndpoint) =>
        Effect.andThen(requireEnabled(endpoint), rateLimiter.endpoint(endpoint.id))

      const page = Effect.fnUntraced(function*(principal: Principal, id: string, query: DeliveriesQuery) {
        const endpoint = yield* endpoints.get(principal, id)
        const pageQuery = readPage(query)
        if (pageQuery instanceof PublicError) return yield* pageQuery
        const found = yield* repo.page(endpoint, pageQuery)
        return found ?? (yield* publicError("INVALID_CURSOR", { param: cursorParam(pageQuery) }))
      })

      const get = Effect.fnUntraced(function*(principal: Principal, id: string) {
        const { endpoint, uuid } = yield* findDelivery(principal, id)
        return {
          delivery: yield* requireDelivery(endpoint, uuid),
          attempts: yield* repo.attempts(principal.merchantId, uuid)
        }
      })

      const test = Effect.fnUntraced(function*(principal: Principal, id: string, cause: CommitCause) {
        const endpoint = yield* endpoints.get(principal, id)
        yield* checkManualSend(endpoint)
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
        // Somebody disabled it between the look and the commit: the event is there, and goes nowhere.
        if (delivery === undefined) return yield* publicError("WEBHOOK_DISABLED")
        return { deliveryId: `whd_${delivery}`, eventId: event!.id }
      })

      const redeliver = Effect.fnUntraced(
        function*(principal: Principal, id: string, reply: IdempotentCall<Delivery>["reply"]) {
          const { endpoint, uuid } = yield* findDelivery(principal, id)
          yield* requireDelivery(endpoint, uuid)
          yield* checkManualSend(endpoint)
          const made = yield* dieOnReplay(repo.redeliver(endpoint, uuid, (made) => made && reply(made)))
          if (made === undefined) return yield* deliveryUnknown
          yield* webhooks.wake(principal.merchantId)
          return made
        }
      )

      const retry = Effect.fnUntraced(function*(merchantId: number, id: string) {
        const uuid = deliveryUuid(id)
        const endpoint = uuid === undefined ? undefined : yield* repo.endpointOf(merchantId, uuid)
        if (uuid === undefined || endpoint === undefined) return yield* deliveryUnknown
        yield* requireEnabled(endpoint)
        const made = yield* dieOnReplay(repo.redeliver(endpoint, uuid, () => undefined))
        if (made === undefined) return yield* deliveryUnknown
        yield* webhooks.wake(merchantId)
        return made
      })

      const replay = Effect.fnUntraced(function*(
        principal: Principal,
        id: string,
        request: ReplayRequest,
        reply: IdempotentCall<Replay>["reply"]
      ) {
        const endpoint = yield* endpoints.get(principal, id)
        const range = readReplay(request, endpoint)
        if (range instanceof PublicError) return yield* range
        yield* checkManualSend(endpoint)
        if (range.types.length === 0) return { queued: 0, next: undefined }
        // One connection an endpoint: the others would only wait for its lock.
        const made = yield* actors.send(
          "webhook-replays",
          endpoint.id,
          dieOnReplay(repo.replay(endpoint, range, reply))
        )
        if (made.queued > 0) yield* webhooks.wake(principal.merchantId)
        return made
      })

      return Deliveries.of({ page, get, test, redeliver, retry, replay })
    })
  ).pipe(Layer.provideMerge(Endpoints.layer))
}
