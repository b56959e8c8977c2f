/**
 * What the calls of {@link Endpoints} in actor.ts share: the ports, the order of changes, and the endpoint of a call.
 */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import {
  type Commit,
  type Conflict,
  decideAnew,
  dieOnReplay,
  type IdempotentCall,
  type Write
} from "../../../runtime/Commit.ts"
import type { Secrets } from "../../../runtime/Secrets.ts"
import type { Settings } from "../../../runtime/Settings.ts"
import type { Webhooks } from "../../../runtime/Webhooks.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { maximumEndpoints } from "../../../schemas/Webhook.ts"
import type { ManagedEndpoint, Repo } from "../repo.ts"
import { manages } from "../rules.ts"

export interface EndpointContext {
  readonly actors: Actors["Service"]
  readonly commit: Commit["Service"]
  readonly secrets: Secrets["Service"]
  readonly webhooks: Webhooks["Service"]
  readonly environments: Settings["Service"]["environments"]
  readonly repo: Repo
}

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

export const append = <A>(
  { commit }: EndpointContext,
  principal: Principal,
  writes: ReadonlyArray<Write>,
  call: IdempotentCall<A>,
  result: A
) => {
  const reply = call.reply(result)
  return dieOnReplay(commit.append({
    merchantId: principal.merchantId,
    environment: principal.environment,
    cause: call.cause,
    writes,
    events: [],
    reply
  }))
}

export const requireEndpoint = (
  { repo }: EndpointContext,
  principal: Principal,
  id: string
): Effect.Effect<ManagedEndpoint, PublicError> =>
  Effect.flatMap(
    repo.endpoint(principal.merchantId, id),
    (endpoint) =>
      endpoint === undefined || !manages(principal, endpoint)
        ? Effect.fail(publicError("WEBHOOK_NOT_FOUND"))
        : Effect.succeed(endpoint)
  )
