/** Asks the price sources: all at once, again and again, and at once when a caller finds no price. */
import { Cause, Clock, Deferred, Effect, type Latch, MutableRef } from "effect"
import { type PriceSource, PriceSourceError } from "../Prices.ts"
import { assetsInUse, environments, type OracleContext, updateBook } from "./OracleContext.ts"
import { assetsDue, peerPrice, recordAsked, recordFault, recordPoints } from "./PriceBook.ts"
import { review } from "./PriceReview.ts"
import { recordOwn } from "../telemetry/Traces.ts"

/** Milliseconds between polls: a quarter of `freshSeconds`, so three lost polls leave prices fresh. */
export const pollMillis = 30_000

/** Milliseconds until the next look while there is nothing to poll yet: sources and tokens arrive during boot. */
export const idlePollMillis = 1_000

/** Milliseconds a source may take to answer. */
export const sourceTimeoutMillis = 5_000

const logFault = Effect.fnUntraced(function*(oracle: OracleContext, source: PriceSource, fault: string) {
  const nowMillis = yield* Clock.currentTimeMillis
  const suppressedLogs = updateBook(oracle, (book) => recordFault(book, source, nowMillis))
  if (suppressedLogs === null) return
  yield* Effect.logWarning(fault).pipe(Effect.annotateLogs({ source: source.name, suppressedLogs }))
})

/** What a source that is asked may ask of the others. */
const peersOf = ({ book }: OracleContext, source: PriceSource, nowSeconds: number) => (asset: string) =>
  peerPrice(MutableRef.get(book), source, asset, nowSeconds)

const askSource = Effect.fnUntraced(function*(oracle: OracleContext, source: PriceSource, extraAsset: string | null) {
  const nowMillis = yield* Clock.currentTimeMillis
  const wanted = [...assetsInUse(oracle, source.environments), ...(extraAsset === null ? [] : [extraAsset])]
  const assets = assetsDue(MutableRef.get(oracle.book), source, wanted, nowMillis)
  if (assets.size === 0) return
  MutableRef.update(oracle.book, (book) => recordAsked(book, source, assets, nowMillis))
  // A source may be anybody's, so whatever goes wrong in it is its own fault, and the others are asked all the same.
  yield* Effect.suspend(() => source.prices([...assets], peersOf(oracle, source, Math.floor(nowMillis / 1000)))).pipe(
    Effect.timeoutOrElse({
      duration: sourceTimeoutMillis,
      orElse: () =>
        Effect.fail(new PriceSourceError({ source: source.name, reason: `no answer in ${sourceTimeoutMillis} ms` }))
    }),
    Effect.flatMap((points) =>
      Effect.map(
        Clock.currentTimeMillis,
        (receivedAtMillis) => updateBook(oracle, (book) => recordPoints(book, source, assets, points, receivedAtMillis))
      )
    ),
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
      const error: unknown = Cause.squash(cause)
      return Effect.succeed(error instanceof PriceSourceError ? error.message : Cause.pretty(cause))
    }),
    Effect.flatMap((fault) => fault === null ? Effect.void : logFault(oracle, source, fault))
  )
})

/** Asks every source; those that work their prices out from others' are asked after them. */
const askAll = Effect.fnUntraced(function*(oracle: OracleContext, extraAsset: string | null) {
  const sources = [...MutableRef.get(oracle.book).sources.values()].map(({ source }) => source)
  const [first, second] = [false, true].map((needsOthers) =>
    sources.filter(({ requiredAssets }) => (requiredAssets !== undefined) === needsOthers)
  )
  for (const batch of [first!, second!]) {
    yield* Effect.forEach(batch, (source) => askSource(oracle, source, extraAsset), {
      concurrency: "unbounded",
      discard: true
    })
  }
})

/** Asks every source at once, in a fiber of its own: whoever waits may be interrupted, the others still get it. */
export const refresh = (oracle: OracleContext, extraAsset: string | null): Effect.Effect<void> =>
  Effect.suspend(() => {
    const current = MutableRef.get(oracle.round)
    if (current !== null) {
      const awaitCurrent = Deferred.await(current.done)
      return extraAsset === null || current.assets.has(extraAsset)
        ? awaitCurrent
        : Effect.andThen(awaitCurrent, refresh(oracle, extraAsset))
    }
    const done = Deferred.makeUnsafe<void>()
    const assets = new Set([...assetsInUse(oracle, environments), ...(extraAsset === null ? [] : [extraAsset])])
    MutableRef.set(oracle.round, { assets, done })
    return recordOwn("price round", { "tillwire.assets": assets.size }, askAll(oracle, extraAsset)).pipe(
      Effect.andThen(review(oracle)),
      Effect.ensuring(Effect.suspend(() => {
        MutableRef.set(oracle.round, null)
        return Deferred.succeed(done, undefined)
      })),
      Effect.forkIn(oracle.scope),
      Effect.uninterruptible,
      Effect.andThen(Deferred.await(done))
    )
  })

/** Whether a source has something to be asked for. */
const hasWork = (oracle: OracleContext): boolean =>
  [...MutableRef.get(oracle.book).sources.values()]
    .some(({ source }) => assetsInUse(oracle, source.environments).length > 0)

/** Polls for ever; `wake` opens where a new source is to be asked at once. */
export const pollForever = (oracle: OracleContext, wake: Latch.Latch): Effect.Effect<never> =>
  Effect.forever(Effect.gen(function*() {
    yield* wake.close
    yield* refresh(oracle, null)
    yield* Effect.raceFirst(Effect.sleep(hasWork(oracle) ? pollMillis : idlePollMillis), wake.await)
  }))
