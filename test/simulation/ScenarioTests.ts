/** The tests that every scenario has: its promises hold, a seed repeats, and planted bugs are found. */
import { assert, describe, it } from "@effect/vitest"
import { inject } from "vitest"
import { withDatabase } from "./Databases.ts"
import { nameOf } from "./Faults.ts"
import type { PlantedBug } from "./PlantedBug.ts"
import { openStage, type Outcome, planOf, run, type Scenario, type Stage } from "./Simulation.ts"

/** Seeds within which a planted bug must be found. */
const seedsForPlants = 200

export const onStage = <A>(scenario: Scenario, plant: PlantedBug | undefined, use: (stage: Stage) => Promise<A>) =>
  withDatabase(inject("testServer"), scenario, async (address) => {
    const stage = await openStage(scenario, address, plant)
    return use(stage).finally(() => stage.database.close())
  })

const describeOutcome = ({ log, plan, struck, violations }: Outcome, { name }: Scenario) =>
  [
    `npm run simulate -- --scenario ${name} --seeds 1 --from ${plan.seed}`,
    ...violations.map(({ promise, seen }) => `${promise}: ${seen}`),
    ...struck.map(nameOf),
    ...log.slice(-20)
  ].join("\n")

/** The seed that found it last is tried first: to search costs a minute for some. */
export const firstBroken = async (stage: Stage, { promise, seed: known }: PlantedBug): Promise<Outcome | undefined> => {
  for (const seed of [known, ...Array.from({ length: seedsForPlants }, (_, index) => index + 1)]) {
    if (seed > seedsForPlants) continue
    const outcome = await run(stage, planOf(stage.scenario, seed))
    if (outcome.violations.some((violation) => violation.promise === promise)) return outcome
  }
  return undefined
}

export const describeScenario = (scenario: Scenario) =>
  describe(`simulation of ${scenario.name}`, () => {
    it(`keeps every promise in ${scenario.seedsInTests} seeds, and repeats a seed step by step`, () =>
      onStage(scenario, undefined, async (stage) => {
        const hashes = new Set<string>()
        for (let seed = 1; seed <= scenario.seedsInTests; seed++) {
          const outcome = await run(stage, planOf(scenario, seed))
          assert.deepStrictEqual(outcome.violations, [], describeOutcome(outcome, scenario))
          hashes.add(outcome.hash)
          if (seed % 10 === 0 || seed === scenario.seedsInTests) {
            assert.strictEqual((await run(stage, outcome.plan)).hash, outcome.hash)
          }
        }
        assert.strictEqual(hashes.size, scenario.seedsInTests)
      }))

    for (const plant of scenario.plants.filter(({ isLeftOut }) => isLeftOut !== true)) {
      it(`finds the planted bug: ${plant.name}`, () =>
        onStage(scenario, plant, async (stage) => {
          const found = await firstBroken(stage, plant)
          assert.isDefined(found, `not within ${seedsForPlants} seeds`)
        }))
    }
  })
