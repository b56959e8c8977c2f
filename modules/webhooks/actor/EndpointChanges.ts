/** What becomes of an endpoint: it is made, changed, deleted, or gets a new secret. */
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import { endpointWrite } from "../../../runtime/webhooks/Endpoints.ts"
import { secretBytes, secretOf } from "../../../runtime/webhooks/Signature.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { PublicError, publicError } from "../../../schemas/Errors.ts"
import { countWrite, type ManagedEndpoint } from "../repo.ts"
import * as Rules from "../rules.ts"
import { append, checkEndpointRight, decideInTurn, type EndpointContext, requireEndpoint } from "./EndpointContext.ts"

/** An endpoint and, this once, its secret. */
export interface EndpointWithSecret {
  readonly endpoint: ManagedEndpoint
  readonly secret: string
}

const newSecret = Effect.sync(() => secretOf(randomBytes(secretBytes)))

const checkUrl = (
  { webhooks }: EndpointContext,
  merchantId: number,
  { environment, url }: Pick<ManagedEndpoint, "environment" | "url">
) => webhooks.checkUrl(url, { merchantId, environment })

/** The row of a merchant's count after `change` endpoints more, and how many there were. */
const countAfter = (context: EndpointContext, merchantId: number, change: 1 | -1) =>
  Effect.map(context.repo.count(merchantId), (count) => ({
    endpointsBefore: count.endpoints,
    write: countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints + change })
  }))

/** The endpoint takes nothing any more already, and claims cancel what is left: a fault here changes no answer. */
const cancelWaiting = ({ repo }: EndpointContext, endpoint: ManagedEndpoint) =>
  Effect.catch(
    repo.cancelWaiting(endpoint),
    (error) => Effect.logWarning(`deliveries to ${endpoint.id} are canceled by later claims`, error)
  )

export const createEndpoint = Effect.fnUntraced(function*(
  context: EndpointContext,
  principal: Principal,
  request: Rules.EndpointRequest,
  call: IdempotentCall<EndpointWithSecret>
) {
  const { merchantId } = principal
  const decided = Rules.decideEndpoint(principal, request, context.environments)
  if (decided instanceof PublicError) return yield* decided
  yield* checkEndpointRight(principal, decided, "webhooks:write")
  yield* checkUrl(context, merchantId, decided)
  const now = yield* nowSeconds
  const secret = yield* newSecret
  const identity = { id: `we_${yield* uuidV4}`, merchantId, sealedSecret: context.secrets.seal("webhook", secret) }
  const endpoint: ManagedEndpoint = Rules.initialEndpoint(decided, identity, now)
  const created = { endpoint, secret }
  return yield* decideInTurn(
    context,
    merchantId,
    Effect.gen(function*() {
      const count = yield* countAfter(context, merchantId, 1)
      if (!Rules.mayAdd(count.endpointsBefore)) return yield* publicError("WEBHOOK_LIMIT_REACHED")
      const step = { verb: "create", before: null, after: endpoint } as const
      yield* append(context, principal, step, [count.write, endpointWrite(endpoint)], call, created)
      return created
    })
  )
})

export const changeEndpoint = Effect.fnUntraced(function*(
  context: EndpointContext,
  principal: Principal,
  id: string,
  change: Rules.EndpointChange,
  call: IdempotentCall<ManagedEndpoint>
) {
  const { environments, repo, webhooks } = context
  const after = yield* decideInTurn(
    context,
    principal.merchantId,
    Effect.gen(function*() {
      const before = yield* requireEndpoint(context, principal, id, "webhooks:write")
      const decided = Rules.changeEndpoint(principal, before, change, environments, yield* nowSeconds)
      if (decided instanceof PublicError) return yield* decided
      yield* checkEndpointRight(principal, decided, "webhooks:write")
      if (Rules.needsUrlCheck(before, decided)) yield* checkUrl(context, principal.merchantId, decided)
      const resetsHealthNow = Rules.resetsHealth(before, decided)
      const after = resetsHealthNow ? { ...decided, consecutiveFailures: 0 } : decided
      // Before the commit: what is still known of old attempts must not disable it at once.
      if (resetsHealthNow) yield* repo.resetHealth(before)
      yield* append(context, principal, { verb: "update", before, after }, [endpointWrite(after)], call, after)
      return after
    })
  )
  if (after.status !== "enabled") yield* cancelWaiting(context, after)
  yield* webhooks.wake(after.merchantId)
  return after
})

export const removeEndpoint = Effect.fnUntraced(
  function*(context: EndpointContext, principal: Principal, id: string, call: IdempotentCall<ManagedEndpoint>) {
    const endpoint = yield* decideInTurn(
      context,
      principal.merchantId,
      Effect.gen(function*() {
        const before = yield* requireEndpoint(context, principal, id, "webhooks:write")
        const count = yield* countAfter(context, principal.merchantId, -1)
        const writes = [count.write, endpointWrite(Rules.deleteEndpoint(before, yield* nowSeconds))]
        yield* append(context, principal, { verb: "delete", before, after: before }, writes, call, before)
        return before
      })
    )
    yield* cancelWaiting(context, endpoint)
    yield* Effect.catch(
      context.repo.purgeDeleted(endpoint.merchantId),
      (error) => Effect.logWarning("old deleted endpoints were not removed; the next deletion removes them", error)
    )
    yield* context.webhooks.wake(endpoint.merchantId)
    return endpoint
  }
)

export const rotateSecret = Effect.fnUntraced(function*(
  context: EndpointContext,
  principal: Principal,
  id: string,
  overlapSeconds: number,
  call: IdempotentCall<EndpointWithSecret>
) {
  const secret = yield* newSecret
  const sealedSecret = context.secrets.seal("webhook", secret)
  const rotated = yield* decideInTurn(
    context,
    principal.merchantId,
    Effect.gen(function*() {
      const before = yield* requireEndpoint(context, principal, id, "webhooks:write")
      const endpoint = Rules.rotateSecret(before, sealedSecret, overlapSeconds, yield* nowSeconds)
      const rotated = { endpoint, secret }
      const step = { verb: "rotate_secret", before, after: endpoint } as const
      yield* append(context, principal, step, [endpointWrite(endpoint)], call, rotated)
      return rotated
    })
  )
  yield* context.webhooks.wake(principal.merchantId)
  return rotated
})
