/**
 * Tells what outlives the check at its opening, a stream, that its credential has ended. Watched credentials are asked
 * for together, in one question a second to each owner, however many streams there are.
 */
import { Clock, Deferred, Effect, Exit, Latch, Layer } from "effect"
import { Revocations } from "../Http.ts"

/** How often the owners are asked, and how long they may take to answer. */
const askMillis = 1_000

/**
 * For how long a credential counts as good without an answer: with the second between two questions and the one an
 * answer may take, a stream ends within 5 s of the revocation or of the last moment at which it could be asked for.
 */
const trustMillis = 3_000

type Owner = (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>

type How = "ended" | "unknown"

interface Watched {
  readonly streams: Set<Deferred.Deferred<How>>
  /** Epoch milliseconds at which it was last known to be good. */
  goodAt: number
}

const kindOf = (id: string): string => id.slice(0, id.indexOf("_"))

/** The registry of owners and the one fiber that asks them. */
export const layer: Layer.Layer<Revocations> = Layer.effect(
  Revocations,
  Effect.gen(function*() {
    const owners = new Map<string, Owner>()
    const watched = new Map<string, Watched>()
    // Nobody is asked, and no clock ticks, while nothing is watched.
    const busy = yield* Latch.make()

    const end = (id: string, how: How): void => {
      for (const stream of watched.get(id)?.streams ?? []) Deferred.doneUnsafe(stream, Exit.succeed(how))
      watched.delete(id)
    }

    /** The ids that are good; undefined where no answer came. What nobody owns is good for nobody. */
    const ask = (kind: string, ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string> | undefined> =>
      (owners.get(kind)?.(ids) ?? Effect.succeed([])).pipe(
        Effect.map((good): ReadonlySet<string> | undefined => new Set(good)),
        Effect.timeoutOrElse({ duration: askMillis, orElse: () => Effect.succeed(undefined) }),
        Effect.catchCause((cause) => Effect.as(Effect.logWarning("revocations were not asked for", cause), undefined))
      )

    const endRevoked = Effect.fnUntraced(function*(kind: string, ids: ReadonlyArray<string>) {
      const askedAt = yield* Clock.currentTimeMillis
      const good = yield* ask(kind, ids)
      for (const id of ids) {
        const one = watched.get(id)
        if (one === undefined) continue
        if (good?.has(id) === true) one.goodAt = askedAt
        else if (good !== undefined) end(id, "ended")
        else if (askedAt - one.goodAt >= trustMillis) end(id, "unknown")
      }
    })

    const round = Effect.suspend(() =>
      Effect.forEach(Map.groupBy(watched.keys(), kindOf), ([kind, ids]) => endRevoked(kind, ids), {
        concurrency: "unbounded",
        discard: true
      })
    )
    const rest = Effect.suspend(() => watched.size === 0 ? busy.close : Effect.void)
    yield* busy.await.pipe(
      Effect.andThen(Effect.sleep(askMillis)),
      Effect.andThen(round),
      Effect.andThen(rest),
      Effect.forever,
      Effect.forkScoped
    )

    const leave = (id: string, stream: Deferred.Deferred<How>) =>
      Effect.sync(() => {
        const one = watched.get(id)
        one?.streams.delete(stream)
        if (one?.streams.size === 0) watched.delete(id)
      })

    return Revocations.of({
      register: (kind, good) => Effect.sync(() => void owners.set(kind, good)),
      isGood: (id) => Effect.map(ask(kindOf(id), [id]), (good) => good?.has(id) === true),
      awaitEnd: (id) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const stream = Deferred.makeUnsafe<How>()
          const one = watched.get(id) ?? { streams: new Set(), goodAt: now }
          one.streams.add(stream)
          watched.set(id, one)
          return Effect.ensuring(Effect.andThen(busy.open, Deferred.await(stream)), leave(id, stream))
        })
    })
  })
)
