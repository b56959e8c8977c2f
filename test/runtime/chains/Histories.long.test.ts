/**
 * Goal: no random history of a chain and of the processes that follow it leaves a journal that is not as the chain is.
 * Method: the short form of `npm run bench -- histories`: one history of each family, side by side.
 */
import { describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { runHistory } from "../../conformance/histories.ts"
import { freshDatabase } from "../../support/Database.ts"
import { testedChains } from "../../support/TestedChains.ts"

const seed = 1

describe.concurrent("the journal", () => {
  for (const [name, chain] of Object.entries(testedChains)) {
    it.live(`is as the chain is after histories of ${name}`, () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        yield* Effect.flatMap(chain, (rig) => runHistory(rig, database, seed))
        // What goes wrong on purpose is in the logs of each second of a history.
      }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Fatal")))
  }
})
