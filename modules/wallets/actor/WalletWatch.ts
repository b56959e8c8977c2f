/** The next addresses of all wallets are watched, again and again, and each wallet has one owner. */
import { Effect, Schedule } from "effect"
import type { Chains } from "../../../runtime/Chains.ts"
import { type Commit, noCause } from "../../../runtime/Commit.ts"
import type { makeRepo } from "../repo.ts"
import type { OwnedWallet } from "../rules.ts"
import type { WalletReader } from "./WalletReader.ts"

export interface WatchContext {
  readonly chains: Chains["Service"]
  readonly commit: Commit["Service"]
  readonly repo: Effect.Success<typeof makeRepo>
  readonly reader: WalletReader
}

/** Pause between passes over all wallets: one that another instance was given is watched here 10 min later at most. */
const watchMillis = 600_000

/**
 * Watches a wallet's next addresses, which starts anew with each process, and records its owner where an older
 * build did not.
 */
const watchAndClaim = Effect.fnUntraced(function*({ chains, commit, reader }: WatchContext, ownedWallet: OwnedWallet) {
  const ref = yield* reader.readStored(ownedWallet)
  if (ref === null) return
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
  yield* chains.watchWallet(ref, ownedWallet.family)
})

/** Watches all wallets for as long as the scope is open. */
export const watchWallets = (context: WatchContext) =>
  context.repo.all.pipe(
    Effect.flatMap((all) =>
      Effect.forEach(all, (owned) =>
        watchAndClaim(context, owned).pipe(
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
