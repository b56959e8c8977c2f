/**
 * Rate-limit windows as one instance counts them while the database does not answer: the calls that were in a window at
 * the database's last answer, and those accepted since. No clock: the caller supplies all times, in milliseconds of a
 * clock that never goes back.
 */
import type { RateLimitResult } from "../RateLimits.ts"

/**
 * Windows kept at once: some 200 bytes each, and 8 for each call accepted without the database. The oldest are dropped
 * first.
 */
export const maximumWindows = 50_000

interface LocalWindow {
  /** Calls in the window at the last answer; all of them have left it at `until`. */
  readonly used: number
  readonly until: number
  /** Times of the calls that were accepted without the database, oldest first. */
  readonly unrecordedCalls: ReadonlyArray<number>
}

export class LocalWindows {
  private readonly windows = new Map<string, LocalWindow>()
  /** How many calls the database is being asked about: it may have accepted each of them. */
  private readonly callsInFlight = new Map<string, number>()
  /** Until when a window that was dropped for want of room may still hold calls. */
  private forgottenUntil = -Infinity
  private readonly span: number
  private readonly capacity: number

  constructor(span: number, capacity = maximumWindows) {
    this.span = span
    this.capacity = capacity
  }

  /** The database is asked about a call, until {@link endCall}. */
  beginCall(key: string): void {
    this.callsInFlight.set(key, (this.callsInFlight.get(key) ?? 0) + 1)
  }

  /** The database answered, or its answer is not waited for any more. */
  endCall(key: string): void {
    const left = (this.callsInFlight.get(key) ?? 1) - 1
    if (left > 0) this.callsInFlight.set(key, left)
    else this.callsInFlight.delete(key)
  }

  /** The database counts `used` calls in the window at `now`. */
  recordAnswer(key: string, used: number, now: number): void {
    this.put(key, { used, until: now + this.span, unrecordedCalls: this.unrecordedCalls(key, now) }, now)
  }

  /** The database has recorded these of the {@link unrecordedCalls}. */
  markRecorded(key: string, calls: ReadonlyArray<number>, now: number): void {
    const used = (this.inWindow(key, now)?.used ?? 0) + calls.length
    const unrecordedCalls = this.unrecordedCalls(key, now).filter((at) => !calls.includes(at))
    this.put(key, { used, until: now + this.span, unrecordedCalls }, now)
  }

  /** Times of the calls in the window that the database has not recorded yet. */
  unrecordedCalls(key: string, now: number): ReadonlyArray<number> {
    return this.windows.get(key)?.unrecordedCalls.filter((at) => now - at <= this.span) ?? []
  }

  /**
   * Decides without the database. One instance never accepts more than the limit in a window this way; a window that
   * was dropped counts as full.
   */
  take(key: string, limit: number, now: number): RateLimitResult {
    const found = this.windows.get(key)
    if (found === undefined && now <= this.forgottenUntil) {
      return { accepted: false, remaining: 0, resetMillis: this.forgottenUntil - now }
    }
    const { until, used } = this.inWindow(key, now) ?? { until: now, used: 0 }
    const unrecordedCalls = this.unrecordedCalls(key, now)
    const callCount = used + unrecordedCalls.length + (this.callsInFlight.get(key) ?? 0)
    if (callCount >= limit) {
      const free = used > 0 ? until : (unrecordedCalls[0] ?? now) + this.span
      return { accepted: false, remaining: 0, resetMillis: Math.max(0, free - now) }
    }
    this.put(key, { used, until, unrecordedCalls: [...unrecordedCalls, now] }, now)
    return { accepted: true, remaining: limit - callCount - 1, resetMillis: this.span }
  }

  /** The calls of the last answer, while any of them may still be in the window. */
  private inWindow(key: string, now: number): LocalWindow | undefined {
    const found = this.windows.get(key)
    return found !== undefined && now <= found.until ? found : undefined
  }

  private put(key: string, window: LocalWindow, now: number): void {
    this.windows.delete(key)
    for (let round = 0; round < 2; round++) {
      const [oldest] = this.windows
      if (oldest === undefined) break
      const end = Math.max(oldest[1].until, (oldest[1].unrecordedCalls.at(-1) ?? -Infinity) + this.span)
      if (now <= end && this.windows.size < this.capacity) break
      if (now <= end) this.forgottenUntil = Math.max(this.forgottenUntil, end)
      this.windows.delete(oldest[0])
    }
    this.windows.set(key, window)
  }
}
