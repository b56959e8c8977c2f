/**
 * Goal: no random history of a chain and of the processes that follow it leaves a journal that is not as the chain is.
 * Method: the short form of `npm run bench -- histories`: a few seeds of each family, side by side.
 */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runHistory } from "../../conformance/histories.ts"
import { freshDatabase } from "../../support/Database.ts"
import { testedChains } from "../../support/TestedChains.ts"

const seeds = [1, 2]
const limitMillis = 60_000

describe.concurrent("the journal", () => {
  for (const [name, chain] of Object.entries(testedChains)) {
    it.live(`is as the chain is after histories of ${name}`, () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        for (const seed of seeds) {
          yield* Effect.scoped(Effect.flatMap(chain, (rig) => runHistory(rig, database, seed)))
        }
      }).pipe(Effect.scoped), limitMillis)
  }
})
