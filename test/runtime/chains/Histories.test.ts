/**
 * Goal: no random history of a chain and of the processes that follow it leaves a journal that is not as the chain is.
 * Method: the short form of `npm run bench -- histories`: a few seeds of each family, on the chains in this process.
 */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runHistory } from "../../conformance/histories.ts"
import { freshDatabase } from "../../support/Database.ts"
import { simulatedChain, triedNetworks } from "../../support/SimulatedChain.ts"

const seeds = [1, 2]
const limitMillis = 60_000

describe("the journal", () => {
  for (const network of triedNetworks) {
    it.live(`is as the chain is after histories of ${network}`, () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        for (const seed of seeds) {
          yield* Effect.scoped(Effect.flatMap(simulatedChain(network), (rig) => runHistory(rig, database, seed)))
        }
      }).pipe(Effect.scoped), limitMillis)
  }
})
