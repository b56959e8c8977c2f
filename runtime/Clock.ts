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

/** Timers that run on no fiber: for what every request has. */
export interface ProcessTimersShape {
  /** Milliseconds as of {@link monotonicMillis}. */
  readonly millis: () => number
  /** Calls `run` once when so many milliseconds have passed. It keeps no process alive. */
  readonly after: (millis: number, run: () => void) => void
}

/** Of the machine. */
export const systemTimers: ProcessTimersShape = {
  millis: () => performance.now(),
  after: (millis, run) => void setTimeout(run, millis).unref()
}

/** Of the process, unless a simulation repeats a run: there the time of the machine would decide what happens in it. */
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
