/** How a rule of the conformance suite becomes a test of one driver. */
import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { ChainDriver } from "../../../runtime/Chains.ts"
import { empty, followUntil, type Journal, watchOf } from "./Journal.ts"
import { hasAll, type TestedChain, type With } from "./TestedChain.ts"

/**
 * Makes a test of a rule: `needs` names what the rig's chain must be able to do, and `isApplicable` says for which
 * drivers the rule holds. A test that cannot run is reported as skipped.
 */
export type DefineRule = <Needs extends Array<keyof TestedChain>>(
  title: string,
  needs: Needs,
  work: (rig: With<Needs[number]>, start: Journal) => Effect.Effect<void, unknown, Scope.Scope>,
  isApplicable?: (driver: ChainDriver) => boolean
) => void

/** Rules that are tried on a chain of their own each, `rig`, in so many milliseconds. */
export const rulesOn =
  (rig: Effect.Effect<TestedChain, never, Scope.Scope>, limitMillis: number): DefineRule =>
  (title, needs, work, isApplicable = () =>
    true) =>
    it(title, (test) =>
      Effect.gen(function*() {
        const chain = yield* rig
        if (!hasAll(chain, needs) || !isApplicable(chain.driver)) return false
        const start = yield* followUntil(chain.driver, empty, watchOf(chain, []), ({ points }) => points.length === 1)
        yield* work(chain, start)
        return true
      }).pipe(Effect.scoped, Effect.runPromise).then((isPossible) =>
        test.skip(!isPossible, "its chain cannot do that")
      ), limitMillis)
