/**
 * What attempts say of an endpoint, beyond their deliveries: how it is, whether it is left in peace for a while, and
 * whether it is switched off. Pure; times are epoch milliseconds of the database, which all instances share.
 *
 *   closed --70 % of 10 attempts in 5 min failed, or 5 timeouts in a row--> open for 30 s
 *   open --time is up: the oldest delivery is the one probe--> failed: open for twice as long, up to 15 min
 *                                                          --> succeeded: closed, judged by what comes from now on
 *
 * The rules in words: modules/docs/reference/webhooks.md#an-endpoint-that-fails.
 */
import type { AttemptOutcome } from "./Attempts.ts"

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
export const patienceMillis = 5 * 86_400_000
export const minimumFailedEvents = 20

/** An endpoint's lane as its row holds it. */
export interface Lane {
  /** `unknown` until the first attempt; then as the last one was. */
  readonly health: "unknown" | "healthy" | "failing"
  /** Attempts that failed since the last success. */
  readonly consecutiveFailures: number
  /** When the first of them ended; null while there is none. */
  readonly failingSinceMillis: number | null
  /** Until when nothing is sent; null while the breaker is closed. In the past: the next delivery is a probe. */
  readonly openUntilMillis: number | null
  /** Times it opened since it was closed. */
  readonly openings: number
  /** Attempts before this say nothing of the breaker: it was closed then. */
  readonly judgedFromMillis: number
}

/** What was just learnt, and what the database remembers. */
export interface Evidence {
  /** The attempts that ended, oldest first: at least one. */
  readonly outcomes: ReadonlyArray<AttemptOutcome>
  /** Attempts and failures in the window since the lane was judged anew, the ones above among them; 1,000 at most. */
  readonly attempts: number
  readonly failures: number
  /** Timeouts among the newest five of them. */
  readonly timeouts: number
  /** Events that failed since `failingSinceMillis`; 0 while that is not long enough ago. */
  readonly failedEvents: number
  readonly nowMillis: number
}

/** The lane as it is now, and whether its endpoint has to be switched off for failing. */
export interface Judgement {
  readonly lane: Lane
  readonly disable: boolean
}

/**
 * Judges a lane by attempts that ended.
 *
 * @example
 * judge(lane, { outcomes: ["timed_out"], attempts: 5, failures: 5, timeouts: 5, failedEvents: 0, nowMillis })
 * // => { lane: { …, openUntilMillis: nowMillis + 30_000, openings: 1 }, disable: false }
 */
export const judge = (before: Lane, evidence: Evidence): Judgement => {
  const lane = breaker(evidence.outcomes.reduce((each, outcome) => counted(each, outcome, evidence.nowMillis), before), evidence)
  const failedFor = lane.failingSinceMillis === null ? 0 : evidence.nowMillis - lane.failingSinceMillis
  return { lane, disable: failedFor >= patienceMillis && evidence.failedEvents >= minimumFailedEvents }
}

const counted = (lane: Lane, outcome: AttemptOutcome, nowMillis: number): Lane =>
  outcome === "succeeded"
    ? { ...lane, health: "healthy", consecutiveFailures: 0, failingSinceMillis: null }
    : {
      ...lane,
      health: "failing",
      consecutiveFailures: lane.consecutiveFailures + 1,
      failingSinceMillis: lane.failingSinceMillis ?? nowMillis
    }

const breaker = (lane: Lane, { attempts, failures, nowMillis, outcomes, timeouts }: Evidence): Lane => {
  if (lane.openUntilMillis !== null) {
    // Attempts that were under way when it opened are no probe.
    if (nowMillis < lane.openUntilMillis) return lane
    return outcomes.at(-1) === "succeeded"
      ? { ...lane, openUntilMillis: null, openings: 0, judgedFromMillis: nowMillis }
      : open(lane, nowMillis)
  }
  const fails = attempts >= minimumAttempts && failures * 100 >= attempts * failingPercent
  // Attempts written together ended at one time: only `outcomes` has their order.
  const newest = outcomes.slice(-timeoutsInARow)
  const timesOut = newest.every((outcome) => outcome === "timed_out") &&
    (newest.length === timeoutsInARow || timeouts >= timeoutsInARow)
  return fails || timesOut ? open(lane, nowMillis) : lane
}

const open = (lane: Lane, nowMillis: number): Lane => ({
  ...lane,
  openings: lane.openings + 1,
  openUntilMillis: nowMillis + Math.min(longestOpenMillis, firstOpenMillis * 2 ** lane.openings)
})
