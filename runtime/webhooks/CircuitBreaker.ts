/**
 * What attempts say of an endpoint, beyond their deliveries: its health, whether its breaker opens for a while, and
 * whether it is switched off. Pure; times are epoch milliseconds of the database, which all instances share.
 *
 *   closed --70 % of 10 attempts in 5 min failed, or 5 timeouts in a row--> open for 30 s
 *   open --time is up: the oldest delivery is the one probe--> failed: open for twice as long, up to 15 min
 *                                                          --> succeeded: closed, judged by what comes from now on
 *
 * The rules in words: modules/docs/reference/webhooks.md#an-endpoint-that-fails.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"

/** Attempts in {@link windowMillis} below which their share of failures says nothing. */
export const minimumAttempts = 10

/** Failures among 100 attempts from which the breaker opens. */
export const failingPercent = 70

/** Attempts older than this say nothing: 5 min. */
export const windowMillis = 300_000

/** Timeouts in a row that open the breaker by themselves. */
export const timeoutsInARow = 5

/** How long the breaker is open at first, and at most: 30 s, doubled with each failed probe, up to 15 min. */
export const firstOpenMillis = 30_000
export const longestOpenMillis = 900_000

/** An endpoint that only failed for this long, 5 days, and so many events is switched off. */
export const disableAfterMillis = 5 * 86_400_000
export const minimumFailedEvents = 20

/** An endpoint's health as its row holds it. */
export interface EndpointHealth {
  /** `unknown` until the first attempt; then as the last one was. */
  readonly state: "unknown" | "healthy" | "failing"
  /** Attempts that failed since the last success. */
  readonly consecutiveFailures: number
  /** When the first of them ended; null while there is none. */
  readonly failingSinceMillis: number | null
  /** Until when nothing is sent; null while the breaker is closed. In the past: the next delivery is a probe. */
  readonly openUntilMillis: number | null
  /** Times it opened since it was closed. */
  readonly openings: number
  /** Attempts before this say nothing of the breaker: it was closed then. */
  readonly countedFromMillis: number
}

/** What was just learnt, and what the database remembers. */
export interface AttemptStatistics {
  /** The attempts that ended, oldest first: at least one. */
  readonly outcomes: ReadonlyArray<AttemptOutcome>
  /** Attempts and failures in the window since the breaker closed, the ones above among them; 1,000 at most. */
  readonly attempts: number
  readonly failures: number
  /** Timeouts among the newest five of them. */
  readonly timeouts: number
  /** Events that failed since `failingSinceMillis`; 0 while that is not long enough ago. */
  readonly failedEvents: number
  readonly nowMillis: number
}

/** The endpoint's health as it is now, and whether its endpoint has to be switched off for failing. */
export interface HealthUpdate {
  readonly health: EndpointHealth
  readonly disable: boolean
}

/**
 * Updates an endpoint's health after attempts that ended.
 *
 * @example
 * updateHealth(health, { outcomes: ["timed_out"], attempts: 5, failures: 5, timeouts: 5, failedEvents: 0, nowMillis })
 * // => { health: { …, openUntilMillis: nowMillis + 30_000, openings: 1 }, disable: false }
 */
export const updateHealth = (before: EndpointHealth, statistics: AttemptStatistics): HealthUpdate => {
  const health = updateBreaker(
    statistics.outcomes.reduce((each, outcome) => withOutcome(each, outcome, statistics.nowMillis), before),
    statistics
  )
  const failedFor = health.failingSinceMillis === null ? 0 : statistics.nowMillis - health.failingSinceMillis
  return { health, disable: failedFor >= disableAfterMillis && statistics.failedEvents >= minimumFailedEvents }
}

const withOutcome = (health: EndpointHealth, outcome: AttemptOutcome, nowMillis: number): EndpointHealth =>
  outcome === "succeeded"
    ? { ...health, state: "healthy", consecutiveFailures: 0, failingSinceMillis: null }
    : {
      ...health,
      state: "failing",
      consecutiveFailures: health.consecutiveFailures + 1,
      failingSinceMillis: health.failingSinceMillis ?? nowMillis
    }

const updateBreaker = (
  health: EndpointHealth,
  { attempts, failures, nowMillis, outcomes, timeouts }: AttemptStatistics
): EndpointHealth => {
  if (health.openUntilMillis !== null) {
    // Attempts that were under way when it opened are no probe.
    if (nowMillis < health.openUntilMillis) return health
    return outcomes.at(-1) === "succeeded"
      ? { ...health, openUntilMillis: null, openings: 0, countedFromMillis: nowMillis }
      : openBreaker(health, nowMillis)
  }
  const isFailing = attempts >= minimumAttempts && failures * 100 >= attempts * failingPercent
  // Attempts written together ended at one time: only `outcomes` has their order.
  const newest = outcomes.slice(-timeoutsInARow)
  const isTimingOut = newest.every((outcome) => outcome === "timed_out") &&
    (newest.length === timeoutsInARow || timeouts >= timeoutsInARow)
  return isFailing || isTimingOut ? openBreaker(health, nowMillis) : health
}

const openBreaker = (health: EndpointHealth, nowMillis: number): EndpointHealth => ({
  ...health,
  openings: health.openings + 1,
  openUntilMillis: nowMillis + Math.min(longestOpenMillis, firstOpenMillis * 2 ** health.openings)
})
