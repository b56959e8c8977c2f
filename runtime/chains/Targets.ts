/**
 * Receive targets: one per (invoice, family). An indexed wallet has one counter for the whole deployment, and each
 * target takes its next index. A shared wallet has no counter: all of its targets are one address, and differ by their
 * memo.
 *
 * A counter moves under its row's lock, in the transaction that writes its targets, so a wallet's indices become
 * visible in order: "indices from N on" misses none (`WatchedKeys.ts`).
 */
import { Clock, Deferred, Duration, Effect, Exit, Queue } from "effect"
import { MachineClock, machineMillis, nowSeconds } from "../Clock.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Family } from "../../schemas/Network.ts"
import type { SqlError } from "effect/sql"
import {
  type AllocatedTarget,
  type IndexedWallet,
  reservedAddresses,
  type SharedWallet,
  type WalletOwner,
  type WalletRef
} from "../Chains.ts"
import { flushErrorOf } from "../commit/FlushError.ts"
import { databaseMessage } from "../store/StoreError.ts"
import type { ChainHeads, ChainsRepo, TargetRow } from "./ChainsRepo.ts"
import { claimPollMillis, claimSize, nextDerivation, nothingDerived } from "./DerivationClaims.ts"
import { make as makeWatchedKeys } from "./WatchedKeys.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"

/** Targets that one call of the database allocates, at most. */
const batchLimit = 200
/** Addresses derived at once, at least, where those ahead are used up. */
const derivationBatch = 20
/** Rounds of derivation for one batch, at most: a list of 5,000 addresses that are all taken needs 50. */
const maximumDerivations = 100
/** Repeats of a call that met a deadlock with allocations of the same invoices from other wallets, at most. */
const deadlockRetries = 3
/** A call with its repeats that takes longer has an unknown outcome. Repeating it is safe: it finds a stored target. */
const callLimit = Duration.seconds(3)
/**
 * Milliseconds for which an allocation that failed is repeated, and the pause before each repeat: on a busy machine one
 * call may wait too long for its turn. With the 3 s of the last call this is 8 s, and a request may take 9 s. A caller
 * that waited for the chains first has less time left: there the limit of the request ends the wait.
 */
const retryMillis = 5_000
const retryPauseMillis = 500

/** Repeats a call of the database after a deadlock, at most 3 times, and fails after 3 s in all. */
export const retryDeadlocks = <A>(call: Effect.Effect<A, SqlError.SqlError>) =>
  call.pipe(
    Effect.retry({ while: (error) => flushErrorOf(error) === "retryable", times: deadlockRetries }),
    Effect.timeout(callLimit)
  )

export interface TargetRequest extends WalletOwner {
  readonly invoiceId: string
  readonly refusedTokens?: ReadonlyArray<number>
  /** Whether anybody can have made the invoice, through a payment link: none of {@link reservedAddresses} is for it. */
  readonly isOfStranger?: boolean
}

/** Whether the chains of a family are read far enough for addresses to be given out. */
export interface ChainReadiness {
  /** The newest blocks of the chains that are read up to their end. */
  readonly heads: (family: Family) => ChainHeads
  /**
   * Waits until the addresses of a restored backup's lost invoices cannot be given out again; fails where it takes
   * long.
   */
  readonly awaitCatchUp: (family: Family) => Effect.Effect<void, PublicError>
}

interface PendingAllocation {
  readonly request: TargetRequest
  readonly wallet: WalletRef
  readonly reply: Deferred.Deferred<AllocatedTarget, PublicError>
}

/** For the wallet's owner and the operator: what payors are told is in modules/payments/rules.ts. */
const walletExhausted = publicError("UNSUPPORTED_NETWORK", {
  message:
    "The receiving wallet of this network has no address left: send a longer list of addresses, in which those of today " +
    "come first"
})

const gapReached = (gapLimit: number) =>
  publicError("UNSUPPORTED_NETWORK", {
    message:
      `${gapLimit} addresses in a row of this network's receiving wallet wait for their first payment, and its owner's ` +
      "wallet would not look beyond them: another one is given out once one of them was paid to"
  })

/** What callers see of a row. */
export const toAllocatedTarget = (
  { address, fingerprint, matchKey, memo, refusedTokens }: TargetRow
): AllocatedTarget => ({ address, matchKey, memo, refusedTokens, fingerprint })

const noneLeftForStrangers = publicError("UNSUPPORTED_NETWORK", {
  message:
    "The receiving wallet of this network has no address left for payment links: the last quarter of its addresses is " +
    "kept for invoices that the merchant makes"
})

