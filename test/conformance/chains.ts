/**
 * Goal: a follower may trust any chain driver the same way.
 * Method: each driver's test gives a rig, a chain it can make things happen on, which says what its chain can do; every
 * rule of `ChainDriver.follow` and of its history is tried on a chain of its own.
 */
import { describe } from "@effect/vitest"
import type { Effect, Scope } from "effect"
import { balanceRules } from "./chains/BalanceRules.ts"
import { followingRules } from "./chains/FollowingRules.ts"
import { historyRules } from "./chains/HistoryRules.ts"
import { paymentRules } from "./chains/PaymentRules.ts"
import { reorganisationRules } from "./chains/ReorganisationRules.ts"
import { rulesOn } from "./chains/Rule.ts"
import type { TestedChain } from "./chains/TestedChain.ts"

export type { MinedTransaction, TestedChain } from "./chains/TestedChain.ts"

/** Runs the suite; `rig` is made anew for every test. `limitMillis`: of one test. */
export const chainConformance = (
  name: string,
  rig: Effect.Effect<TestedChain, never, Scope.Scope>,
  limitMillis = 30_000
): void => {
  describe(`chain driver ${name}`, () => {
    const rule = rulesOn(rig, limitMillis)
    followingRules(rule)
    paymentRules(rule)
    historyRules(rule)
    reorganisationRules(rule)
    balanceRules(rule)
  })
}
