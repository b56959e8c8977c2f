/** Windows in the memory of this process: for one instance, about a microsecond a call. */
import { Clock, Effect, Layer } from "effect"
import { RateLimits, type Verdict, windowMillis } from "../RateLimits.ts"

/**
 * Windows of one limit at once. A window takes some 200 bytes and 8 for each accepted call in it: 50 MB when 50,000
 * keys all use up 100 calls a minute.
 */
export const maximumWindows = 50_000

/** Old stamps are thrown away when there are this many, and no fewer than live ones. */
const compactAt = 32

/** The accepted calls of somebody, in milliseconds of a clock that never goes back. */
class SlidingWindow {
  private stamps: Array<number> = []
  private head = 0

  get newest(): number {
    return this.stamps.at(-1) ?? -Infinity
  }

  /** Two calls a window apart are in one window still: stamps are rounded, the limit is not. */
  take(limit: number, now: number, span: number): Verdict {
    const { stamps } = this
    while (this.head < stamps.length && now - stamps[this.head]! > span) this.head++
    const used = stamps.length - this.head
    if (used >= limit) {
      return { accepted: false, remaining: 0, resetMillis: stamps[stamps.length - limit]! + span - now }
    }
    if (this.head >= compactAt && this.head * 2 >= stamps.length) {
      stamps.splice(0, this.head)
      this.head = 0
    }
    stamps.push(now)
    return { accepted: true, remaining: limit - used - 1, resetMillis: stamps[this.head]! + span - now }
  }
}

/**
 * The windows of one limit, least recently accepted first. Only a window that holds no call any more is forgotten. When
 * all hold some, newcomers share one window until a place is free: nobody ever gets more than the limit.
 */
class Windows {
  private readonly known = new Map<string, SlidingWindow>()
  private readonly shared = new SlidingWindow()

  take(who: string, limit: number, now: number, span: number, capacity: number): Verdict {
    const found = this.known.get(who)
    const window = found ?? this.open(now, span, capacity)
    const verdict = window.take(limit, now, span)
    if (verdict.accepted && window !== this.shared) {
      if (found !== undefined) this.known.delete(who)
      this.known.set(who, window)
    }
    return verdict
  }

  /** A newcomer's window, in place of up to two that nobody needs: so they are gone before the memory is full. */
  private open(now: number, span: number, capacity: number): SlidingWindow {
    for (let round = 0; round < 2; round++) {
      const [oldest] = this.known
      if (oldest === undefined || now - oldest[1].newest <= span) break
      this.known.delete(oldest[0])
    }
    return this.known.size < capacity ? new SlidingWindow() : this.shared
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
