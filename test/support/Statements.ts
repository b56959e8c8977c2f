/** The statements that a service sends for one answer, told from those of its timers, and how they were run. */
import { Effect } from "effect"
import { type ExecutedPlan, nodesOf, type PlanRecorder } from "./PlanRecorder.ts"

/** A statement on one line, whatever its parameters. */
export const nameOf = ({ text }: Pick<ExecutedPlan, "text">): string => text.replaceAll(/\s+/g, " ").trim()

export interface AskedStatement {
  readonly name: string
  /** Times in one answer. */
  readonly count: number
  readonly plans: ReadonlyArray<ExecutedPlan>
}

/** Answers that are compared. Timers come between some of them, and with none of them twice in a row as often. */
const answers = 7

/** A server sends the notice of a statement with its end, a reader sees it a moment later. */
const settleMillis = 40

/** The statements of an answer: those that each of a few equal ones sent, as often as the one with the fewest of them. */
export const statementsOf = Effect.fnUntraced(function*(recorder: PlanRecorder, answer: Effect.Effect<unknown>) {
  // What is read once a minute, or kept for a while, is no part of it.
  yield* answer
  yield* Effect.sleep(settleMillis)
  const seen: Array<ReadonlyArray<ExecutedPlan>> = []
  for (let n = 0; n < answers; n++) {
    yield* recorder.take
    yield* answer
    yield* Effect.sleep(settleMillis)
    seen.push(yield* recorder.take)
  }
  return [...Map.groupBy(seen.flat(), nameOf)].flatMap(([name, plans]): ReadonlyArray<AskedStatement> => {
    const count = Math.min(...seen.map((each) => each.filter((plan) => nameOf(plan) === name).length))
    return count === 0 ? [] : [{ name, count, plans }]
  })
})

/** Tables that a plan reads as a whole, but for those named, with the statement that does. */
export const wholeReads = (
  plans: ReadonlyArray<ExecutedPlan>,
  except: ReadonlySet<string>
): ReadonlyArray<string> =>
  plans.flatMap((executed) =>
    nodesOf(executed.plan)
      .filter((node) => node["Node Type"] === "Seq Scan" && !except.has(node["Relation Name"] ?? ""))
      .map((node) => `${node["Relation Name"]} is read as a whole by ${nameOf(executed)}`)
  )
