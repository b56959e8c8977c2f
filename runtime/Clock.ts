/** The times the service goes by, read from Effect's clock so that tests can replace it. */
import { Clock, Context, Effect } from "effect"

/**
 * Milliseconds of a clock that no correction of the system's time moves, and that runs on while the process is stopped:
 * for durations, never for dates.
 */
export const monotonicMillis: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / 1e6
)

/**
 * The clock of the machine: for limits on a real database, which are in real time whatever clock the rest of the
 * service runs under.
 */
export const MachineClock: Context.Reference<Clock.Clock> = Context.Reference<Clock.Clock>(
  "tillwire/runtime/MachineClock",
  { defaultValue: () => Clock.Clock.defaultValue() }
)

/** Timers outside of Effect: the time limit that every request has is too frequent for a fiber each. */
export interface ProcessTimersShape {
  /** The milliseconds of {@link monotonicMillis}. */
  readonly millis: () => number
  /** Calls `run` once after `millis` milliseconds. A timer that waits does not keep the process alive. */
  readonly after: (millis: number, run: () => void) => void
}

/** The timers of Node. */
export const systemTimers: ProcessTimersShape = {
  millis: () => performance.now(),
  after: (millis, run) => void setTimeout(run, millis).unref()
}

/** Node's timers, except in a simulation: there the machine's time would change what happens from run to run. */
export const ProcessTimers: Context.Reference<ProcessTimersShape> = Context.Reference<ProcessTimersShape>(
  "tillwire/runtime/ProcessTimers",
  { defaultValue: () => systemTimers }
)

/** Reads {@link monotonicMillis} of the machine's clock. */
export const machineMillis: Effect.Effect<() => number> = Effect.map(
  MachineClock,
  (clock) => () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
)

/** The time in whole seconds since 1970, as rows and the wire carry it: a second that has begun does not count yet. */
export const nowSeconds: Effect.Effect<number> = Effect.map(
  Clock.currentTimeMillis,
  (millis) => Math.floor(millis / 1000)
)
