/**
 * What wallets hold when a month has ended: read once, at the first final block that is seen after its end. What came
 * between the end and that block is taken off again, so the reading is that of the month's last moment.
 */
import { Clock, Effect, MutableRef } from "effect"
import type { Chains } from "../../../runtime/Chains.ts"
import { type Commit, noCause } from "../../../runtime/Commit.ts"
import type { DueSource } from "../../../runtime/Timers.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import { readAsset } from "../../ledger/plugin.ts"
import { readingWrite, type Repo, type WalletAsset } from "../repo.ts"
import { monthOf, type Period, previousMonth, type WalletReading } from "../rules.ts"

export interface ReadingServices {
  readonly chains: Chains["Service"]
  readonly commit: Commit["Service"]
  readonly repo: Repo
}

/** Wallets' assets that are read in one run. */
const batchSize = 20

/** Milliseconds before a wallet is tried again whose network has no final block after the month's end, or no answer. */
const pauseMillis = 60_000

/** Seconds after the month's end up to which a reading still tells of it: what leaves a wallet meanwhile is not seen. */
const latestSeconds = 86_400

const chainPrefix = "chain:"
const unknownWallet = `${chainPrefix}unknown`

const isNetwork = (text: string): text is Network => networks.some((each) => each === text)

/** What the chain says; null: it cannot say it yet. */
const readingOf = Effect.fnUntraced(function*(
  { chains, repo }: ReadingServices,
  { account, asset, isShared, ...owner }: WalletAsset,
  period: Period,
  nowSeconds: number
): Effect.fn.Return<WalletReading | null> {
  const none = { period: period.name!, account, asset, laterUnits: 0n, hasSent: false, readAt: nowSeconds }
  const gap = (reason: WalletReading["reason"]): WalletReading => ({ ...none, units: null, block: null, reason })
  if (account === unknownWallet) return gap("unknown_wallet")
  if (isShared) return gap("shared")
  const { address, network } = readAsset(asset)
  if (!isNetwork(network)) return gap("not_followed")
  const fingerprint = account.slice(chainPrefix.length)
  const found = yield* chains.walletBalances({
    network,
    environment: owner.environment,
    fingerprint,
    tokens: [address]
  }).pipe(
    Effect.catch((error) =>
      Effect.as(Effect.logInfo("what a wallet holds cannot be read now", { network, reason: error.reason }), null)
    )
  )
  if (found === null) return null
  if (found._tag === "Unreadable") return gap(found.reason)
  if (found.point.time < period.to) return null
  if (found.point.time > period.to + latestSeconds) return gap("missed")
  const laterUnits = yield* repo.receivedSince(owner, network, address, fingerprint, period.to, found.point.height)
  return { ...none, units: found.balances[0]!, laterUnits, hasSent: found.hasSent, block: found.point, reason: null }
})

/** Keeps the readings of the month that ended last. */
export const readWallets = (services: ReadingServices): Effect.Effect<DueSource> =>
  Effect.sync(() => {
    const { commit, repo } = services
    const notBefore = MutableRef.make(0)
    const lastMonth = Effect.map(Clock.currentTimeMillis, (millis) => previousMonth(monthOf(Math.floor(millis / 1000))))

    const read = Effect.fnUntraced(function*(wallet: WalletAsset, period: Period, nowMillis: number) {
      const reading = yield* readingOf(services, wallet, period, Math.floor(nowMillis / 1000))
      if (reading === null) return 0
      const { environment, merchantId } = wallet
      return yield* commit.append({
        merchantId,
        environment,
        cause: noCause,
        writes: [readingWrite({ environment, merchantId }, reading)],
        events: []
      }).pipe(
        Effect.as(1),
        Effect.catchTags({
          // Another instance was first.
          Conflict: () => Effect.succeed(1),
          IdempotentReplay: (bug) => Effect.die(bug),
          PublicError: () => Effect.succeed(0)
        })
      )
    })

    return {
      name: "reconciliation-readings",
      batchSize,
      nextDueMillis: Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        if (now < MutableRef.get(notBefore)) return MutableRef.get(notBefore)
        const { name } = yield* lastMonth
        return (yield* repo.unread(name!, 1)).length === 0 ? null : now
      }),
      run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
        if (nowMillis < MutableRef.get(notBefore)) return 0
        const period = yield* lastMonth
        const wallets = yield* repo.unread(period.name!, limit)
        const counts = yield* Effect.forEach(wallets, (wallet) => read(wallet, period, nowMillis))
        const count = counts.reduce((sum, each) => sum + each, 0)
        if (count < wallets.length) MutableRef.set(notBefore, nowMillis + pauseMillis)
        return count
      })
    }
  })
