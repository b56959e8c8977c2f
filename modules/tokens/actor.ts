/** Load, decide, commit: how a merchant's acceptance policy changes, and where everyone else reads it. */
import { Cache, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { keepSuccess } from "../../runtime/Cache.ts"
import { Commit, type CommitCause, decideAnew, type IdempotentReplay, type ReplyWrite } from "../../runtime/Commit.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import { policyActOf, type PolicyState } from "./rules.ts"
import { makeRepo, policyWrite } from "./repo.ts"

/** Milliseconds for which a policy is not read again: another instance's change is heeded within them. */
export const policyCacheMillis = 2_000

/** Policies remembered at once of an environment; the one that was not asked for the longest is forgotten first. */
const policyCacheCapacity = 5_000

/** How often a change that lost its row to another instance is decided anew before the caller is told to try again. */
const conflictRetries = 5

/** A change of a policy and the answer to keep with it. */
export interface PolicyChange {
  /** The credential, as the audit log names it. */
  readonly actor: string
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
      const auditLog = yield* AuditLog
      const commit = yield* Commit
      const repo = yield* makeRepo
      const cacheOf = (environment: Environment) =>
        Cache.makeWith((merchantId: number) => repo.policy(merchantId, environment), {
          capacity: policyCacheCapacity,
          timeToLive: keepSuccess(policyCacheMillis)
        })
      const caches = { devnet: yield* cacheOf("devnet"), mainnet: yield* cacheOf("mainnet") }

      const get = (merchantId: number, environment: Environment) => Cache.get(caches[environment], merchantId)

      const change = (
        merchantId: number,
        environment: Environment,
        cause: CommitCause,
        { actor, decide, reply }: PolicyChange
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
            writes: [
              policyWrite(after),
              ...yield* auditLog.writesOf(policyActOf(before, after, actor, cause.requestId))
            ],
            events: [],
            reply: replyWrite
          })
          // A look-up under way may have read the policy before it changed: the cache drops that one too.
          yield* Cache.invalidate(caches[environment], merchantId)
          return after
        })
        return actors.send("token-policies", `${merchantId}:${environment}`, once).pipe(
          decideAnew(conflictRetries)
        )
      }

      return TokenPolicies.of({ get, change })
    })
  )
}
