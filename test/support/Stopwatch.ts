/**
 * Time for the upper limits that the service promises, on a machine that tests share: what the machine did not let this
 * process run is not counted. A limit of 5 s is not broken by a machine that stands still for 4 of them.
 */
import { Effect } from "effect"

/** How often it is looked whether this process runs. */
const tickMillis = 20

/** What `work` answers, and the milliseconds it took but for those in which this process should have run and did not. */
export const timed = <A, E, R>(
  work: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly answer: A; readonly millis: number }, E, R> =>
  Effect.suspend(() => {
    const start = performance.now()
    let last = start
    let lost = 0
    const look = () => {
      const now = performance.now()
      lost += Math.max(0, now - last - tickMillis)
      last = now
    }
    const ticker = setInterval(look, tickMillis)
    return work.pipe(
      Effect.map((answer) => {
        look()
        return { answer, millis: performance.now() - start - lost }
      }),
      Effect.ensuring(Effect.sync(() => clearInterval(ticker)))
    )
  })
