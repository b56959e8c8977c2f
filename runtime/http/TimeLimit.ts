/**
 * No request waits for ever: what hangs on a database that accepts and never answers is refused in time, and while it
 * hangs the next requests are refused sooner.
 */

/** Longest a route may take: above every wait of its own (a first request under way 5 s, a commit 5 s). */
export const requestLimitMillis = 9_000

/** The limit from the first request that met {@link requestLimitMillis} until one is answered again. */
export const suspiciousLimitMillis = 2_500

/** How long routes may take; starts with the long limit. */
export interface TimeLimits {
  readonly usualMillis: number
  readonly suspiciousMillis: number
}

export interface TimeLimit {
  /** Calls `onLate` once, when a route that starts now has taken too long. {@link TimeLimit.stop} takes it back. */
  readonly start: (onLate: () => void) => NodeJS.Timeout
  /** A route ended in time, with a status, or null where it was not answered. */
  readonly stop: (timer: NodeJS.Timeout, status: number | null) => void
}

/** The limit of one router. It runs on timers and no fiber, because every request has one. */
export const make = ({ suspiciousMillis, usualMillis }: TimeLimits = {
  usualMillis: requestLimitMillis,
  suspiciousMillis: suspiciousLimitMillis
}): TimeLimit => {
  let limitMillis = usualMillis
  return {
    start: (onLate) =>
      setTimeout(() => {
        limitMillis = suspiciousMillis
        onLate()
      }, limitMillis),
    stop: (timer, status) => {
      clearTimeout(timer)
      if (status !== null && status < 300) limitMillis = usualMillis
    }
  }
}
