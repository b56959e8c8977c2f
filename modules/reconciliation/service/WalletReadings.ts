/**
 * What wallets hold when a month has ended: read once, at the first final block that is seen after its end. What came
 * between the end and that block is taken off again, so the reading is that of the month's last moment.
 */
import { Clock, Effect, MutableRef } from "effect"
import type { Chains } from "../../../runtime/Chains.ts"
import { type Commit, noCause, systemMerchant } from "../../../runtime/Commit.ts"
import type { DueSource } from "../../../runtime/Timers.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import { readAsset } from "../../ledger/plugin.ts"
import { firstWallet, readingWrite, type Repo, type WalletAsset, type WalletPlace } from "../repo.ts"
import { monthOf, nextMonth, type Period, previousMonth, type WalletReading } from "../rules.ts"

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
  { account, asset, environment, isShared, merchantId }: WalletAsset,
  period: Period,
  nowSeconds: number
): Effect.fn.Return<WalletReading | null> {
  const owner = { environment, merchantId }
  const none = {
    period: period.name!,
    account,
    asset,
    laterUnits: 0n,
    forwardedUnits: 0n,
    hasSent: false,
    readAt: nowSeconds
  }
  const gap = (reason: WalletReading["reason"]): WalletReading => ({ ...none, units: null, block: null, reason })
  if (account === unknownWallet) return gap("unknown_wallet")
  if (isShared) return gap("shared")
  const { address, network } = readAsset(asset)
  if (!isNetwork(network)) return gap("not_followed")
  const fingerprint = account.slice(chainPrefix.length)
  const before = (yield* repo.readingsBefore(owner, period.name!)).find((each) =>
    each.account === account && each.asset === asset
  )
  const found = yield* chains.walletBalances({
    network,
    environment,
    fingerprint,
    tokens: [address],
    forwardedBefore: [before?.block == null ? null : { units: before.forwardedUnits, height: before.block.height }]
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
  return {
    ...none,
    units: found.balances[0]!,
    laterUnits,
    forwardedUnits: found.forwarded[0]!,
    hasSent: found.hasSent,
    block: found.point,
    reason: null
  }
})

/** How far the wallets were gone through for a month. */
interface Round {
  readonly period: Period
  readonly after: WalletPlace
  /** Some of them could not be read yet. */
  readonly isPartial: boolean
  /** Epoch milliseconds before which nothing is read. */
  readonly notBefore: number
}

const beginRound = (period: Period, notBefore = 0): Round => ({
  period,
  after: firstWallet,
  isPartial: false,
  notBefore
})

/** The round after a page of wallets: at its end it begins again where some were not read, else it waits for a month. */
const nextRound = (round: Round, page: ReadonlyArray<WalletAsset>, isPartial: boolean, nowMillis: number): Round => {
  const last = page.at(-1)
  if (last !== undefined) return { ...round, after: last, isPartial: round.isPartial || isPartial }
  return round.isPartial
    ? beginRound(round.period, nowMillis + pauseMillis)
    : { ...round, notBefore: nextMonth(nextMonth(round.period)).from * 1_000 }
}

/**
 * Keeps the readings of the month that ended last. The wallets are gone through once, a page at a time, so that neither
 * a network that does not answer nor the number of wallets holds up the others.
 */
export const readWallets = (services: ReadingServices): Effect.Effect<DueSource> =>
  Effect.sync(() => {
    const { commit, repo } = services
    const stored = MutableRef.make<Round | null>(null)
    const lastMonth = (nowMillis: number) => previousMonth(monthOf(Math.floor(nowMillis / 1000)))
    const roundAt = (nowMillis: number): Round => {
      const period = lastMonth(nowMillis)
      const round = MutableRef.get(stored)
      return round?.period.name === period.name ? round : beginRound(period)
    }

    const read = Effect.fnUntraced(function*(wallet: WalletAsset, period: Period, nowMillis: number) {
      if (wallet.isRead || wallet.merchantId === systemMerchant) return true
      const reading = yield* readingOf(services, wallet, period, Math.floor(nowMillis / 1000))
      if (reading === null) return false
      const { environment, merchantId } = wallet
      return yield* commit.append({
        merchantId,
        environment,
        cause: noCause,
        writes: [readingWrite({ environment, merchantId }, reading)],
        events: []
      }).pipe(
        Effect.as(true),
        Effect.catchTags({
          // Another instance was first.
          Conflict: () => Effect.succeed(true),
          IdempotentReplay: (bug) => Effect.die(bug),
          PublicError: () => Effect.succeed(false)
        })
      )
    })

    return {
      name: "reconciliation-readings",
      batchSize,
      // A round that may go on is due now: an earlier time would be told as work that is overdue.
      nextDueMillis: Effect.map(Clock.currentTimeMillis, (nowMillis) =>
        Math.max(nowMillis, roundAt(nowMillis).notBefore)),
      run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
        const round = roundAt(nowMillis)
        if (nowMillis < round.notBefore) {
          return 0
        }
        const page = yield* repo.walletsAfter(round.after, round.period.name!, limit)
        const results = yield* Effect.forEach(page, (wallet) =>
          read(wallet, round.period, nowMillis))
        MutableRef.set(stored, nextRound(round, page, results.includes(false), nowMillis))
        return page.length
      })
    }
  })
