/** The text of a wallet becomes what addresses are derived from, once for all who need it. */
import { Deferred, Effect, Scope } from "effect"
import { createHash } from "node:crypto"
import { Chains, type WalletOwner, type WalletRef } from "../../../runtime/Chains.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"
import { type OwnedWallet, startingAt } from "../rules.ts"

/** Addresses of parsed wallets in the cache, at most: each takes some 60 bytes, so 30 MB. */
const maximumCachedAddresses = 500_000

/** The cache key of a wallet's text: a hash, because a list of 5,000 addresses is long. */
const readingKey = (
  { environment, family }: Omit<WalletOwner, "merchantId">,
  kind: WalletKind,
  value: string,
  seed = ""
): string => createHash("sha256").update(`${environment} ${family} ${kind} ${seed}\n${value}`).digest("base64url")

/**
 * Parses wallets and caches them, so that each text is parsed once for all merchants, invoices and lists that need it:
 * a list of 5,000 addresses takes some 200 ms of processor time, an xpub 1 ms. Invalid texts are not cached.
 */
export const makeWalletReader = Effect.gen(function*() {
  const chains = yield* Chains
  const scope = yield* Scope.Scope
  const cache = new Map<string, WalletRef>()
  const pending = new Map<string, Deferred.Deferred<WalletRef | string | null>>()
  let addresses = 0

  const sizeOf = (wallet: WalletRef): number => wallet._tag === "SharedWallet" ? 1 : wallet.size ?? 1

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

  const read: Chains["Service"]["readWallet"] = (owner, kind, value, seed) =>
    Effect.suspend(() => {
      const key = readingKey(owner, kind, value, seed)
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
        return restore(chains.readWallet(owner, kind, value, seed)).pipe(
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
    Effect.flatMap(read(owner, wallet.kind, wallet.value, wallet.seed ?? undefined), (ref) =>
      typeof ref === "string"
        ? Effect.die(new Error(`receiving wallet ${wallet.id} cannot be read any more`))
        : Effect.succeed(ref === null ? null : startingAt(ref, wallet.startIndex)))

  return { read, readStored }
})

export type WalletReader = Effect.Success<typeof makeWalletReader>
