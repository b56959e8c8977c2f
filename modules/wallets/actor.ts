/** Load, decide, commit: how a merchant's receiving wallets change, and which one receives now. */
import { Cache, Context, Deferred, Effect, Layer, Schedule, Scope } from "effect"
import { createHash } from "node:crypto"
import { keepSuccess } from "../../runtime/Cache.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { Chains, type WalletOwner, type WalletRef } from "../../runtime/Chains.ts"
import {
  Commit,
  type CommitCause,
  type IdempotentReplay,
  noCause,
  type ReplyWrite,
  retryConflicts,
  type Write
} from "../../runtime/Commit.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { Environment, Family } from "../../schemas/Network.ts"
import type { ReceivingWallet, WalletKind } from "../../schemas/Wallet.ts"
import { firstAddresses, type OwnedWallet, startIndexOf, walletObject, type WalletState } from "./rules.ts"
import { makeRepo, type WalletRow, walletWrite } from "./repo.ts"

/** Milliseconds for which a merchant's wallet is not read again: payors see a change of it after as long at most. */
const cacheMillis = 2_000

/** Wallets remembered at once of an environment and family; the one that was not asked for the longest goes first. */
const cacheCapacity = 10_000

/** Addresses of parsed wallets in the cache, at most: each takes some 60 bytes, so 30 MB. */
const maximumCachedAddresses = 500_000

/** Pause between passes over all wallets: one that another instance was given is watched here 10 min later at most. */
const watchMillis = 600_000

/** How often a change that lost a race is decided anew. */
const conflictRetries = 3

/** A wallet as its owner gives it. */
export interface NewWallet {
  readonly kind: WalletKind
  readonly value: string
  readonly startIndex: number | undefined
}

type Reply<A> = (result: A) => ReplyWrite | undefined

