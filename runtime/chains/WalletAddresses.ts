/**
 * Addresses of wallets, derived before an invoice asks for them and kept by the wallet's fingerprint.
 *
 * They are watched: a restored backup may have lost invoices whose payors still pay, and the address of a paid invoice
 * must not be given out again. And an allocation needs no derivation, so it is one call of the database.
 */
import { Effect, Queue, Semaphore } from "effect"
import { machineMillis, nowSeconds } from "../Clock.ts"
import type { Family } from "../../schemas/Network.ts"
import type { IndexedWallet, SharedWallet, WalletRef } from "../Chains.ts"
import { restoreWatchSeconds } from "./Restores.ts"
import { accountIndex, type ChainsRepo, type WalletAddress } from "./ChainsRepo.ts"

/**
 * Addresses of each wallet that are watched though nobody was given them: a backup may lose fewer than this without a
 * call of `chains.restored`.
 */
export const watchAheadCount = 20

/** Derived beyond those, so that a wallet in use is looked after once in so many allocations. */
const refillCount = 20

/** Addresses of a wallet that are derived when it is first watched. */
export const firstFillCount = watchAheadCount + refillCount

/** Addresses nobody was given, of all wallets: about 100 bytes of memory each. */
export const maximumAddresses = 200_000

/** Milliseconds of derivation before everything else has its turn: one takes about 1 ms. */
export const sliceMillis = 3

/** Addresses stored at once. */
const chunkSize = 100

export const yieldToEventLoop = Effect.promise<void>(() => new Promise((resolve) => void setImmediate(resolve)))

export const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place)

export const make = Effect.fnUntraced(function*(repo: ChainsRepo) {
  const millis = yield* machineMillis
  const wallets = new Map<string, { readonly wallet: WalletRef; readonly family: Family }>()
  const queuedWallets = new Set<string>()
  const fillLock = yield* Semaphore.make(1)
  const wakes = yield* Queue.unbounded<string>()
  const restoreCutoff = Effect.map(nowSeconds, (now) => now - restoreWatchSeconds)
  // Those of restored backups whose time is over: they are watched no longer from this start on.
  yield* repo.deleteExpiredRestores(yield* restoreCutoff)
  let total = yield* repo.addressCount

  /** Derives `indices` in slices, so that nobody waits for more than a few milliseconds of it, and keeps them. */
  const derive = Effect.fnUntraced(function*(wallet: IndexedWallet, family: Family, indices: ReadonlyArray<number>) {
    for (let offset = 0; offset < indices.length; offset += chunkSize) {
      const chunk: Array<WalletAddress> = []
      let sliceStart = millis()
      for (const walletIndex of indices.slice(offset, offset + chunkSize)) {
        chunk.push({ ...wallet.derive(walletIndex), family, fingerprint: wallet.fingerprint, walletIndex })
        if (millis() - sliceStart < sliceMillis) continue
        yield* yieldToEventLoop
        sliceStart = millis()
      }
      total += yield* repo.storeAddresses(wallet.fingerprint, family, chunk)
    }
  })

  /** Derives what is missing of a wallet's indices in [from, to). */
  const deriveMissing = Effect.fnUntraced(function*(wallet: IndexedWallet, family: Family, from: number, to: number) {
    const end = Math.min(to, wallet.size ?? Number.POSITIVE_INFINITY)
    if (end <= from) return
    const present = new Set(yield* repo.derivedIndices(wallet.fingerprint, from, end))
    yield* derive(wallet, family, range(from, end).filter((index) => !present.has(index)))
  })

  /** Has a shared wallet's account watched: what comes there and names no invoice is its owner's all the same. */
  const storeAccount = ({ accountKey, address, fingerprint }: SharedWallet, family: Family) =>
    repo.storeAddresses(fingerprint, family, [
      { address, matchKey: accountKey, memo: null, family, fingerprint, walletIndex: accountIndex }
    ])

  /** Brings a wallet up to what is watched of it, and its counter up to its start index. */
  const fill = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    if (wallet._tag === "SharedWallet") {
      const stored = yield* repo.derivedIndices(wallet.fingerprint, accountIndex, accountIndex + 1)
      if (stored.length === 0) yield* storeAccount(wallet, family)
      return
    }
    const counter = yield* repo.counter(wallet.fingerprint)
    const from = Math.max(counter?.nextIndex ?? 0, wallet.startIndex)
    if (counter !== null && counter.nextIndex < wallet.startIndex) {
      yield* repo.moveCounter(wallet.fingerprint, wallet.startIndex)
      yield* Effect.logInfo("startIndex was raised: the addresses before it are passed over", {
        family,
        from: counter.nextIndex,
        to: wallet.startIndex
      })
    }
    if (total >= maximumAddresses) {
      return yield* Effect.logWarning(`${maximumAddresses} addresses are watched ahead: no more are added`, { family })
    }
    yield* deriveMissing(wallet, family, from, from + firstFillCount)
    for (const { fromIndex, watchedTo } of yield* repo.walletRestores(wallet.fingerprint, yield* restoreCutoff)) {
      yield* deriveMissing(wallet, family, fromIndex, watchedTo)
    }
  })

  const fillSafely = (wallet: WalletRef, family: Family) =>
    fill(wallet, family).pipe(
      Effect.catchCause((cause) => Effect.logWarning("addresses could not be derived ahead", { family }, cause))
    )

  /** Remembers a wallet and has it filled in the background. */
  const watch = (wallet: WalletRef, family: Family) =>
    Effect.suspend(() => {
      wallets.set(wallet.fingerprint, { wallet, family })
      if (queuedWallets.has(wallet.fingerprint)) return Effect.void
      queuedWallets.add(wallet.fingerprint)
      return Effect.asVoid(Queue.offer(wakes, wallet.fingerprint))
    })

  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(wakes), (fingerprint) => {
    queuedWallets.delete(fingerprint)
    const found = wallets.get(fingerprint)
    return found === undefined ? Effect.void : fillSafely(found.wallet, found.family)
  })))

  return {
    deriveMissing,
    watch,
    /** The same before it returns. */
    watchNow: (wallet: WalletRef, family: Family) =>
      Effect.andThen(
        Effect.sync(() => void wallets.set(wallet.fingerprint, { wallet, family })),
        fillSafely(wallet, family)
      ),
    /** Fills a wallet again whose counter moved, if this instance knows it. */
    refill: (fingerprint: string) =>
      Effect.suspend(() => {
        const found = wallets.get(fingerprint)
        return found === undefined ? Effect.void : watch(found.wallet, found.family)
      }),
    /** Every wallet this instance knows. */
    all: () => [...wallets.values()],
    /** Addresses that are derived and were not given out, of all wallets, as far as this instance counted. */
    total: () => total,
    /** Fills every wallet this instance knows; false: not all could be filled now. */
    fillAll: Effect.suspend(() =>
      Effect.forEach([...wallets.values()], ({ family, wallet }) => fill(wallet, family), { discard: true })
    ).pipe(
      Effect.as(true),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("addresses of a restored backup could not be derived", cause), false)
      ),
      fillLock.withPermits(1)
    ),
    /** Whether a wallet with so few addresses ahead is to be filled. */
    isLow: (unused: number) => unused < watchAheadCount + refillCount / 2
  }
})

export type WalletAddresses = Effect.Success<ReturnType<typeof make>>
