/**
 * Goal: what a person reads of a failure is what it takes and no more.
 * Method: a planted bug, the run that finds it, and the smaller one that still does.
 */
import { assert, describe, it } from "@effect/vitest"
import { commits } from "./scenarios/commits.ts"
import { firstBroken, onStage } from "./ScenarioTests.ts"
import { shrink } from "./Simulation.ts"

describe("a seed that breaks a promise", () => {
  it("is made smaller: fewer faults, and less that is left to chance", () => {
    const plant = commits.plants.find(({ name }) => name === "versions are not compared")!
    return onStage(commits, plant, async (stage) => {
      const found = await firstBroken(stage, plant)
      const smallest = await shrink(stage, found!)
      assert.isTrue(smallest.violations.some(({ promise }) => promise === plant.promise))
      assert.isBelow(smallest.plan.faults.length, found!.plan.faults.length)
      assert.isBelow(smallest.plan.orderlyFrom, found!.steps)
    })
  })
})
