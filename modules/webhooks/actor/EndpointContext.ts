/**
 * What the calls of {@link Endpoints} in actor.ts share: the ports, the order of changes, and the endpoint of a call.
 */
import { Effect } from "effect"
import { Actors } from "../../../runtime/Actors.ts"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import {
  Commit,
  type Conflict,
  decideAnew,
  dieOnReplay,
  type IdempotentCall,
  type Write
} from "../../../runtime/Commit.ts"
import { environmentOfBoth, objectionToRight } from "../../../schemas/Authorization.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { Webhooks } from "../../../runtime/Webhooks.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { maximumEndpoints } from "../../../schemas/Webhook.ts"
import { makeRepo, type ManagedEndpoint, type Repo } from "../repo.ts"
import { manages } from "../rules.ts"
import { endpointActOf, type EndpointVerb } from "./EndpointActs.ts"

export interface EndpointContext {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  readonly secrets: Secrets["Service"]
  readonly webhooks: Webhooks["Service"]
  readonly environments: Settings["Service"]["environments"]
  readonly repo: Repo
}

export const makeEndpointContext = Effect.gen(function*() {
  const context: EndpointContext = {
    actors: yield* Actors,
    auditLog: yield* AuditLog,
    commit: yield* Commit,
    secrets: yield* Secrets,
    webhooks: yield* Webhooks,
    environments: (yield* Settings).environments,
    repo: yield* makeRepo
  }
  return context
})

/**
 * How often a decision is made anew when another commit was faster: each loss means that another one won, and no more
 * creations than the limit can.
 */
const conflictRetries = maximumEndpoints

/** One change of a merchant's endpoints at a time, decided anew while other instances are faster. */
export const decideInTurn = <A, E>(
  { actors }: EndpointContext,
  merchantId: number,
  attempt: Effect.Effect<A, E | Conflict>
) => decideAnew(conflictRetries)(actors.send("webhooks", String(merchantId), attempt))

/** What became of an endpoint; `before` null: it was not there. */
interface EndpointStep {
  readonly verb: EndpointVerb
  readonly before: ManagedEndpoint | null
  readonly after: ManagedEndpoint
}

export const append = Effect.fnUntraced(function*<A>(
  { auditLog, commit }: EndpointContext,
  principal: Principal,
  { after, before, verb }: EndpointStep,
  writes: ReadonlyArray<Write>,
  call: IdempotentCall<A>,
  result: A
) {
  const reply = call.reply(result)
  const entry = yield* auditLog.writesOf(endpointActOf(verb, principal, before, after, call.cause.requestId))
  yield* dieOnReplay(commit.append({
    merchantId: principal.merchantId,
    environment: principal.environment,
    cause: call.cause,
    writes: [...writes, ...entry],
    events: [],
    reply
  }))
})

export type EndpointRight = "webhooks:read" | "webhooks:write"

/** Why a caller may not read or change an endpoint of an environment, whichever one the call names, if so. */
export const objectionToEndpoint = (
  principal: Principal,
  { environment }: Pick<ManagedEndpoint, "environment">,
  right: EndpointRight
): PublicError | undefined => objectionToRight(principal, right, environment ?? environmentOfBoth)

/** Fails with `PERMISSION_DENIED` where the caller has no such right where an endpoint hears of events. */
export const checkEndpointRight = (...call: Parameters<typeof objectionToEndpoint>) =>
  Effect.suspend(() => {
    const objection = objectionToEndpoint(...call)
    return objection === undefined ? Effect.void : Effect.fail(objection)
  })

/** The endpoint that was found, where the caller manages it and has the right. */
export const admitEndpoint = Effect.fnUntraced(function*(
  principal: Principal,
  endpoint: ManagedEndpoint | undefined,
  right: EndpointRight
): Effect.fn.Return<ManagedEndpoint, PublicError> {
  if (endpoint === undefined || !manages(principal, endpoint)) return yield* publicError("WEBHOOK_NOT_FOUND")
  yield* checkEndpointRight(principal, endpoint, right)
  return endpoint
})

export const requireEndpoint = (
  { repo }: Pick<EndpointContext, "repo">,
  principal: Principal,
  id: string,
  right: EndpointRight
) => Effect.flatMap(repo.endpoint(principal.merchantId, id), (found) => admitEndpoint(principal, found, right))
