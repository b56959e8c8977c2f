/**
 * Whose fault it is when something of ours that many receivers share, the resolver or the proxy, says nothing useful:
 * ours while it serves nobody, the receiver's while it serves others. Else one name that never resolves would be tried
 * for three days at no cost to its owner, and hold a place meanwhile.
 */
import { Clock, Effect } from "effect"

/** How long one good answer speaks for it: 60 s, in which several retries of our own faults, 5 s apart, fit. */
export const successMillis = 60_000

/** Remembers when the shared thing last worked. */
export interface SuccessTracker {
  readonly recordSuccess: Effect.Effect<void>
  /** Whether it worked within {@link successMillis}. */
  readonly isWorking: Effect.Effect<boolean>
}

/** One that has seen nothing yet. */
export const makeSuccessTracker = (): SuccessTracker => {
  let workedAt = Number.NEGATIVE_INFINITY
  return {
    recordSuccess: Effect.map(Clock.currentTimeMillis, (now) => {
      workedAt = now
    }),
    isWorking: Effect.map(Clock.currentTimeMillis, (now) => now - workedAt < successMillis)
  }
}
