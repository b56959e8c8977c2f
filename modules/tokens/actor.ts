/** Load, decide, commit: how a merchant's acceptance policy changes, and where everyone else reads it. */
import { Clock, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import {
  Commit,
  type CommitCause,
  type IdempotentReplay,
  type ReplyWrite,
  retryConflicts
} from "../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { PolicyState } from "./rules.ts"
import { makeRepo, policyWrite } from "./repo.ts"

/** Milliseconds for which a policy is not read again: another instance's change is heeded within them. */
export const policyCacheMillis = 2_000

/** Policies remembered at once; the oldest is forgotten first. */
const policyCacheCapacity = 10_000

/** How often a change that lost its row to another instance is decided anew before the caller is told to try again. */
const conflictRetries = 5

/** A change of a policy and the answer to keep with it. */
export interface PolicyChange {
  /** The same state where there is nothing to change; then nothing is committed. */
  readonly decide: (current: PolicyState) => PolicyState
  readonly reply: (before: PolicyState, after: PolicyState) => ReplyWrite | undefined
}

/** What merchants accept. */
export class TokenPolicies extends Context.Service<TokenPolicies, {
  /** What a merchant accepts in an environment, at most 2 s old. */
  readonly get: (merchantId: number, environment: Environment) => Effect.Effect<PolicyState>
  /** Commits a change; answers the state it left. Errors: `SERVICE_UNAVAILABLE` after too many lost races. */
  readonly change: (
    merchantId: number,
    environment: Environment,
    cause: CommitCause,
    change: PolicyChange
  ) => Effect.Effect<PolicyState, PublicError | IdempotentReplay>
}>()("tillwire/modules/tokens/TokenPolicies") {
  static readonly layer = Layer.effect(
    TokenPolicies,
    Effect.gen(function*() {
      const actors = yield* Actors
      const commit = yield* Commit
      const repo = yield* makeRepo
      const cache = new Map<string, { readonly state: PolicyState; readonly until: number }>()

      const nameOf = (merchantId: number, environment: Environment) => `${merchantId}:${environment}`

      const remember = Effect.fnUntraced(function*(state: PolicyState) {
        const until = (yield* Clock.currentTimeMillis) + policyCacheMillis
        const name = nameOf(state.merchantId, state.environment)
        // A look-up that was overtaken by a change here must not bring the old policy back.
        if ((cache.get(name)?.state.version ?? 0) > state.version) return
        cache.delete(name)
        if (cache.size >= policyCacheCapacity) cache.delete(cache.keys().next().value!)
        cache.set(name, { state, until })
      })

      const get = Effect.fnUntraced(function*(merchantId: number, environment: Environment) {
        const hit = cache.get(nameOf(merchantId, environment))
        if (hit !== undefined && (yield* Clock.currentTimeMillis) < hit.until) return hit.state
        return yield* Effect.tap(repo.policy(merchantId, environment), remember)
      })

      const change = (
        merchantId: number,
        environment: Environment,
        cause: CommitCause,
        { decide, reply }: PolicyChange
      ) => {
        const once = Effect.gen(function*() {
          const before = yield* repo.policy(merchantId, environment)
          const after = decide(before)
          const replyWrite = reply(before, after)
          if (after === before) return before
          yield* commit.append({
            merchantId,
            environment,
            cause,
            writes: [policyWrite(after)],
            events: [],
            ...(replyWrite === undefined ? {} : { reply: replyWrite })
          })
          yield* remember(after)
          return after
        })
        return actors.send("token-policies", nameOf(merchantId, environment), once).pipe(
          retryConflicts(conflictRetries),
          Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
        )
      }

      return TokenPolicies.of({ get, change })
    })
  )
}
