/**
 * What one instance knows of the windows in the database, for the time in which the database does not answer: how many
 * calls were in a window when it last did, and those that were accepted since without it. Pure but for its memory.
 */
import type { Verdict } from "../RateLimits.ts"

/**
 * Windows remembered at once, some 200 bytes each and 8 for each call accepted without the database. Those that hold no
 * call any more go first.
 */
export const maximumKnown = 50_000

interface Known {
  /** Calls in the window at the last answer; all of them have left it at `until`. */
  readonly used: number
  /** Milliseconds of a clock that never goes back, as all times here. */
  readonly until: number
  /** When calls were accepted that the database does not know of, oldest first. */
  readonly unrecorded: ReadonlyArray<number>
}

export class KnownWindows {
  private readonly known = new Map<string, Known>()
  /** Calls about which the database is being asked: it may have accepted each. */
  private readonly asking = new Map<string, number>()
  /** Until when there may be calls in a window that was forgotten for want of room. */
  private forgottenUntil = -Infinity
  private readonly span: number
  private readonly capacity: number

  constructor(span: number, capacity = maximumKnown) {
    this.span = span
    this.capacity = capacity
  }

  /** The database is asked about a call, until {@link settled}. */
  asked(key: string): void {
    this.asking.set(key, (this.asking.get(key) ?? 0) + 1)
  }

  /** It answered, or is not waited for any more. */
  settled(key: string): void {
    const left = (this.asking.get(key) ?? 1) - 1
    if (left > 0) this.asking.set(key, left)
    else this.asking.delete(key)
  }

  /** The database knows of `used` calls in the window now. */
  answered(key: string, used: number, now: number): void {
    this.put(key, { used, until: now + this.span, unrecorded: this.unrecorded(key, now) }, now)
  }

  /** It was told of calls of {@link unrecorded}. */
  recorded(key: string, calls: ReadonlyArray<number>, now: number): void {
    const used = (this.inWindow(key, now)?.used ?? 0) + calls.length
    const unrecorded = this.unrecorded(key, now).filter((at) => !calls.includes(at))
    this.put(key, { used, until: now + this.span, unrecorded }, now)
  }

  /** When calls were accepted that the database was not told of; empty: it knows all. */
  unrecorded(key: string, now: number): ReadonlyArray<number> {
    return this.known.get(key)?.unrecorded.filter((at) => now - at <= this.span) ?? []
  }

  /**
   * Decides without the database. One instance so never accepts more than the limit in a window; a window that was
   * forgotten counts as full.
   */
  take(key: string, limit: number, now: number): Verdict {
    const found = this.known.get(key)
    if (found === undefined && now <= this.forgottenUntil) {
      return { accepted: false, remaining: 0, resetMillis: this.forgottenUntil - now }
    }
    const { until, used } = this.inWindow(key, now) ?? { until: now, used: 0 }
    const unrecorded = this.unrecorded(key, now)
    const taken = used + unrecorded.length + (this.asking.get(key) ?? 0)
    if (taken >= limit) {
      const free = used > 0 ? until : (unrecorded[0] ?? now) + this.span
      return { accepted: false, remaining: 0, resetMillis: Math.max(0, free - now) }
    }
    this.put(key, { used, until, unrecorded: [...unrecorded, now] }, now)
    return { accepted: true, remaining: limit - taken - 1, resetMillis: this.span }
  }

  /** What the database knew of, while any of it may be in the window still. */
  private inWindow(key: string, now: number): Known | undefined {
    const found = this.known.get(key)
    return found !== undefined && now <= found.until ? found : undefined
  }

  private put(key: string, window: Known, now: number): void {
    this.known.delete(key)
    for (let round = 0; round < 2; round++) {
      const [oldest] = this.known
      if (oldest === undefined) break
      const end = Math.max(oldest[1].until, (oldest[1].unrecorded.at(-1) ?? -Infinity) + this.span)
      if (now <= end && this.known.size < this.capacity) break
      if (now <= end) this.forgottenUntil = Math.max(this.forgottenUntil, end)
      this.known.delete(oldest[0])
    }
    this.known.set(key, window)
  }
}
