/**
 * Due work as rows: one fiber per source, asleep until the earliest row is due, on the one instance that holds the
 * source's lease. No promise lives only in memory. All sources look again when a merchant's clock moves; see
 * `timers/MerchantDue.ts` for rows that come due by it.
 */
import { Cause, Clock, Context, Effect, Latch, Layer, type Scope } from "effect"
import { BackgroundWork } from "./BackgroundWork.ts"
import { Leases } from "./Leases.ts"
import { MerchantClock } from "./MerchantClock.ts"
import { DueTimes } from "./timers/Health.ts"

/** Rows of one kind that fall due: invoices to expire, retries to make. */
export interface DueSource {
  /** Unique; names the lease, so one instance at a time works on it. */
  readonly name: string
  /** Epoch milliseconds of the earliest due row, or null when there is none. */
  readonly nextDueMillis: Effect.Effect<number | null>
  /**
   * Handles up to `limit` rows due at `nowMillis` and says how many; each row's own version makes a repeat harmless.
   */
  readonly run: (nowMillis: number, limit: number) => Effect.Effect<number>
  /** Rows per run: 100 or more, see the architecture's measurements. */
  readonly batchSize: number
  /** Milliseconds that a run may take before the source counts as stuck and begins anew. Default 300,000. */
  readonly passMillis?: number
}

/** Work on rows that fall due. Sources of such rows register here. */
export class Timers extends Context.Service<Timers, {
  readonly register: (source: DueSource) => Effect.Effect<void, never, Scope.Scope>
  /** Says that a row may be due earlier than the source's fiber knows: it looks again. */
  readonly wake: (name: string) => Effect.Effect<void>
}>()("tillwire/runtime/Timers") {}

/**
 * How long the timers wait for what nobody tells them. No config sets it: tests of what a whole service does by itself
 * make it shorter.
 */
export const TimerPace = Context.Reference<{
  /** Milliseconds after which a source is looked at whatever it last said: rows may come from another instance. */
  readonly pollMillis: number
  /** Milliseconds a source stays with an instance that has stopped renewing. */
  readonly leaseMillis: number
}>("tillwire/runtime/TimerPace", { defaultValue: () => ({ pollMillis: 5_000, leaseMillis: 15_000 }) })

/** Milliseconds that a run may take, unless its source says otherwise: a batch takes a second or two. */
const defaultPassMillis = 300_000

/** Milliseconds before a row that is due but was not handled is looked at again. */
const unhandledMillis = 250

/** Milliseconds before a failed run is tried again, doubled up to the second figure with each failure in a row. */
const firstBackoffMillis = 200
const maximumBackoffMillis = 30_000

const make = Effect.gen(function*() {
  const background = yield* BackgroundWork
  const clock = yield* MerchantClock
  const leases = yield* Leases
  const { leaseMillis, pollMillis } = yield* TimerPace
  const latches = new Map<string, Latch.Latch>()
  const sources = new Map<string, DueSource>()

  yield* clock.onAdvance(() =>
    Effect.sync(() => {
      for (const latch of latches.values()) latch.openUnsafe()
    })
  )

  /** Runs until less than a batch was due, then says how long nothing is. */
  const runDue = (source: DueSource, progress: Effect.Effect<void>) =>
    Effect.gen(function*() {
      let count: number
      do {
        count = yield* source.run(yield* Clock.currentTimeMillis, source.batchSize)
        yield* progress
      } while (count >= source.batchSize)
      const nextDueMillis = yield* source.nextDueMillis
      const now = yield* Clock.currentTimeMillis
      if (nextDueMillis === null) return pollMillis
      return Math.min(pollMillis, Math.max(count === 0 ? unhandledMillis : 0, nextDueMillis - now))
    })

  const follow = (source: DueSource, latch: Latch.Latch, progress: Effect.Effect<void>): Effect.Effect<never> =>
    Effect.gen(function*() {
      let failures = 0
      while (true) {
        // Closed before looking: a wake that comes while looking is not lost.
        latch.closeUnsafe()
        yield* progress
        const pause = yield* runDue(source, progress).pipe(
          Effect.tap(() => Effect.sync(() => failures = 0)),
          Effect.catchCause((cause) => {
            if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
            const backoff = Math.min(maximumBackoffMillis, firstBackoffMillis * 2 ** Math.min(failures++, 16))
            const context = { name: source.name, backoffMillis: backoff }
            return Effect.as(Effect.logError("A timer's run failed and will be repeated", context, cause), backoff)
          })
        )
        if (failures > 0) yield* Effect.sleep(pause)
        else yield* Effect.raceFirst(Effect.sleep(pause), latch.await)
      }
    })

  const register = (source: DueSource) =>
    Effect.gen(function*() {
      const latch = Latch.makeUnsafe(false)
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          if (latches.has(source.name)) throw new Error(`Two timers are named "${source.name}"`)
          latches.set(source.name, latch)
          sources.set(source.name, source)
        }),
        () =>
          Effect.sync(() => {
            latches.delete(source.name)
            sources.delete(source.name)
          })
      )
      const options = {
        role: "worker",
        ttlMillis: leaseMillis,
        passMillis: source.passMillis ?? defaultPassMillis
      } as const
      yield* background.run(
        leases.hold(`timer:${source.name}`, options, (_, progress) => follow(source, latch, progress))
      )
    })

  const wake = (name: string) => Effect.sync(() => void latches.get(name)?.openUnsafe())

  const read = Effect.suspend(() =>
    Effect.forEach(
      [...sources.values()],
      ({ name, nextDueMillis }) => Effect.map(nextDueMillis, (dueMillis) => ({ name, dueMillis }))
    )
  )

  return Context.make(Timers, { register, wake }).pipe(Context.add(DueTimes, { read }))
})

/** Timers under the leases `timer:<name>`. */
export const layer: Layer.Layer<Timers | DueTimes, never, Leases | MerchantClock> = Layer.effectContext(make)
