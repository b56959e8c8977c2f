/**
 * Addresses of wallets, derived before an invoice asks for them and kept by the wallet's fingerprint.
 *
 * They are watched: a restored backup may have lost invoices whose payors still pay, and the address of a paid invoice
 * must not be given out again. And an allocation needs no derivation, so it is one call of the database.
 */
import { Clock, Effect, Queue, Semaphore } from "effect"
import type { Family } from "../../schemas/Network.ts"
import type { WalletRef } from "../Chains.ts"
import { watchedAfterRestoreSeconds } from "./Restores.ts"
import type { Rows, WalletAddress } from "./Rows.ts"

/** Addresses of each wallet that are watched though nobody was given them: fewer may be lost without a word of the operator. */
export const watchedAhead = 20

/** Derived beyond those, so that a wallet in use is looked after once in so many allocations. */
const refill = 20

/** Addresses nobody was given, of all wallets: about 100 bytes of memory each. */
export const maximumAddresses = 200_000

/** Milliseconds of derivation before everything else has its turn: one takes about 1 ms. */
const sliceMillis = 3

/** Addresses stored at once. */
const chunkSize = 100

const turn = Effect.promise<void>(() => new Promise((resolve) => void setImmediate(resolve)))

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place)

export const make = Effect.fnUntraced(function*(rows: Rows) {
  const wallets = new Map<string, { readonly wallet: WalletRef; readonly family: Family }>()
  const waiting = new Set<string>()
  const oneFill = yield* Semaphore.make(1)
  const wakes = yield* Queue.unbounded<string>()
  const restoredSince = Effect.map(Clock.currentTimeMillis, (millis) =>
    Math.floor(millis / 1000) - watchedAfterRestoreSeconds)
  // Those of restored backups whose time is over: they are watched no longer from this start on.
  yield* rows.forgetRestored(yield* restoredSince)
  let total = yield* rows.addressCount

  /** Derives `indices` in slices, so that nobody waits for more than a few milliseconds of it, and keeps them. */
  const derive = Effect.fnUntraced(function*(wallet: WalletRef, family: Family, indices: ReadonlyArray<number>) {
    for (let done = 0; done < indices.length; done += chunkSize) {
      const derived: Array<WalletAddress> = []
      let began = performance.now()
      for (const walletIndex of indices.slice(done, done + chunkSize)) {
        derived.push({ ...wallet.derive(walletIndex), family, fingerprint: wallet.fingerprint, walletIndex })
        if (performance.now() - began < sliceMillis) continue
        yield* turn
        began = performance.now()
      }
      total += yield* rows.storeAddresses(wallet.fingerprint, family, derived)
    }
  })

  /** Derives what is missing of a wallet's indices in [from, to). */
  const complete = Effect.fnUntraced(function*(wallet: WalletRef, family: Family, from: number, to: number) {
    const end = Math.min(to, wallet.size ?? Number.POSITIVE_INFINITY)
    if (end <= from) return
    const present = new Set(yield* rows.derivedIndices(wallet.fingerprint, from, end))
    yield* derive(wallet, family, range(from, end).filter((index) => !present.has(index)))
  })

  /** Brings a wallet up to what is watched of it, and its counter up to its start index. */
  const fill = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    const counter = yield* rows.counter(wallet.fingerprint)
    const from = Math.max(counter?.nextIndex ?? 0, wallet.startIndex)
    if (counter !== null && counter.nextIndex < wallet.startIndex) {
      yield* rows.moveCounter(wallet.fingerprint, wallet.startIndex)
      yield* Effect.logInfo("startIndex was raised: the addresses before it are passed over", {
        family, from: counter.nextIndex, to: wallet.startIndex
      })
    }
    if (total >= maximumAddresses) {
      return yield* Effect.logWarning(`${maximumAddresses} addresses are watched ahead: no more are added`, { family })
    }
    yield* complete(wallet, family, from, from + watchedAhead + refill)
    for (const { fromIndex, watchedTo } of yield* rows.walletRestores(wallet.fingerprint, yield* restoredSince)) {
      yield* complete(wallet, family, fromIndex, watchedTo)
    }
  })

  const fillSafely = (wallet: WalletRef, family: Family) =>
    fill(wallet, family).pipe(
      Effect.catchCause((cause) => Effect.logWarning("addresses could not be derived ahead", { family }, cause))
    )

  /** Remembers a wallet and has it filled in the background. */
  const look = (wallet: WalletRef, family: Family) =>
    Effect.suspend(() => {
      wallets.set(wallet.fingerprint, { wallet, family })
      if (waiting.has(wallet.fingerprint)) return Effect.void
      waiting.add(wallet.fingerprint)
      return Effect.asVoid(Queue.offer(wakes, wallet.fingerprint))
    })

  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(wakes), (fingerprint) => {
    waiting.delete(fingerprint)
    const found = wallets.get(fingerprint)
    return found === undefined ? Effect.void : fillSafely(found.wallet, found.family)
  })))

  return {
    complete,
    look,
    /** The same before it returns. */
    lookNow: (wallet: WalletRef, family: Family) =>
      Effect.andThen(Effect.sync(() => void wallets.set(wallet.fingerprint, { wallet, family })), fillSafely(wallet, family)),
    /** Fills a wallet again whose counter moved, if this instance knows it. */
    lookAgain: (fingerprint: string) =>
      Effect.suspend(() => {
        const found = wallets.get(fingerprint)
        return found === undefined ? Effect.void : look(found.wallet, found.family)
      }),
    /** Every wallet this instance knows. */
    all: () => [...wallets.values()],
    /** Addresses that are derived and were not given out, of all wallets, as far as this instance counted. */
    total: () => total,
    /** Fills every wallet this instance knows; false: not all could be filled now. */
    fillAll: Effect.suspend(() =>
      Effect.forEach([...wallets.values()], ({ family, wallet }) => fill(wallet, family), { discard: true })).pipe(
        Effect.as(true),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning("addresses of a restored backup could not be derived", cause), false)),
        oneFill.withPermits(1)
      ),
    /** Whether a wallet with so few addresses ahead is to be filled. */
    isLow: (ahead: number) => ahead < watchedAhead + refill / 2
  }
})

export type WalletAddresses = Effect.Success<ReturnType<typeof make>>
