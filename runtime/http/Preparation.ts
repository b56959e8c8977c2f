/** Large bodies made without holding up requests: in short slices. */
import { Effect } from "effect"
import { monotonicMillis } from "../Clock.ts"

/** Milliseconds of work after which other requests have their turn. A single step may take longer. */
export const sliceMillis = 5

/** Runs the steps to their end; requests are answered in between. */
export const runInSlices = <A>(steps: Iterator<unknown, A>): Effect.Effect<A> =>
  Effect.gen(function*() {
    let sinceMillis = yield* monotonicMillis
    for (let step = steps.next();; step = steps.next()) {
      if (step.done === true) return step.value
      if ((yield* monotonicMillis) - sinceMillis < sliceMillis) continue
      yield* Effect.yieldNow
      sinceMillis = yield* monotonicMillis
    }
  })
