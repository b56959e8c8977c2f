/** What goes wrong in a run: a list made before it begins, so that a smaller list can be tried in its place. */
import { drawsOf } from "./Draws.ts"

export type Fault =
  /** The connection of a call breaks; `ran`: after the statement was executed, so that only its answer is lost. */
  | { readonly _tag: "ConnectionLost"; readonly atCall: number; readonly ran: boolean }
  /** A call is only executed, or its answer only comes, after so long. */
  | { readonly _tag: "CallDelayed"; readonly atCall: number; readonly millis: number; readonly ran: boolean }
  /** An instance ends at once, without a word, and another one starts in its place. */
  | { readonly _tag: "InstanceKilled"; readonly atStep: number; readonly place: number; readonly absentMillis: number }
  /** Nothing of an instance runs for so long, as when its machine is paused. */
  | { readonly _tag: "InstanceStalled"; readonly atStep: number; readonly place: number; readonly millis: number }
  /** The time of an instance, or of the database where `place` is null, is set forward or back. */
  | {
    readonly _tag: "ClockStepped"
    readonly atStep: number
    readonly place: number | null
    readonly millis: number
  }
  /** Whatever else a scenario knows to go wrong, by its number: a chain that is reorganised, a receiver that is down. */
  | { readonly _tag: "Disturbance"; readonly atStep: number; readonly number: number }

/** How many faults of each kind a run has at most, and in how many calls and steps they fall. */
export interface FaultBudget {
  readonly calls: number
  readonly steps: number
  readonly connectionsLost: number
  readonly callsDelayed: number
  readonly instancesKilled: number
  readonly instancesStalled: number
  readonly clocksStepped: number
  /** Milliseconds: the database's clock is set by no more than this. */
  readonly longestClockStep: number
  readonly disturbances: number
}

/** Milliseconds: some are shorter than what the service waits for, and some are longer. */
const pauses = [40, 400, 3_000, 8_000, 40_000]
const clockSteps = [-30_000, -2_000, 2_000, 30_000]
/** The database's time decides nothing that a payor waits for, so it may be off by as much as anybody's. */
const databaseSteps = [-3_600_000, ...clockSteps, 3_600_000]

/** The faults of a seed in a world of so many instances. */
export const faultsOf = (seed: number, budget: FaultBudget, instances: number): ReadonlyArray<Fault> => {
  const draws = drawsOf(seed, "faults")
  const some = <A>(most: number, make: () => A): ReadonlyArray<A> => {
    const count = draws.below(most + 1)
    return Array.from({ length: count }, make)
  }
  const atCall = () => draws.below(budget.calls)
  const atStep = () => draws.below(budget.steps)
  const place = () => draws.below(instances)
  return [
    ...some(budget.connectionsLost, (): Fault => ({
      _tag: "ConnectionLost",
      atCall: atCall(),
      ran: draws.happens(0.5)
    })),
    ...some(budget.callsDelayed, (): Fault => ({
      _tag: "CallDelayed",
      atCall: atCall(),
      millis: draws.oneOf(pauses),
      ran: draws.happens(0.5)
    })),
    ...some(budget.instancesKilled, (): Fault => ({
      _tag: "InstanceKilled",
      atStep: atStep(),
      place: place(),
      absentMillis: draws.oneOf(pauses)
    })),
    ...some(budget.instancesStalled, (): Fault => ({
      _tag: "InstanceStalled",
      atStep: atStep(),
      place: place(),
      millis: draws.oneOf(pauses)
    })),
    ...some(budget.clocksStepped, (): Fault =>
      draws.happens(0.5)
        ? {
          _tag: "ClockStepped",
          atStep: atStep(),
          place: null,
          millis: draws.oneOf(databaseSteps.filter((millis) => Math.abs(millis) <= budget.longestClockStep))
        }
        : { _tag: "ClockStepped", atStep: atStep(), place: place(), millis: draws.oneOf(clockSteps) }),
    ...some(budget.disturbances, (): Fault => ({
      _tag: "Disturbance",
      atStep: atStep(),
      number: draws.below(1_000_000)
    }))
  ]
}

/** A fault as a report names it. */
export const nameOf = (fault: Fault): string => {
  const { _tag, ...facts } = fault
  return `${_tag} ${JSON.stringify(facts)}`
}
