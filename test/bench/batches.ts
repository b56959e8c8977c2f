/**
 * Histories of batches at length: two processes on one database, killed in the middle of what they do, a chain that
 * reorganises and endpoints that lie; the short form is `test/journeys/batchHistories.long.test.ts`.
 */
import { Cause, Effect, References } from "effect"
import { batchHistory } from "../support/batches/BatchHistory.ts"
import { type BatchWorld, cardanoWorld, evmWorld, solanaWorld, suiWorld, tonWorld } from "../support/batches/Worlds.ts"
import { buildBundle } from "../support/BuiltService.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine } from "./Report.ts"

const instances = 2
const steps = 45

/** Of six histories one has two kills and two have one: a start takes as much processor time as a whole history. */
const killsAt = (place: number): number => [1, 0, 2, 0, 1, 0][place % 6]!

/** Of what the processes say why they could not look for batches, so many lines are shown. */
const shownWarnings = 5

/** Histories of one world: each moves its clock on, and an export is valid for seven days at most. */
const historiesOfWorld = 100

const worlds: Readonly<Record<string, typeof evmWorld>> = {
  batches_evm: evmWorld,
  batches_solana: solanaWorld,
  batches_ton: tonWorld,
  batches_sui: suiWorld,
  batches_cardano: cardanoWorld
}

export const batchFamilies: ReadonlyArray<string> = Object.keys(worlds)

const runFamily = Effect.fnUntraced(function*(bench: Bench, name: string, open: typeof evmWorld) {
  // It starts in half the processor time that the sources take, and is killed and started often.
  const program = yield* Effect.promise(buildBundle)
  const { histories, progress, seed: first } = bench
  const started = performance.now()
  const totals = { wrong: 0, steps: 0, kills: 0, transfers: 0, second: 0, exports: 0 }
  const answers = new Map<string, number>()
  const runOne = Effect.fnUntraced(function*({ chain, deployment }: BatchWorld, place: number) {
    const seed = (first + place) % 2 ** 31
    const history = batchHistory(deployment, chain, { seed, steps, kills: killsAt(place) })
    const outcome = yield* Effect.exit(Effect.provideService(history, References.MinimumLogLevel, "None"))
    const faults = outcome._tag === "Success" ? outcome.value.faults : [Cause.pretty(outcome.cause)]
    if (outcome._tag === "Success") {
      const { value } = outcome
      totals.steps += value.steps.length
      totals.kills += value.kills
      totals.transfers += value.transfers
      totals.second += value.second
      totals.exports += value.exports
      for (const [what, count] of value.answers) answers.set(what, (answers.get(what) ?? 0) + count)
    }
    if (faults.length === 0) return
    totals.wrong++
    progress(`${name}: the history of seed ${seed} (${killsAt(place)} kills) went wrong:`)
    faults.forEach(progress)
    deployment.warnings().slice(-shownWarnings).forEach(progress)
    if (outcome._tag === "Success") progress(outcome.value.steps.join(" "))
  })
  for (let from = 0; from < histories; from += historiesOfWorld) {
    yield* Effect.scoped(Effect.gen(function*() {
      const database = `histories_${name}_${from}`
      yield* createDatabase(bench.server, database)
      const query = (text: string) =>
        onDatabase(bench.server, database, async (client) => (await client.query(text)).rows)
      const world = yield* open({ url: urlOf(bench.server, database), query }, instances, program)
      for (let place = from; place < Math.min(histories, from + historiesOfWorld); place++) {
        yield* runOne(world, place)
      }
    }))
  }
  for (const [what, count] of [...answers].toSorted()) progress(`${name}: ${count} × ${what}`)
  const seconds = (performance.now() - started) / 1000
  const line: ReportLine = {
    section: "histories",
    what: name,
    value: totals.wrong,
    unit: `wrong of ${histories}`,
    goal: { atMost: 0 },
    note: `${seconds.toFixed(0)} s, ${totals.steps} steps, ${totals.kills} kills, ${totals.exports} exports, ` +
      `${totals.transfers} transfers, ${totals.second} of them a second time, first seed ${first}`
  }
  progress(`${name}: ${line.value} ${line.unit}, ${line.note}`)
  return line
})

/** Those of the family that is asked for; `batches` is all of them. */
export const batchHistories = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.forEach(
    Object.entries(worlds).filter(([name]) =>
      bench.family === undefined || bench.family === "batches" || bench.family === name
    ),
    ([name, open]) => runFamily(bench, name, open)
  )
