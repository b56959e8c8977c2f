/**
 * How many calls somebody makes in a minute (modules/docs/reference/rate-limits.md#how-calls-are-counted): an exact log
 * of the accepted ones, never a bucket, so no 60 seconds hold more than the limit wherever they begin.
 */
import { Context, type Effect } from "effect"

/** What one call came to. */
export interface RateLimitResult {
  readonly accepted: boolean
  /** Calls that would be accepted now. */
  readonly remaining: number
  /** Milliseconds until the next place is free. */
  readonly resetMillis: number
}

/** The sliding window, unless a test asks for a shorter one. */
export const windowMillis = 60_000

export class RateLimits extends Context.Service<RateLimits, {
  /**
   * Asks for a place in the window of `who` under the limit called `name`, which holds `limit` calls (at least 1). A
   * call that is not accepted leaves no trace: it does not lengthen anybody's wait. While the store does not answer,
   * each instance counts alone, and the call is counted in `rate_limit_store_failures_total`: one instance never
   * accepts more than `limit` in any window; n instances accept at most n times `limit` in a window with such a fault.
   */
  readonly take: (name: string, who: string, limit: number) => Effect.Effect<RateLimitResult>
}>()("tillwire/runtime/RateLimits") {}
