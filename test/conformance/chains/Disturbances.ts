/** Ways in which the nodes of a chain go wrong for a while, for rigs to claim and for histories to try. */
import { Effect } from "effect"

/** What a node does wrong from `begin` to `end`; the next that begins takes the place of the one before. */
export interface Disturbance {
  readonly name:
    /** It shows no block that came since, or is some blocks behind. */
    | "lag"
    /** It shows new blocks, and what happened in them later. */
    | "index_lag"
    /** Every second answer is that of a backend which is behind. */
    | "turns"
    /** What it tells, it tells twice. */
    | "duplicates"
    /** It leaves out things that it tells of later. */
    | "holes"
    /** Connections end in the middle of an answer. */
    | "cut"
    /** Calls are refused, all of them or every second. */
    | "errors"
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
}

/** Disturbances of a node that is told what to do wrong, or nothing (null). */
export const disturbancesOf = <A>(
  set: (fault: A | null) => void,
  faults: Partial<Readonly<Record<Disturbance["name"], () => A>>>
): ReadonlyArray<Disturbance> =>
  Object.entries(faults).map(([name, faultOf]) => ({
    name: name as Disturbance["name"],
    begin: Effect.sync(() => set(faultOf())),
    end: Effect.sync(() => set(null))
  }))

/** Which of two calls is refused, or answered by another backend: the second, the fourth and so on. */
export const everySecond = (): () => boolean => {
  let count = 0
  return () => ++count % 2 === 0
}
