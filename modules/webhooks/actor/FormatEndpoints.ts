/**
 * Endpoints of a format of their own, for the module that has the format: under the same limit, rules of URLs and audit
 * log as those of events, and unseen by the routes of those.
 */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { CommitCause, IdempotentCall } from "../../../runtime/Commit.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import { endpointWrite } from "../../../runtime/webhooks/Endpoints.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { append, decideInTurn, makeEndpointContext } from "./EndpointContext.ts"
import { countWrite, type ManagedEndpoint } from "../repo.ts"
import { deleteEndpoint, disabledByMerchant, initialEndpoint, mayAdd, needsUrlCheck, resetsHealth } from "../rules.ts"

/** What an endpoint is to be. */
export interface FormatEndpoint {
  readonly url: string
  readonly isEnabled: boolean
  readonly isSingleAttempt: boolean
  /** In the words of the format, and none that selects events. */
  readonly filters: ReadonlyArray<string>
  /** As its receiver has it. Absent: as it is. */
  readonly secret?: string
}

export class FormatEndpoints extends Context.Service<FormatEndpoints, {
  /** An endpoint of the caller's environment. Errors: `WEBHOOK_URL_INVALID`, `WEBHOOK_LIMIT_REACHED`. */
  readonly create: (
    principal: Principal,
    format: string,
    endpoint: FormatEndpoint & { readonly secret: string },
    cause: CommitCause
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  /** Newest first. */
  readonly list: (principal: Principal, format: string) => Effect.Effect<ReadonlyArray<ManagedEndpoint>>
  /** Errors: `WEBHOOK_NOT_FOUND`. */
  readonly get: (principal: Principal, format: string, id: string) => Effect.Effect<ManagedEndpoint, PublicError>
  /** In force for every commit after it. Errors: `WEBHOOK_NOT_FOUND`, `WEBHOOK_URL_INVALID`. */
  readonly change: (
    principal: Principal,
    format: string,
    id: string,
    endpoint: FormatEndpoint,
    cause: CommitCause
  ) => Effect.Effect<ManagedEndpoint, PublicError>
  /** What waits for it is canceled. Errors: `WEBHOOK_NOT_FOUND`. */
  readonly remove: (
    principal: Principal,
    format: string,
    id: string,
    cause: CommitCause
  ) => Effect.Effect<void, PublicError>
}>()("tillwire/modules/webhooks/FormatEndpoints") {
  static readonly layer = Layer.effect(
    FormatEndpoints,
    Effect.gen(function*() {
      const context = yield* makeEndpointContext
      const { repo, secrets, webhooks } = context
      const seal = (secret: string) => secrets.seal("webhook", secret)

      const find = Effect.fnUntraced(function*({ environment, merchantId }: Principal, format: string, id: string) {
        const [found] = yield* repo.endpointsOf(format, merchantId, id)
        return found?.environment === environment ? found : yield* publicError("WEBHOOK_NOT_FOUND")
      })

      const callOf = <A>(cause: CommitCause): IdempotentCall<A> => ({ cause, reply: () => undefined })

      const cancelWaiting = (endpoint: ManagedEndpoint) =>
        Effect.catch(
          repo.cancelWaiting(endpoint),
          (error) => Effect.logWarning(`deliveries to ${endpoint.id} are canceled by later claims`, error)
        )

      return FormatEndpoints.of({
        list: ({ environment, merchantId }, format) =>
          Effect.map(
            repo.endpointsOf(format, merchantId),
            (found) => found.filter((endpoint) => endpoint.environment === environment)
          ),
        get: find,
        create: Effect.fnUntraced(
          function*(principal, format, { filters, isEnabled, isSingleAttempt, secret, url }, cause) {
            const { environment, merchantId } = principal
            yield* webhooks.checkUrl(url, { merchantId, environment })
            const identity = { id: `we_${yield* uuidV4}`, merchantId, sealedSecret: seal(secret) }
            const decided = {
              url,
              environment,
              filters,
              commerceOnly: false,
              ordered: true,
              apiVersion: principal.apiVersion,
              description: null
            }
            const endpoint: ManagedEndpoint = {
              ...initialEndpoint(decided, identity, yield* nowSeconds),
              format,
              isSingleAttempt,
              ...(isEnabled ? {} : { status: "disabled" as const, disabledReason: disabledByMerchant })
            }
            return yield* decideInTurn(
              context,
              merchantId,
              Effect.gen(function*() {
                const count = yield* repo.count(merchantId)
                if (!mayAdd(count.endpoints)) return yield* publicError("WEBHOOK_LIMIT_REACHED")
                const counted = countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints + 1 })
                const step = { verb: "create", before: null, after: endpoint } as const
                yield* append(context, principal, step, [counted, endpointWrite(endpoint)], callOf(cause), endpoint)
                return endpoint
              })
            )
          }
        ),
        change: Effect.fnUntraced(function*(principal, format, id, change, cause) {
          const { environment, merchantId } = principal
          const after = yield* decideInTurn(
            context,
            merchantId,
            Effect.gen(function*() {
              const before = yield* find(principal, format, id)
              const { filters, isEnabled, isSingleAttempt, secret, url } = change
              const status = isEnabled ? "enabled" as const : "disabled" as const
              const decided: ManagedEndpoint = {
                ...before,
                version: before.version + 1,
                updatedAt: yield* nowSeconds,
                url,
                filters,
                isSingleAttempt,
                status,
                disabledReason: isEnabled ? null : before.disabledReason ?? disabledByMerchant,
                ...(secret === undefined ? {} : { sealedSecret: seal(secret) })
              }
              if (needsUrlCheck(before, decided)) yield* webhooks.checkUrl(url, { merchantId, environment })
              if (resetsHealth(before, decided)) yield* repo.resetHealth(before)
              const step = { verb: "update", before, after: decided } as const
              yield* append(context, principal, step, [endpointWrite(decided)], callOf(cause), decided)
              return decided
            })
          )
          if (after.status !== "enabled") yield* cancelWaiting(after)
          yield* webhooks.wake(merchantId)
          return after
        }),
        remove: Effect.fnUntraced(function*(principal, format, id, cause) {
          const { merchantId } = principal
          const removed = yield* decideInTurn(
            context,
            merchantId,
            Effect.gen(function*() {
              const before = yield* find(principal, format, id)
              const count = yield* repo.count(merchantId)
              const counted = countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints - 1 })
              const writes = [counted, endpointWrite(deleteEndpoint(before, yield* nowSeconds))]
              const step = { verb: "delete", before, after: before } as const
              yield* append(context, principal, step, writes, callOf(cause), before)
              return before
            })
          )
          yield* cancelWaiting(removed)
          yield* Effect.catch(
            repo.purgeDeleted(merchantId),
            (error) =>
              Effect.logWarning("old deleted endpoints were not removed; the next deletion removes them", error)
          )
          yield* webhooks.wake(merchantId)
        })
      })
    })
  )
}