export class Wallets extends Context.Service<Wallets, {
  readonly list: (merchantId: number, environment: Environment) => Effect.Effect<ReadonlyArray<ReceivingWallet>>
  /**
   * Makes a wallet the one that later invoices are paid to; those that have an address keep it. Errors:
   * `UNSUPPORTED_NETWORK` where no driver of the family runs, `WALLET_INVALID`, also for a wallet in which another
   * merchant or the deployment itself receives, in either environment, `VALIDATION_ERROR` for `start_index`.
   */
  readonly put: (
    owner: WalletOwner,
    newWallet: NewWallet,
    cause: CommitCause,
    reply: Reply<ReceivingWallet>
  ) => Effect.Effect<ReceivingWallet, PublicError | IdempotentReplay>
  /** From then on the deployment's own wallet receives, if there is one. `NOT_FOUND` where there is none to remove. */
  readonly remove: (owner: WalletOwner, cause: CommitCause, reply: Reply<void>) => Effect.Effect<
    void,
    PublicError | IdempotentReplay
  >
}>()("tillwire/modules/wallets/Wallets") {
  static readonly layer = Layer.effect(
    Wallets,
    Effect.gen(function*() {
      const actors = yield* Actors
      const chains = yield* Chains
      const commit = yield* Commit
      const repo = yield* makeRepo
      const reader = yield* makeWalletReader
      const activeWallets = yield* makeActiveWallets(reader)

      const bodyOf = (ownedWallet: OwnedWallet) =>
        Effect.flatMap(reader.readStored(ownedWallet), (ref) => {
          if (ref === null) {
            return Effect.succeed(walletObject(ownedWallet, [], { nextIndex: null, highestUsedIndex: null }))
          }
          const addresses = firstAddresses(ref.size, (index) => ref.derive(index).address)
          return Effect.map(chains.walletUse(ref.fingerprint), (use) => walletObject(ownedWallet, addresses, use))
        })

      /** Runs in the owner's mailbox; a race lost to another instance is decided anew. */
      const change = <A>(
        owner: WalletOwner,
        cause: CommitCause,
        decide: (row: WalletRow) => Effect.Effect<
          {
            readonly wallet: WalletState | null
            readonly result: A
            readonly reply: ReplyWrite | undefined
            readonly writes?: ReadonlyArray<Write>
          },
          PublicError
        >
      ): Effect.Effect<A, PublicError | IdempotentReplay> =>
        actors.send(
          "wallets",
          `${owner.merchantId} ${owner.environment} ${owner.family}`,
          Effect.gen(function*() {
            const row = yield* repo.find(owner)
            const { reply, result, wallet, writes = [] } = yield* decide(row)
            yield* commit.append({
              merchantId: owner.merchantId,
              environment: owner.environment,
              cause,
              writes: [walletWrite(owner, { version: row.version + 1, wallet }), ...writes],
              events: [],
              ...(reply === undefined ? {} : { reply })
            })
            yield* activeWallets.evict(owner)
            return result
          })
        ).pipe(
          retryConflicts(conflictRetries),
          Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
        )

      const readNew = Effect.fnUntraced(function*(
        owner: WalletOwner,
        { kind, value }: NewWallet
      ): Effect.fn.Return<WalletRef, PublicError> {
        const found = yield* reader.read(owner, kind, value)
        if (found === null) {
          return yield* publicError("UNSUPPORTED_NETWORK", {
            message: `No driver of the ${owner.family} family runs for ${owner.environment} here`,
            param: "family"
          })
        }
        return typeof found === "string"
          ? yield* publicError("WALLET_INVALID", { message: found, param: "value" })
          : found
      })

      yield* chains.registerWallets(activeWallets.of)

      /**
       * Watches a wallet's next addresses, which starts anew with each process, and records its owner where an older
       * build did not.
       */
      const watchAndClaim = Effect.fnUntraced(function*(ownedWallet: OwnedWallet) {
        const ref = yield* reader.readStored(ownedWallet)
        if (ref === null) return
        yield* chains.watchWallet(ref, ownedWallet.family)
        const claim = yield* chains.claimWallet(ref.fingerprint, ownedWallet.merchantId)
        if (claim === null) {
          const { environment, family, merchantId } = ownedWallet
          yield* Effect.logError(
            "two merchants receive in the same wallet, so an unmatched payment has no owner: ask this one to set another wallet",
            {
              merchantId,
              environment,
              family
            }
          )
        } else if (claim.length > 0) {
          const { environment, merchantId } = ownedWallet
          yield* commit.append({ merchantId, environment, cause: noCause, writes: claim, events: [] })
        }
      })
      yield* repo.all.pipe(
        Effect.flatMap((all) =>
          Effect.forEach(all, (owned) =>
            watchAndClaim(owned).pipe(
              Effect.catchCause((cause) =>
                Effect.logWarning("a receiving wallet is not watched; it is tried again in 10 min", {
                  id: owned.wallet.id
                }, cause)
              )
            ), { discard: true })
        ),
        Effect.catchCause((cause) =>
          Effect.logWarning("receiving wallets could not be read; they are tried again in 10 min", cause)
        ),
        Effect.repeat(Schedule.spaced(watchMillis)),
        Effect.forkScoped
      )

      return Wallets.of({
        list: (merchantId, environment) =>
          Effect.flatMap(repo.list(merchantId, environment), (owned) => Effect.forEach(owned, bodyOf)),
        put: Effect.fnUntraced(function*(owner, given, cause, reply) {
          const ref = yield* readNew(owner, given)
          const { nextIndex } = yield* chains.walletUse(ref.fingerprint)
          const startIndex = startIndexOf(owner.environment, given.kind, given.startIndex, nextIndex !== null)
          if (startIndex instanceof PublicError) return yield* startIndex
          const id = `wal_${yield* uuidV7}`
          return yield* change(owner, cause, () =>
            Effect.gen(function*() {
              const claim = yield* chains.claimWallet(ref.fingerprint, owner.merchantId)
              if (claim === null) {
                // An unmatched payment to a shared wallet would have two owners. The message does not tell who uses it.
                const message =
                  "This wallet already receives for somebody else here: use another account or list of addresses"
                return yield* publicError("WALLET_INVALID", { message, param: "value" })
              }
              const createdAt = yield* nowSeconds
              const wallet: WalletState = { id, kind: given.kind, value: given.value, startIndex, createdAt }
              const walletBody = yield* bodyOf({ ...owner, wallet })
              yield* chains.watchWallet({ ...ref, startIndex }, owner.family)
              return { wallet, result: walletBody, reply: reply(walletBody), writes: claim }
            }))
        }),
        remove: (owner, cause, reply) =>
          change(owner, cause, ({ wallet }) =>
            wallet === null
              ? Effect.fail(publicError("NOT_FOUND", { message: "There is no wallet of this family" }))
              : Effect.succeed({ wallet: null, result: undefined, reply: reply() }))
      })
    })
  )
}

