/**
 * Addresses of wallets, derived before an invoice asks for them and kept by the wallet's fingerprint.
 *
 * They are watched: a restored backup may have lost invoices whose payors still pay, and the address of a paid invoice
 * must not be given out again. And an allocation needs no derivation, so it is one call of the database.
 */
import { Clock, Effect, Queue, Semaphore } from "effect"
import { MachineClock, nowSeconds } from "../Clock.ts"
import type { Family } from "../../schemas/Network.ts"
import type { SharedWallet, WalletRef } from "../Chains.ts"
import { make as makeDerivation, range } from "./AddressDerivation.ts"
import { claimRecheckMillis } from "./DerivationClaims.ts"
import { restoreWatchSeconds } from "./Restores.ts"
import { accountIndex, type ChainsRepo } from "./ChainsRepo.ts"

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

/** Has a shared wallet's account watched: what comes there and names no invoice is its owner's all the same. */
const storeAccount = (repo: ChainsRepo, { accountKey, address, fingerprint }: SharedWallet, family: Family) =>
  repo.storeAddresses(fingerprint, family, [
    { address, matchKey: accountKey, memo: null, family, fingerprint, walletIndex: accountIndex }
  ])

export const make = Effect.fnUntraced(function*(repo: ChainsRepo) {
  const wallets = new Map<string, { readonly wallet: WalletRef; readonly family: Family }>()
  /** Those to be filled, and how. */
  const queuedWallets = new Map<string, "whole" | "low">()
  /** Those looked at again once another instance had the time to derive what it claimed. */
  const recheckedWallets = new Set<string>()
  const scope = yield* Effect.scope
  const machineClock = yield* MachineClock
  const fillLock = yield* Semaphore.make(1)
  const wakes = yield* Queue.unbounded<string>()
  const restoreCutoff = Effect.map(nowSeconds, (now) => now - restoreWatchSeconds)
  // Those of restored backups whose time is over: they are watched no longer from this start on.
  yield* repo.deleteExpiredRestores(yield* restoreCutoff)
  const { deriveClaimed, deriveMissing, total } = yield* makeDerivation(repo)

  /** Brings a wallet up to what is watched of it, and its counter up to its start index. */
  const fill = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    if (wallet._tag === "SharedWallet") {
      const stored = yield* repo.derivedIndices(wallet.fingerprint, accountIndex, accountIndex + 1)
      if (stored.length === 0) yield* storeAccount(repo, wallet, family)
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
    if (total() >= maximumAddresses) {
      return yield* Effect.logWarning(`${maximumAddresses} addresses are watched ahead: no more are added`, { family })
    }
    yield* deriveMissing(wallet, family, from, from + firstFillCount)
    for (const { fromIndex, watchedTo } of yield* repo.walletRestores(wallet.fingerprint, yield* restoreCutoff)) {
      yield* deriveMissing(wallet, family, fromIndex, watchedTo)
    }
  })

  /** Derives what is missing ahead of a wallet in use, unless another instance is about it. */
  const fillLow = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    if (wallet._tag === "SharedWallet" || total() >= maximumAddresses) return yield* fill(wallet, family)
    const counter = yield* repo.counter(wallet.fingerprint)
    const from = Math.max(counter?.nextIndex ?? 0, wallet.startIndex)
    const end = from + firstFillCount
    const present = new Set(yield* repo.derivedIndices(wallet.fingerprint, from, end))
    const missing = range(from, end).filter((index) => !present.has(index))
    if (missing.length === 0) return
    const claim = { from: missing[0]!, count: missing.length, below: end }
    if ((yield* deriveClaimed(wallet, family, claim)) !== null || recheckedWallets.has(wallet.fingerprint)) return
    recheckedWallets.add(wallet.fingerprint)
    yield* Effect.sleep(claimRecheckMillis).pipe(
      Effect.andThen(Effect.suspend(() => {
        recheckedWallets.delete(wallet.fingerprint)
        return watch(wallet, family)
      })),
      Effect.provideService(Clock.Clock, machineClock),
      Effect.forkIn(scope)
    )
  })

  const fillSafely = (wallet: WalletRef, family: Family, how: "whole" | "low" = "whole") =>
    (how === "low" ? fillLow(wallet, family) : fill(wallet, family)).pipe(
      Effect.catchCause((cause) => Effect.logWarning("addresses could not be derived ahead", { family }, cause))
    )

  /** Remembers a wallet and has it filled in the background. */
  const watch = (wallet: WalletRef, family: Family, how: "whole" | "low" = "whole"): Effect.Effect<void> =>
    Effect.suspend(() => {
      wallets.set(wallet.fingerprint, { wallet, family })
      const queued = queuedWallets.get(wallet.fingerprint)
      if (queued === undefined || how === "whole") queuedWallets.set(wallet.fingerprint, how)
      return queued === undefined ? Effect.asVoid(Queue.offer(wakes, wallet.fingerprint)) : Effect.void
    })

  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(wakes), (fingerprint) => {
    const how = queuedWallets.get(fingerprint)
    queuedWallets.delete(fingerprint)
    const found = wallets.get(fingerprint)
    return found === undefined ? Effect.void : fillSafely(found.wallet, found.family, how)
  })))

  return {
    deriveClaimed,
    deriveMissing,
    watch: (wallet: WalletRef, family: Family) => watch(wallet, family),
    /** The same for a wallet that {@link isLow} says is to be filled: what another instance derives now is left to it. */
    watchLow: (wallet: WalletRef, family: Family) => watch(wallet, family, "low"),
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
    total,
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
