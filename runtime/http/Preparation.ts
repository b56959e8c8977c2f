/** Large bodies made without holding up requests: in short slices, and soon after the start, before anyone asks for them. */
import { Effect, type Scope } from "effect"
import { monotonicMillis } from "../Clock.ts"

/** Milliseconds of work after which other requests have their turn. A single step may take longer. */
export const sliceMillis = 5

/**
 * Seconds after the start when the bodies are made that nobody has asked for yet: the start itself has its work done by
 * then, and a service that ends at once never makes them.
 */
const preparationDelay = "5 seconds"

/** Runs the steps to their end; requests are answered in between. */
export const runInSlices = <A>(steps: Iterator<unknown, A>): Effect.Effect<A> =>
  Effect.gen(function*() {
    let sinceMillis = yield* monotonicMillis
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value
      if ((yield* monotonicMillis) - sinceMillis < sliceMillis) continue
      yield* Effect.yieldNow
      sinceMillis = yield* monotonicMillis
    }
  })

/**
 * Makes what `asset` caches in the background, a few seconds after the start, so that the first reader does not wait for
 * it. A failure is logged, and the next reader tries again or gets it.
 */
export const prepareLater = (name: string, asset: Effect.Effect<unknown>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.sleep(preparationDelay).pipe(
    Effect.andThen(asset),
    Effect.catchCause((cause) => Effect.logWarning("a page could not be made ahead", { page: name }, cause)),
    Effect.forkScoped,
    Effect.asVoid
  )
