/**
 * Histories of money at length: two processes on one database, one of which is killed in the middle of each; the short
 * form is `test/journeys/money.long.test.ts`.
 */
import { Cause, Effect, References } from "effect"
import { twoProcesses } from "../support/money/Deployments.ts"
import { moneyHistory } from "../support/money/History.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine } from "./Report.ts"

const database = "histories_money"

/** Rounds of a history, those in whose middle an instance is killed, and callers that decide at once. */
const rounds = 80
const kills = 2
const callers = 100

/** A history of two processes and two kills takes as long as so many of a chain. */
const slowness = 6

export const moneyHistories = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const { progress, seed: first, server } = bench
    yield* createDatabase(server, database)
    const query = (text: string) => onDatabase(server, database, async (client) => (await client.query(text)).rows)
    const { deployment, errors } = yield* twoProcesses(urlOf(server, database), query)
    const count = Math.ceil(bench.histories / slowness)
    const started = performance.now()
    const totals = { wrong: 0, transfers: 0, steps: 0 }
    for (let place = 0; place < count; place++) {
      const seed = (first + place) % 2 ** 31
      const history = moneyHistory(deployment, { seed, rounds, kills, callers })
      const outcome = yield* Effect.exit(Effect.provideService(history, References.MinimumLogLevel, "None"))
      const faults = outcome._tag === "Success" ? outcome.value.faults : [Cause.pretty(outcome.cause)]
      if (outcome._tag === "Success") {
        totals.transfers += outcome.value.transfers
        totals.steps += outcome.value.steps.length
      }
      if (faults.length === 0) continue
      totals.wrong++
      progress(`money: the history of seed ${seed} went wrong:`)
      faults.forEach(progress)
      if (outcome._tag === "Success") progress(outcome.value.steps.join(" "))
    }
    // Money without an invoice is an error for operators, and there is some in every history.
    errors().filter((line) => !line.includes("belongs to no invoice")).forEach(progress)
    const seconds = (performance.now() - started) / 1000
    return [{
      section: "histories",
      what: "money",
      value: totals.wrong,
      unit: `wrong of ${count}`,
      goal: { atMost: 0 },
      note: `${seconds.toFixed(0)} s, ${totals.steps} steps, ${totals.transfers} transfers, ${count * kills} kills, ` +
        `first seed ${first}`
    }]
  }))
