/**
 * What an attempt leads to: every rule about retries, and nothing else. Pure: time and randomness are arguments.
 *
 *   pending --2xx--> succeeded
 *   pending | retrying --anything else--> retrying, until the fourth attempt --> failed
 *   any --our own fault--> waits unspent, for 72 h at most --> failed
 *   any --410--> failed, and the endpoint is disabled
 *   any, while the endpoint's breaker is open --nothing is sent, nothing spent, for 72 h at most--> failed
 */

/** HTTP requests per delivery: one and three retries (modules/docs/reference/webhooks.md#retries). */
export const maximumAttempts = 4

/** How long `Retry-After` is honoured: 1 h (modules/docs/reference/webhooks.md#retries). */
export const maximumRetryAfterMillis = 3_600_000

/** How long a delivery may wait without spending its attempts: 72 h (modules/docs/reference/webhooks.md#retries). */
export const maximumWaitMillis = 72 * 3_600_000

/** Pause after a fault of our own: short, because a resolver or a restart is usually back in seconds. */
export const ownFaultDelayMillis = 5_000

/** Spread of a delay to both sides, as a part of it (modules/docs/reference/webhooks.md#retries). */
const jitter = 0.2

/** How an attempt ended. */
export type Outcome =
  | {
    readonly _tag: "Answered"
    readonly status: number
    readonly retryAfterMillis: number | null
    /** What is kept of the answer's body. */
    readonly body: string
  }
  /** Refused, reset, timed out, or an address that is not allowed. */
  | { readonly _tag: "Unanswered"; readonly reason: string; readonly timedOut: boolean }
  /** Resolver, proxy: spends no attempt. */
  | { readonly _tag: "OwnFault"; readonly reason: string }

/** How an attempt counts that spent one of its delivery's tries. */
export type AttemptOutcome = "succeeded" | "failed" | "timed_out"

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** How `outcome` counts for its endpoint; null where the fault was ours. */
export const attemptOutcome = (outcome: Outcome): AttemptOutcome | null => {
  switch (outcome._tag) {
    case "Answered":
      return isSuccess(outcome.status) ? "succeeded" : "failed"
    case "Unanswered":
      return outcome.timedOut ? "timed_out" : "failed"
    case "OwnFault":
      return null
  }
}

/** What becomes of the delivery. `attempts` are the real ones spent so far. */
export type DeliveryDecision =
  | { readonly _tag: "Succeeded"; readonly attempts: number }
  | { readonly _tag: "Retrying"; readonly attempts: number; readonly afterMillis: number }
  | { readonly _tag: "Failed"; readonly attempts: number; readonly gone: boolean }

export interface RetrySettings {
  /** Milliseconds before the first retry: 60,000 on mainnet, 2,000 on devnet unless configured. */
  readonly baseMillis: number
  /** What each further retry multiplies the delay by: 8 unless configured. */
  readonly factor: number
}

/**
 * Decides after attempt number `attempt` (1 to 4): on mainnet the retries follow 1, 8 and 64 minutes after the attempt
 * before, 20 % more or less, so the last one is sent about 73 minutes after the first. `random` is in [0, 1);
 * `ageMillis` is how long ago the delivery was queued. Total.
 *
 * @example
 * nextAttempt({ attempt: 2, outcome: { _tag: "Unanswered", reason: "", timedOut: true }, random: 0.5, ageMillis: 0,
 *   settings: { baseMillis: 60_000, factor: 8 } })
 * // => { _tag: "Retrying", attempts: 2, afterMillis: 480_000 }
 */
export const nextAttempt = ({ ageMillis, attempt, attemptLimit = maximumAttempts, outcome, random, settings }: {
  readonly attempt: number
  /** Absent: {@link maximumAttempts}. */
  readonly attemptLimit?: number
  readonly outcome: Outcome
  readonly settings: RetrySettings
  readonly random: number
  readonly ageMillis: number
}): DeliveryDecision => {
  if (outcome._tag === "OwnFault") {
    const attempts = attempt - 1
    return ageMillis >= maximumWaitMillis
      ? { _tag: "Failed", attempts, gone: false }
      : { _tag: "Retrying", attempts, afterMillis: withJitter(ownFaultDelayMillis, random) }
  }
  if (outcome._tag === "Answered" && isSuccess(outcome.status)) return { _tag: "Succeeded", attempts: attempt }
  if (outcome._tag === "Answered" && outcome.status === 410) return { _tag: "Failed", attempts: attempt, gone: true }
  if (attempt >= attemptLimit) return { _tag: "Failed", attempts: attempt, gone: false }
  const backoffMillis = withJitter(settings.baseMillis * settings.factor ** (attempt - 1), random)
  const requestedMillis = outcome._tag === "Answered" ? outcome.retryAfterMillis ?? 0 : 0
  return {
    _tag: "Retrying",
    attempts: attempt,
    afterMillis: Math.max(backoffMillis, Math.min(requestedMillis, maximumRetryAfterMillis))
  }
}

const withJitter = (millis: number, random: number): number => Math.round(millis * (1 - jitter + 2 * jitter * random))

/** Milliseconds that a `Retry-After` header asks for, whole seconds or an HTTP date; null when it says neither. */
export const retryAfterMillis = (header: string | null, nowMillis: number): number | null => {
  if (header === null) return null
  if (/^\d{1,9}$/.test(header.trim())) return Number.parseInt(header, 10) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMillis)
}
