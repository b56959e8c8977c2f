/** One simulated chain that runs: acts change its state, and whoever waits for news of it is woken. */
import { Deferred, Duration, Effect, Option, Ref } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { ChainPoint } from "../../../runtime/Chains.ts"
import { type ChainAct, type ChainRules, type ChainState, emptyChain, step } from "./ChainState.ts"

/** How long an act waits for the follower that fixes where the chain goes on. */
const adoptionMillis = 5_000

/** The chain at a moment. */
export interface ChainView {
  readonly state: ChainState
  /** Done at the next act. */
  readonly changed: Deferred.Deferred<void>
}

/** Waits for the next act on the chain, at most so long; answers whether there was one. */
export const awaitChange = ({ changed }: ChainView, longest: Duration.Duration): Effect.Effect<boolean> =>
  Effect.map(Effect.timeoutOption(Deferred.await(changed), longest), Option.isSome)

export interface Chain {
  /**
   * Goes on above what a follower has stored (null: nothing), if this process knows less. Answers the chain as it is
   * before anyone may add to it, with at least one block.
   */
  readonly adopt: (stored: ChainPoint | null) => Effect.Effect<ChainView>
  readonly state: Effect.Effect<ChainState>
  readonly act: (act: ChainAct) => Effect.Effect<void>
}

export const makeChain = Effect.fnUntraced(function*(rules: ChainRules) {
  const adoption = yield* Deferred.make<void>()
  const view = yield* Ref.make<ChainView>({ state: emptyChain, changed: yield* Deferred.make<void>() })
  const chain: Chain = {
    adopt: Effect.fnUntraced(function*(stored) {
      const now = yield* nowSeconds
      const adopted = yield* Ref.updateAndGet(view, ({ changed, state }) => ({
        changed,
        state: step(rules, state, { _tag: "Adopt", stored }, now)
      }))
      yield* Deferred.succeed(adoption, undefined)
      return adopted
    }),
    state: Effect.map(Ref.get(view), ({ state }) => state),
    act: Effect.fnUntraced(function*(act) {
      yield* Effect.timeoutOption(Deferred.await(adoption), adoptionMillis)
      const now = yield* nowSeconds
      const next = yield* Deferred.make<void>()
      const before = yield* Ref.getAndUpdate(view, ({ state }) => ({
        changed: next,
        state: step(rules, state, act, now)
      }))
      yield* Deferred.succeed(before.changed, undefined)
    })
  }
  return chain
})