/** The cache key of a wallet's text: a hash, because a list of 5,000 addresses is long. */
const readingKey = (
  { environment, family }: Omit<WalletOwner, "merchantId">,
  kind: WalletKind,
  value: string
): string => createHash("sha256").update(`${environment} ${family} ${kind}\n${value}`).digest("base64url")

/**
 * Parses wallets and caches them, so that each text is parsed once for all merchants, invoices and lists that need it:
 * a list of 5,000 addresses takes some 200 ms of processor time, an xpub 1 ms. Invalid texts are not cached.
 */
const makeWalletReader = Effect.gen(function*() {
  const chains = yield* Chains
  const scope = yield* Scope.Scope
  const cache = new Map<string, WalletRef>()
  const pending = new Map<string, Deferred.Deferred<WalletRef | string | null>>()
  let addresses = 0

  const sizeOf = ({ size }: WalletRef): number => size ?? 1

  const evict = (key: string): void => {
    const ref = cache.get(key)
    if (ref === undefined) return
    cache.delete(key)
    addresses -= sizeOf(ref)
  }

  /** Evicts the least recently used; the newest stays whatever its size. */
  const store = (key: string, ref: WalletRef): void => {
    evict(key)
    cache.set(key, ref)
    addresses += sizeOf(ref)
    while (addresses > maximumCachedAddresses && cache.size > 1) evict(cache.keys().next().value!)
  }

  const read: ChainsService["readWallet"] = (owner, kind, value) =>
    Effect.suspend(() => {
      const key = readingKey(owner, kind, value)
      const hit = cache.get(key)
      if (hit !== undefined) {
        store(key, hit)
        return Effect.succeed(hit)
      }
      const inFlight = pending.get(key)
      if (inFlight !== undefined) return Deferred.await(inFlight)
      // In its own fiber: an interrupted caller does not interrupt others that wait for the same wallet.
      return Effect.uninterruptibleMask((restore) => {
        const deferred = Deferred.makeUnsafe<WalletRef | string | null>()
        pending.set(key, deferred)
        return restore(chains.readWallet(owner, kind, value)).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              pending.delete(key)
              if (exit._tag === "Success" && exit.value !== null && typeof exit.value !== "string") {
                store(key, exit.value)
              }
              Deferred.doneUnsafe(deferred, exit)
            })
          ),
          Effect.forkIn(scope),
          Effect.andThen(restore(Deferred.await(deferred)))
        )
      })
    })

  /**
   * A stored wallet; null while no driver of its family runs. Dies for one that cannot be read any more: it was
   * readable when it was set, so the deployment is at fault, and paying into another wallet would be worse than
   * refusing.
   */
  const readStored = ({ wallet, ...owner }: OwnedWallet): Effect.Effect<WalletRef | null> =>
    Effect.flatMap(read(owner, wallet.kind, wallet.value), (ref) =>
      typeof ref === "string"
        ? Effect.die(new Error(`receiving wallet ${wallet.id} cannot be read any more`))
        : Effect.succeed(ref === null ? null : { ...ref, startIndex: wallet.startIndex }))

  return { read, readStored }
})

type ChainsService = typeof Chains.Service

/** The wallets that receive now, remembered for {@link cacheMillis}. */
const makeActiveWallets = Effect.fnUntraced(function*(reader: Effect.Success<typeof makeWalletReader>) {
  const repo = yield* makeRepo
  const find = Effect.fnUntraced(function*(owner: WalletOwner) {
    const { wallet } = yield* repo.find(owner)
    return wallet === null ? null : yield* reader.readStored({ ...owner, wallet })
  })
  const cacheOf = Effect.fnUntraced(function*(environment: Environment, family: Family) {
    const cache = yield* Cache.makeWith((merchantId: number) => find({ merchantId, environment, family }), {
      capacity: cacheCapacity,
      timeToLive: keepSuccess(cacheMillis)
    })
    return [`${environment} ${family}`, cache] as const
  })
  const caches = new Map(
    yield* Effect.forEach(
      Environment.literals.flatMap((environment) => Family.literals.map((family) => ({ environment, family }))),
      ({ environment, family }) => cacheOf(environment, family)
    )
  )
  const cacheFor = ({ environment, family }: WalletOwner) => caches.get(`${environment} ${family}`)!

  return {
    of: (owner: WalletOwner) => Cache.get(cacheFor(owner), owner.merchantId),
    evict: (owner: WalletOwner) => Cache.invalidate(cacheFor(owner), owner.merchantId)
  }
})
