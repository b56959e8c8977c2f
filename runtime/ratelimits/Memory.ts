/** Windows in the memory of this process: for one instance, about a microsecond a call. */
import { Clock, Effect, Layer } from "effect"
import { type RateLimitResult, RateLimits, windowMillis } from "../RateLimits.ts"

/**
 * Windows of one limit at once. A window takes 341 bytes with one call in it (measured) and 8 for each further one: 17
 * MB when 50,000 strangers ask once, 55 MB when 50,000 keys all use up 100 calls a minute. An IPv6 address counts in
 * three ranges, and so takes up to three of them. Nothing else of a stranger is kept: after 50,000 addresses had asked
 * the running service once, over a connection each, its live heap was 15 MB larger. The process grew by 185 MB, 40 MB
 * where they came over kept connections: most likely memory of collected connections that V8 had not given back.
 */
export const maximumWindows = 50_000

/** Old stamps are thrown away when there are this many, and no fewer than live ones. */
const compactAt = 32

/** The accepted calls of somebody, in milliseconds of a clock that never goes back. */
class SlidingWindow {
  private stamps: Array<number> = []
  private head = 0
  /** Calls in it when the last one was accepted. */
  level = 0

  get size(): number {
    return this.stamps.length - this.head
  }

  get newest(): number {
    return this.stamps.at(-1) ?? -Infinity
  }

  /** Two calls a window apart are in one window still: stamps are rounded, the limit is not. */
  take(limit: number, now: number, span: number): RateLimitResult {
    const { stamps } = this
    while (this.head < stamps.length && now - stamps[this.head]! > span) this.head++
    const used = stamps.length - this.head
    if (used >= limit) {
      return { accepted: false, remaining: 0, resetMillis: span - (now - stamps[stamps.length - limit]!) }
    }
    if (this.head >= compactAt && this.head * 2 >= stamps.length) {
      stamps.splice(0, this.head)
      this.head = 0
    }
    stamps.push(now)
    return { accepted: true, remaining: limit - used - 1, resetMillis: span - (now - stamps[this.head]!) }
  }
}

type Levels = Map<number, Map<string, SlidingWindow>>

const addToLevel = (levels: Levels, who: string, window: SlidingWindow): void => {
  const level = levels.get(window.level)
  if (level === undefined) levels.set(window.level, new Map([[who, window]]))
  else level.set(who, window)
}

const levelsOf = (byCaller: ReadonlyMap<string, SlidingWindow>): Levels => {
  const levels: Levels = new Map()
  for (const [who, window] of byCaller) addToLevel(levels, who, window)
  return levels
}

/**
 * The windows of one limit, least recently accepted first. A window that holds no call any more is forgotten. When all
 * hold some, a newcomer takes over the emptiest one with the calls in it, as in Space-Saving (Metwally, Agrawal, El
 * Abbadi 2005): a count is never too low, so nobody gets more than the limit by filling the memory, and it is too high
 * by at most the calls of the last two windows divided by the capacity. To take a tenth of a limit of 30 from
 * strangers, a flood needs 150,000 accepted calls in two minutes from addresses of their own.
 */
class Windows {
  private readonly byCaller = new Map<string, SlidingWindow>()
  /**
   * The same windows by the calls they held at the last accepted one, in the same order, so that the emptiest is found
   * without a search. Undefined until the memory is full: before that nobody needs it, and every call would change it.
   */
  private levels: Levels | undefined

  take(who: string, limit: number, now: number, span: number, capacity: number): RateLimitResult {
    const found = this.byCaller.get(who)
    if (found !== undefined) return this.takeFrom(found, who, who, limit, now, span)
    this.forgetIdle(now, span)
    const [victim, window] = this.byCaller.size < capacity ? [who, new SlidingWindow()] : this.emptiest()
    return this.takeFrom(window, victim, who, limit, now, span)
  }

  /** A call of `who` in `window`, which was `holder`'s until then. A refused call changes nothing. */
  private takeFrom(
    window: SlidingWindow,
    holder: string,
    who: string,
    limit: number,
    now: number,
    span: number
  ): RateLimitResult {
    const verdict = window.take(limit, now, span)
    if (verdict.accepted) {
      this.remove(holder, window)
      window.level = window.size
      this.byCaller.set(who, window)
      if (this.levels !== undefined) addToLevel(this.levels, who, window)
    }
    return verdict
  }

  private remove(who: string, window: SlidingWindow): void {
    if (!this.byCaller.delete(who) || this.levels === undefined) return
    const level = this.levels.get(window.level)!
    level.delete(who)
    if (level.size === 0) this.levels.delete(window.level)
    if (this.byCaller.size === 0) this.levels = undefined
  }

  /** Up to two that nobody needs: so they are gone before the memory is full. */
  private forgetIdle(now: number, span: number): void {
    for (let round = 0; round < 2; round++) {
      const [oldest] = this.byCaller
      if (oldest === undefined || now - oldest[1].newest <= span) break
      this.remove(...oldest)
    }
  }

  /** Of the windows with the fewest calls the one whose last is the longest ago. */
  private emptiest(): readonly [string, SlidingWindow] {
    const levels = this.levels ??= levelsOf(this.byCaller)
    let fewest = Infinity
    for (const level of levels.keys()) fewest = Math.min(fewest, level)
    const [first] = levels.get(fewest)!
    return first!
  }
}

const nanosPerMilli = 1e6

/** As {@link layer}, with a window and a capacity of a test's own. */
export const layerWith = (
  { capacity = maximumWindows, span = windowMillis }: { readonly span?: number; readonly capacity?: number }
): Layer.Layer<RateLimits> =>
  Layer.sync(RateLimits, () => {
    const limits = new Map<string, Windows>()
    return RateLimits.of({
      take: (name, who, limit) =>
        Effect.withFiber((fiber) => {
          let windows = limits.get(name)
          if (windows === undefined) limits.set(name, windows = new Windows())
          const now = Number(fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()) / nanosPerMilli
          return Effect.succeed(windows.take(who, limit, now, span, capacity))
        })
    })
  })

/** The default: each instance counts for itself. */
export const layer: Layer.Layer<RateLimits> = layerWith({})
