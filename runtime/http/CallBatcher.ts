/** Many callers, few queries: requests that wait while a query is on its way share the next one. */
import { Deferred, Effect, Exit, Queue, type Scope } from "effect"

/** Requests in one run, at most. */
const maximumBatch = 256

interface PendingCall<K, A, E> {
  readonly key: K
  readonly done: Deferred.Deferred<A, E>
}

/**
 * A function that answers one key by way of `answerAll`, which answers many: it gets 1 to {@link maximumBatch} keys and
 * returns their answers in the same order, or one failure for all. Nothing waits on a timer: `concurrency` runs are on
 * their way at once, and what arrives meanwhile is the next batch. A caller that is interrupted stops nothing.
 */
export const make = <K, A, E>(
  concurrency: number,
  answerAll: (keys: ReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>, E>
): Effect.Effect<(key: K) => Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const queue = yield* Queue.unbounded<PendingCall<K, A, E>>()
    const worker = Effect.gen(function*() {
      const batch = yield* Queue.takeBetween(queue, 1, maximumBatch)
      const exit = yield* Effect.exit(answerAll(batch.map((waiting) => waiting.key)))
      batch.forEach(({ done }, index) => {
        Deferred.doneUnsafe(done, Exit.map(exit, (answers) => answers[index]!))
      })
    })
    for (let index = 0; index < concurrency; index++) yield* Effect.forkScoped(Effect.forever(worker))
    return (key) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<A, E>()
        Queue.offerUnsafe(queue, { key, done })
        return Deferred.await(done)
      })
  })
