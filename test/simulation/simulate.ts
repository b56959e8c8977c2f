/**
 * Runs many seeds of the simulation: `npm run simulate -- --seeds 10000`.
 *
 *   --scenario NAME   only this one; default: all
 *   --seeds N         how many; default: 200
 *   --from N          the first seed; default: 1
 *   --plant NAME      with this bug in the service, to see it found
 *   --plants          every planted bug in its turn, and which seed finds it
 *   --twice           each seed twice, to see that it is the same run
 *
 * The first seed of each scenario that breaks a promise is run again and made smaller; the exit code is then 1.
 */
import { Effect, References } from "effect"
import { parseArgs } from "node:util"
import { makeTemplates, startEmbedded } from "../support/globalSetup.ts"
import { withDatabase } from "./Databases.ts"
import { nameOf } from "./Faults.ts"
import { openStage, type Outcome, planOf, run, type Scenario, shrink } from "./Simulation.ts"
import { scenarios } from "./scenarios.ts"

const { values } = parseArgs({
  options: {
    scenario: { type: "string" },
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    plant: { type: "string" },
    plants: { type: "boolean", default: false },
    twice: { type: "boolean", default: false }
  }
})

const report = (outcome: Outcome) => {
  for (const { promise, seen } of outcome.violations) console.log(`  broken: ${promise}\n    ${seen}`)
  console.log(
    `  ${outcome.steps} steps, ${outcome.calls} calls, hash ${outcome.hash}, in order from step ${outcome.plan.orderlyFrom}`
  )
  for (const fault of outcome.struck) console.log(`  fault: ${nameOf(fault)}`)
  for (const line of outcome.log.slice(-20)) console.log(`  log: ${line.slice(0, 300)}`)
}

const isWhole = (text: string | undefined): boolean => /^\d{1,9}$/.test(text ?? "")

const simulate = async (scenario: Scenario, server: Awaited<ReturnType<typeof startEmbedded>>["server"]) => {
  const plant = values.plant === undefined ? undefined : scenario.plants.find(({ name }) => name === values.plant)
  if (values.plant !== undefined && plant === undefined) return true
  return withDatabase(server, scenario, async (address) => {
    const stage = await openStage(scenario, address, plant)
    const first = Number(values.from)
    const count = Number(values.seeds)
    const start = performance.now()
    const hashes = new Set<string>()
    const struck = new Map<string, number>()
    let steps = 0
    let calls = 0
    let failed: Outcome | undefined
    let broken = 0
    for (let seed = first; seed < first + count; seed++) {
      const outcome = await run(stage, planOf(scenario, seed))
      hashes.add(outcome.hash)
      if (values.twice && (await run(stage, outcome.plan)).hash !== outcome.hash) {
        console.log(`seed ${seed} of ${scenario.name} is NOT the same when repeated`)
        process.exitCode = 1
      }
      steps += outcome.steps
      calls += outcome.calls
      for (const { _tag } of outcome.struck) struck.set(_tag, (struck.get(_tag) ?? 0) + 1)
      if (outcome.violations.length > 0) {
        broken++
        const promises = new Set(outcome.violations.map(({ promise }) => promise))
        console.log(`seed ${seed} of ${scenario.name} breaks: ${[...promises].join("; ")}`)
        failed ??= outcome
      }
    }
    const seconds = (performance.now() - start) / 1000
    console.log(
      `${scenario.name}: ${count} seeds, ${(count / seconds).toFixed(1)} a second, ${hashes.size} different runs, `
        + `${Math.round(steps / count)} steps and ${Math.round(calls / count)} calls each, ${broken} broken`
    )
    console.log(`  faults: ${[...struck].map(([name, times]) => `${name} ${times}`).join(", ")}`)
    if (failed !== undefined) {
      console.log(`seed ${failed.plan.seed} of ${scenario.name}:`)
      report(failed)
      const again = await run(stage, failed.plan)
      console.log(
        again.hash === failed.hash ? "  the same again when repeated" : `  NOT the same when repeated: ${again.hash}`
      )
      console.log("  the smallest run that breaks the same promise:")
      report(await shrink(stage, failed))
    }
    await stage.database.close()
    return failed === undefined
  })
}

/** Searches for each planted bug, from the first seed on; whether all were found. */
const findPlants = async (scenario: Scenario, server: Awaited<ReturnType<typeof startEmbedded>>["server"]) => {
  let areFound = true
  for (const plant of scenario.plants) {
    const seed = await withDatabase(server, scenario, async (address) => {
      const stage = await openStage(scenario, address, plant)
      const first = Number(values.from)
      for (let seed = first; seed < first + Number(values.seeds); seed++) {
        const { violations } = await run(stage, planOf(scenario, seed))
        if (violations.some(({ promise }) => promise === plant.promise)) {
          await stage.database.close()
          return seed
        }
      }
      await stage.database.close()
      return null
    })
    areFound &&= seed !== null
    console.log(`${scenario.name}: ${seed === null ? "NOT found" : `seed ${seed} finds`}: ${plant.name}`)
  }
  return areFound
}

const { server, stop } = await startEmbedded()
try {
  await Effect.runPromise(Effect.provideService(makeTemplates(server), References.MinimumLogLevel, "Warn"))
  const chosen = scenarios.filter(({ name }) => values.scenario === undefined || name === values.scenario)
  if (chosen.length === 0) {
    throw new Error(`No scenario is named ${values.scenario}: ${scenarios.map(({ name }) => name).join(", ")}`)
  }
  const plants = chosen.flatMap((scenario) => scenario.plants.map(({ name }) => name))
  if (values.plant !== undefined && !plants.includes(values.plant)) {
    throw new Error(`No planted bug is named ${values.plant}: ${plants.join(", ")}`)
  }
  for (const name of ["seeds", "from"] as const) {
    if (!isWhole(values[name])) throw new Error(`--${name} takes a whole number, not ${values[name]}`)
  }
  for (const scenario of chosen) {
    const isGood = values.plants ? await findPlants(scenario, server) : await simulate(scenario, server)
    if (!isGood) process.exitCode = 1
  }
} finally {
  await stop()
}
