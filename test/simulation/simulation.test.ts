/**
 * Goal: races that a seed can find are found before a merchant does, and what was found is found again.
 * Method: whole runs in simulated worlds (`World.ts`), 200 seeds of all scenarios together; `npm run simulate` runs more.
 */
import { assert, describe, it } from "@effect/vitest"
import { inject } from "vitest"
import { withDatabase } from "./Databases.ts"
import { nameOf } from "./Faults.ts"
import {
  openStage,
  type Outcome,
  planOf,
  type PlantedBug,
  run,
  type Scenario,
  shrink,
  type Stage
} from "./Simulation.ts"
import { scenarios } from "./scenarios.ts"

/** Seeds within which a planted bug must be found. */
const seedsForPlants = 200

const onStage = <A>(scenario: Scenario, plant: PlantedBug | undefined, use: (stage: Stage) => Promise<A>) =>
  withDatabase(inject("testServer"), scenario, async (address) => {
    const stage = await openStage(scenario, address, plant)
    return use(stage).finally(() => stage.database.close())
  })

const describeOutcome = ({ log, plan, struck, violations }: Outcome) =>
  [
    `seed ${plan.seed}: npm run simulate -- --seeds 1 --from ${plan.seed}`,
    ...violations.map(({ promise, seen }) => `${promise}: ${seen}`),
    ...struck.map(nameOf),
    ...log.slice(-20)
  ].join("\n")

const firstBroken = async (stage: Stage, promise: string): Promise<Outcome | undefined> => {
  for (let seed = 1; seed <= seedsForPlants; seed++) {
    const outcome = await run(stage, planOf(stage.scenario, seed))
    if (outcome.violations.some((violation) => violation.promise === promise)) return outcome
  }
  return undefined
}

for (const scenario of scenarios) {
  describe(`simulation of ${scenario.name}`, () => {
    it(`keeps every promise in ${scenario.seedsInTests} seeds, and repeats a seed step by step`, () =>
      onStage(scenario, undefined, async (stage) => {
        const hashes = new Set<string>()
        for (let seed = 1; seed <= scenario.seedsInTests; seed++) {
          const outcome = await run(stage, planOf(scenario, seed))
          assert.deepStrictEqual(outcome.violations, [], describeOutcome(outcome))
          hashes.add(outcome.hash)
          if (seed % 10 === 0) assert.strictEqual((await run(stage, outcome.plan)).hash, outcome.hash)
        }
        assert.strictEqual(hashes.size, scenario.seedsInTests)
      }))

    for (const plant of scenario.plants) {
      it(`finds the planted bug: ${plant.name}`, () =>
        onStage(scenario, plant, async (stage) => {
          const found = await firstBroken(stage, plant.promise)
          assert.isDefined(found, `not within ${seedsForPlants} seeds`)
        }))
    }
  })
}

describe("a seed that breaks a promise", () => {
  it("is made smaller: fewer faults, and less that is left to chance", () => {
    const scenario = scenarios[0]!
    const plant = scenario.plants[0]!
    return onStage(scenario, plant, async (stage) => {
      const found = await firstBroken(stage, plant.promise)
      const smallest = await shrink(stage, found!)
      assert.isTrue(smallest.violations.some(({ promise }) => promise === plant.promise))
      assert.isBelow(smallest.plan.faults.length, found!.plan.faults.length)
      assert.isBelow(smallest.plan.orderlyFrom, found!.steps)
    })
  })
})
