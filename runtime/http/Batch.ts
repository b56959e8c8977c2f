/** Many callers, few queries: requests that wait while a query is on its way share the next one. */
import { Deferred, Effect, Exit, Queue, type Scope } from "effect"

/** Requests in one run, at most. */
const maximumBatch = 256

interface Waiting<K, A, E> {
  readonly key: K
  readonly done: Deferred.Deferred<A, E>
}

/**
 * A function that answers one key by way of `run`, which answers many: `run` gets 1 to {@link maximumBatch} keys and
 * returns their answers in the same order, or one failure for all. Nothing waits on a timer: `lanes` runs are on their
 * way at once, and what arrives meanwhile is the next batch. A caller that is interrupted stops nothing.
 */
export const make = <K, A, E>(
  lanes: number,
  run: (keys: ReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>, E>
): Effect.Effect<(key: K) => Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const queue = yield* Queue.unbounded<Waiting<K, A, E>>()
    const lane = Effect.gen(function*() {
      const batch = yield* Queue.takeBetween(queue, 1, maximumBatch)
      const exit = yield* Effect.exit(run(batch.map((waiting) => waiting.key)))
      batch.forEach(({ done }, index) => {
        Deferred.doneUnsafe(done, Exit.map(exit, (answers) => answers[index]!))
      })
    })
    for (let index = 0; index < lanes; index++) yield* Effect.forkScoped(Effect.forever(lane))
    return (key) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<A, E>()
        Queue.offerUnsafe(queue, { key, done })
        return Deferred.await(done)
      })
  })
