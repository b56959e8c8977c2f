/**
 * The system's clock with shorter sleeps, for tests of `runtime/chains` only, whose pauses it knows by their length: a
 * sleep of at most 2 s, and the doubled pauses after failures, are divided by 20. Longer sleeps, which are the limits
 * of calls to nodes and to the database, stay as they are, and so does the time itself.
 */
import { Clock, Duration } from "effect"

/**
 * Pauses of work that repeats are no longer than this, and limits of calls are longer. One exception: the limit of the
 * renewal of a lease is shorter, so it is divided too. The renewal is tried again for as long as the lease lasts.
 */
const longestPauseMillis = 2_000

/** The doubled pauses after failures that are longer than that. No limit of a call has one of these lengths. */
const failurePauses: ReadonlySet<number> = new Set([4_000, 8_000, 16_000, 32_000])

/** No pause becomes shorter than this, so that repeated work costs little. */
const shortestPauseMillis = 20
const divisor = 20

const shorten = (duration: Duration.Duration): Duration.Duration => {
  const millis = Duration.toMillis(duration)
  const isPause = millis <= longestPauseMillis || failurePauses.has(millis)
  return isPause && millis > shortestPauseMillis
    ? Duration.millis(Math.max(shortestPauseMillis, millis / divisor))
    : duration
}

/** A clock as `base`, with shorter sleeps. */
export const withQuickPauses = (base: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => base.currentTimeMillisUnsafe(),
  currentTimeMillis: base.currentTimeMillis,
  currentTimeNanosUnsafe: () => base.currentTimeNanosUnsafe(),
  currentTimeNanos: base.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: base.monotonicTimeNanos,
  sleep: (duration) => base.sleep(shorten(duration))
})