const targetExit = (
  targets: ReadonlyMap<string, TargetRow>,
  wallet: WalletRef,
  { invoiceId, isOfStranger = false }: TargetRequest
): Exit.Exit<AllocatedTarget, PublicError> => {
  const target = targets.get(invoiceId)
  if (target !== undefined) return Exit.succeed(toAllocatedTarget(target))
  if (isOfStranger) return Exit.fail(noneLeftForStrangers)
  const gapLimit = wallet._tag === "IndexedWallet" ? wallet.gapLimit : null
  return Exit.fail(gapLimit === null ? walletExhausted : gapReached(gapLimit))
}

// oxlint-disable-next-line max-lines-per-function -- one allocation: counter, watch and retry share a queue
export const make = Effect.fnUntraced(function*(repo: ChainsRepo, addresses: WalletAddresses, chains: ChainReadiness) {
  const scope = yield* Effect.scope
  const monotonicMillis = yield* machineMillis
  const machineClock = yield* MachineClock
  const pause = Effect.provideService(Effect.sleep(claimPollMillis), Clock.Clock, machineClock)
  const retryPause = Effect.provideService(Effect.sleep(retryPauseMillis), Clock.Clock, machineClock)
  const { addTarget, isOwn, refresh, watch, watchAccounts } = yield* makeWatchedKeys(repo)

  /**
   * The first index that a wallet cannot give out now; null: there is none. What a restored backup passed over counts
   * as used: the addresses of lost invoices must not be given out again.
   */
  const endIndexOf = Effect.fnUntraced(function*({ fingerprint, gapLimit, size, startIndex }: IndexedWallet) {
    if (gapLimit === null) return size
    const used = yield* repo.highestUsedIndex(fingerprint)
    const restored = yield* repo.walletRestores(fingerprint, 0)
    const next = Math.max(startIndex, (used ?? -1) + 1, ...restored.map(({ toIndex }) => toIndex))
    return Math.min(next + gapLimit, size ?? Number.POSITIVE_INFINITY)
  })

  /** How many addresses a wallet can still give out now, at most; null: there is no end. */
  const remaining = Effect.fnUntraced(function*(wallet: WalletRef) {
    if (wallet._tag === "SharedWallet") return null
    const endIndex = yield* endIndexOf(wallet)
    if (endIndex === null) return null
    const counter = yield* repo.counter(wallet.fingerprint)
    return Math.max(0, endIndex - Math.max(wallet.startIndex, counter?.nextIndex ?? 0))
  })

  /** A target for all of `requests`; those that have one already get that one. None from `endIndex` on. */
  const allocateBelow = Effect.fnUntraced(function*(
    wallet: IndexedWallet,
    family: Family,
    requests: ReadonlyArray<TargetRequest>,
    endIndex: number | null
  ) {
    const targets = new Map<string, TargetRow>()
    let derivation = nothingDerived
    let claims = 0
    for (let derivations = 0; derivations < maximumDerivations;) {
      const allocation = yield* repo.allocate({
        fingerprint: wallet.fingerprint,
        family,
        startIndex: wallet.startIndex,
        endIndex,
        now: yield* nowSeconds,
        heads: chains.heads(family),
        requests: requests.filter(({ invoiceId }) => !targets.has(invoiceId)).map((request) => ({
          ...request,
          refusedTokens: request.refusedTokens ?? []
        }))
      }).pipe(retryDeadlocks)
      for (const target of allocation.targets) {
        addTarget(target)
        targets.set(target.invoiceId, target)
      }
      if (addresses.isLow(allocation.unusedAddresses)) yield* addresses.watchLow(wallet, family)
      const missing = requests.length - targets.size
      if (missing === 0 || allocation.next >= (endIndex ?? Number.POSITIVE_INFINITY)) break
      const step = nextDerivation(derivation, allocation.next, monotonicMillis())
      if (step._tag === "Wait") {
        derivation = step.state
        yield* pause
        continue
      }
      derivations++
      if (step._tag === "Takeover") {
        yield* addresses.deriveMissing(wallet, family, step.from, step.to)
        continue
      }
      const claim = {
        from: allocation.next,
        count: claimSize(Math.max(missing, derivationBatch), claims++),
        below: null
      }
      const derivedTo = yield* addresses.deriveClaimed(wallet, family, claim)
      derivation = { derivedTo: derivedTo ?? 0, awaited: null }
    }
    return targets
  })

  /** The same up to the wallet's end; invoices of strangers get none of the last addresses, which are reserved. */
  const allocateIndexed = Effect.fnUntraced(function*(
    wallet: IndexedWallet,
    family: Family,
    pending: ReadonlyArray<PendingAllocation>
  ) {
    const requests = [...new Map(pending.map(({ request }) => [request.invoiceId, request])).values()]
    const endIndex = yield* endIndexOf(wallet)
    const strangerEndIndex = endIndex === null ? null : endIndex - reservedAddresses(wallet)
    const strangers = requests.filter(({ isOfStranger = false }) => isOfStranger)
    const others = requests.filter(({ isOfStranger = false }) => !isOfStranger)
    return new Map([
      ...(others.length === 0 ? [] : yield* allocateBelow(wallet, family, others, endIndex)),
      ...(strangers.length === 0 ? [] : yield* allocateBelow(wallet, family, strangers, strangerEndIndex))
    ])
  })

  const allocateShared = Effect.fnUntraced(function*(
    wallet: SharedWallet,
    family: Family,
    pending: ReadonlyArray<PendingAllocation>
  ) {
    const requests = [...new Map(pending.map(({ request }) => [request.invoiceId, request])).values()]
    const found = yield* repo.allocateShared({
      fingerprint: wallet.fingerprint,
      family,
      now: yield* nowSeconds,
      heads: chains.heads(family),
      requests: requests.map((request) => ({
        ...request,
        refusedTokens: request.refusedTokens ?? [],
        target: wallet.targetOf(request.invoiceId)
      }))
    }).pipe(retryDeadlocks)
    found.forEach(addTarget)
    yield* addresses.watch(wallet, family)
    return new Map(found.map((target) => [target.invoiceId, target]))
  })

  const allocateAll = Effect.fnUntraced(function*(family: Family, pending: ReadonlyArray<PendingAllocation>) {
    // The newest: its start index may have been raised.
    const { wallet } = pending[pending.length - 1]!
    return wallet._tag === "SharedWallet"
      ? yield* allocateShared(wallet, family, pending)
      : yield* allocateIndexed(wallet, family, pending)
  })

  /** The same, again and again until `endMillis` where the database could not do it. */
  const allocateUntil = (
    endMillis: number,
    family: Family,
    pending: ReadonlyArray<PendingAllocation>
  ): ReturnType<typeof allocateAll> =>
    allocateAll(family, pending).pipe(
      Effect.tapError((error) => Effect.logWarning("receive targets could not be allocated", error)),
      Effect.catch((error) => {
        const isFinal = error._tag === "SqlError" && flushErrorOf(error) === "data"
        return isFinal || monotonicMillis() >= endMillis
          ? Effect.fail(error)
          : Effect.andThen(retryPause, Effect.suspend(() => allocateUntil(endMillis, family, pending)))
      })
    )

  const serve = (family: Family, queue: Queue.Queue<PendingAllocation>) =>
    Effect.gen(function*() {
      const pending = yield* Queue.takeBetween(queue, 1, batchLimit)
      const endMillis = monotonicMillis() + retryMillis
      const targets = yield* allocateUntil(endMillis, family, pending).pipe(
        Effect.mapError((error) =>
          publicError("SERVICE_UNAVAILABLE", {
            retryAfterSeconds: 1,
            reason: `receive targets could not be allocated: ${databaseMessage(error)}`
          })
        ),
        Effect.exit
      )
      // After a time-out those that wait fail too, because they would time out as well.
      const isOutage = Exit.isFailure(targets) && monotonicMillis() >= endMillis
      const answered = isOutage ? [...pending, ...yield* Queue.clear(queue)] : pending
      for (const { reply, request, wallet } of answered) {
        yield* Deferred.done(
          reply,
          Exit.match(targets, {
            onFailure: (cause): Exit.Exit<AllocatedTarget, PublicError> => Exit.failCause(cause),
            onSuccess: (found) => targetExit(found, wallet, request)
          })
        )
      }
    }).pipe(Effect.forever)

  const queues = new Map<string, Queue.Queue<PendingAllocation>>()
  const queueOf = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    const name = `${wallet.fingerprint}:${family}`
    const found = queues.get(name)
    if (found !== undefined) return found
    const queue = yield* Queue.unbounded<PendingAllocation>()
    queues.set(name, queue)
    yield* Effect.forkIn(Effect.interruptible(serve(family, queue)), scope)
    return queue
  }, Effect.uninterruptible)

  const target = Effect.fnUntraced(function*(invoiceId: string, family: Family) {
    const found = (yield* repo.targetsByInvoice(family, [invoiceId]))[0]
    return found ?? null
  })

  const allocate = Effect.fnUntraced(function*(wallet: WalletRef, request: TargetRequest) {
    yield* chains.awaitCatchUp(request.family)
    const queue = yield* queueOf(wallet, request.family)
    const reply = yield* Deferred.make<AllocatedTarget, PublicError>()
    yield* Queue.offer(queue, { request, reply, wallet })
    return yield* Deferred.await(reply)
  })

  return { allocate, isOwn, refresh, remaining, target, watch, watchAccounts }
})
