/** Runs of a scenario: one seed, many of them, the same one again, and the smallest one that still fails. */
import { type Fault, type FaultBudget, faultsOf } from "./Faults.ts"
import type { PlantedBug } from "./PlantedBug.ts"
import { type DatabaseAddress, SimulatedDatabase } from "./SimulatedDatabase.ts"
import { type Plan, StandstillError, World } from "./World.ts"

/** A promise that a run broke: its name in the scenario's list, and what was seen. */
export interface Violation {
  readonly promise: string
  readonly seen: string
}

/** Instances, those who use them, and the promises that must hold afterwards. */
export interface Scenario {
  readonly name: string
  readonly instances: number
  readonly faults: FaultBudget
  /** How many seeds the tests run. */
  readonly seedsInTests: number
  /** Which template its database is made of. */
  readonly template: "runtime" | "all"
  /** Statements on the new database, before any run. */
  readonly prepare: ReadonlyArray<string>
  readonly plants: ReadonlyArray<PlantedBug>
  readonly run: (
    world: World,
    database: SimulatedDatabase,
    plant: PlantedBug | undefined
  ) => Promise<ReadonlyArray<Violation>>
}

export interface Outcome {
  readonly plan: Plan
  readonly violations: ReadonlyArray<Violation>
  /** Of every step and every row: equal for equal runs. */
  readonly hash: string
  readonly steps: number
  readonly calls: number
  readonly struck: ReadonlyArray<Fault>
  readonly log: ReadonlyArray<string>
}

export const planOf = (scenario: Scenario, seed: number): Plan => ({
  seed,
  faults: faultsOf(seed, scenario.faults, scenario.instances),
  orderlyFrom: Infinity
})

/** A scenario on a database of its own, that a planted bug may live in. */
export interface Stage {
  readonly scenario: Scenario
  readonly database: SimulatedDatabase
  readonly plant: PlantedBug | undefined
}

export const openStage = async (
  scenario: Scenario,
  address: DatabaseAddress,
  plant?: PlantedBug
): Promise<Stage> => {
  const database = await SimulatedDatabase.open(address, scenario.prepare, plant)
  const stage = { scenario, database, plant }
  // The first start on a database makes functions in it that all others find.
  await run(stage, { seed: 0, faults: [], orderlyFrom: 0 })
  return stage
}

/** One run. */
export const run = async ({ database, plant, scenario }: Stage, plan: Plan): Promise<Outcome> => {
  await database.clear()
  const world = new World(plan)
  const violations = await scenario.run(world, database, plant).catch((error: unknown) => {
    if (error instanceof StandstillError) return [{ promise: "the run comes to its end", seen: error.message }]
    throw error
  })
  return {
    plan,
    violations,
    hash: world.hash(),
    steps: world.steps,
    calls: world.calls,
    struck: world.struck,
    log: world.log
  }
}

/** How many tries a search for a smaller run may take. */
const maximumTries = 120

/**
 * The smallest run found that breaks the same promise as `failed`: without the faults that it does not need, and with
 * as few steps left to chance as it takes.
 */
export const shrink = async (stage: Stage, failed: Outcome): Promise<Outcome> => {
  const promises = new Set(failed.violations.map(({ promise }) => promise))
  let best = failed
  let tries = 0
  const attempt = async (plan: Plan): Promise<boolean> => {
    if (tries++ >= maximumTries) return false
    const outcome = await run(stage, plan)
    if (!outcome.violations.some(({ promise }) => promises.has(promise))) return false
    best = outcome
    return true
  }
  // Faults that did not happen first, all at once; then half of the others, a quarter, down to single ones.
  await attempt({ ...best.plan, faults: best.struck })
  for (let size = Math.ceil(best.plan.faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < best.plan.faults.length;) {
      const faults = best.plan.faults.toSpliced(start, size)
      if (!await attempt({ ...best.plan, faults })) start += size
    }
  }
  let low = 0
  let high = best.steps
  while (high - low > 1) {
    const orderlyFrom = Math.floor((low + high) / 2)
    if (await attempt({ ...best.plan, orderlyFrom })) high = orderlyFrom
    else low = orderlyFrom
  }
  return best
}
