/** Which wallet of a merchant receives now. */
import { Cache, Effect } from "effect"
import { keepSuccess } from "../../../runtime/Cache.ts"
import type { WalletOwner } from "../../../runtime/Chains.ts"
import { Environment, Family } from "../../../schemas/Network.ts"
import { makeRepo } from "../repo.ts"
import type { WalletReader } from "./WalletReader.ts"

/** Milliseconds for which a merchant's wallet is not read again: payors see a change of it after as long at most. */
const cacheMillis = 2_000

/** Wallets remembered at once of an environment and family; the one that was not asked for the longest goes first. */
const cacheCapacity = 1_000

/** The wallets that receive now, remembered for {@link cacheMillis}. */
export const makeActiveWallets = Effect.fnUntraced(function*(reader: WalletReader) {
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
