/**
 * Native payments no block shows: a contract that forwards coins leaves no log and no transaction to our address.
 * The balance of an address with an open native invoice is compared at final depth, and what the journal cannot
 * explain is credited as one `internal` transfer (modules/docs/reference/payments.md#found-by-balance).
 *
 * The base is the balance when the comparison began and stays; the last compared height moves with every credit, in
 * the same commit, so that two passes never credit one difference.
 */
import { Effect } from "effect"
import { baseUnits } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { ChainDriver, DriverError, JournalEntry, ObservedTransfer } from "../Chains.ts"
import type { Write } from "../Commit.ts"
import {
  type BalanceRow,
  balanceWrite,
  type ChainsRepo,
  type RingPoint,
  transferId,
  transferWrite
} from "./ChainsRepo.ts"

/** Milliseconds between two passes: a few blocks of most networks, at a rate paid providers allow. */
export const passMillis = (environment: Environment): number => environment === "devnet" ? 1_000 : 30_000
/** Addresses compared in one pass. */
const passLimit = 400
/** Balances asked for at once. */
const concurrency = 8
/** A comparison ends by itself: 30 days. */
const maximumAgeSeconds = 30 * 86_400

/** Balances read at one height; worthless after a rollback. */
export interface BalanceReading {
  readonly _tag: "BalanceReading"
  readonly height: bigint
  readonly generation: number
  readonly balances: ReadonlyArray<{
    readonly base: BalanceRow
    /** Balance at `sinceHeight`. */
    readonly balanceBefore: bigint
    /** Balance at the reading's height; null where that is not past the base. */
    readonly balanceNow: bigint | null
    /** Whether more left the address than `base.forwarded`, which nothing explains. */
    readonly hasSent: boolean
  }>
}

/** A base as it must be after a rollback to `height`: compared again from there on. */
export const rewindBase = (base: BalanceRow, height: bigint): BalanceRow => ({
  ...base,
  height,
  sinceHeight: base.sinceHeight > height ? height : base.sinceHeight,
  sinceBalance: base.sinceHeight > height ? null : base.sinceBalance,
  forwarded: 0n,
  forwardedHeight: base.sinceHeight > height ? height : base.sinceHeight,
  version: base.version + 1
})

/** Reads what is due at `at.height`; null when nothing is. */
export const readBalances = Effect.fnUntraced(function*(
  repo: ChainsRepo,
  driver: ChainDriver,
  at: { readonly height: bigint; readonly generation: number },
  nowSeconds: number
): Effect.fn.Return<BalanceReading | null, DriverError> {
  const balanceAt = driver.balanceAt
  if (balanceAt === null) return null
  const bases = yield* repo.openBalances(driver.network, driver.environment, at.height, passLimit)
  if (bases.length === 0) return null
  const balances = yield* Effect.forEach(bases, (base) =>
    Effect.gen(function*() {
      const isOpen = nowSeconds - base.openedAt < maximumAgeSeconds
      const balanceBefore = base.sinceBalance ?? (yield* balanceAt(base.address, null, base.sinceHeight)).balance
      const balanceReading = at.height > base.sinceHeight ? yield* balanceAt(base.address, null, at.height) : null
      const hasSent = balanceReading?.hasSent ?? false
      // Anybody may have the contract of a forwarder pay: only what it does not say that it sent is unexplained.
      const forwarded = hasSent && driver.coinsForwarded !== null
        ? yield* driver.coinsForwarded(base.address, base.forwardedHeight, at.height)
        : null
      return {
        base: {
          ...base,
          isOpen,
          forwarded: base.forwarded + (forwarded ?? 0n),
          forwardedHeight: balanceReading === null || (hasSent && forwarded === null)
            ? base.forwardedHeight
            : at.height
        },
        balanceBefore,
        balanceNow: balanceReading?.balance ?? null,
        hasSent: hasSent && forwarded === null
      }
    }), { concurrency })
  return { _tag: "BalanceReading", ...at, balances }
})

/**
 * What one comparison means: nothing, a credit, or an alert that ends the comparison. Pure.
 *
 * The balance of an address that has sent, or that holds less than it received, cannot be explained: an alert.
 * `balanceNow`: with what a forwarder's contract has sent to its payee since.
 */
export const compareBalance = (
  balanceBefore: bigint,
  balanceNow: bigint,
  credits: bigint,
  hasSent: boolean
): bigint | "alert" => {
  const difference = balanceNow - balanceBefore - credits
  return hasSent || difference < 0n ? "alert" : difference
}

/**
 * Native transfers that are found only now, at a height up to which balances were compared: what {@link compareBalance}
 * could not explain was credited then, and they are the explanation. `credits`: what stands credited so at or above
 * their height, by match key; their amounts are not credited a second time.
 */
export const findAlreadyCredited = (
  transfers: ReadonlyArray<ObservedTransfer>,
  credits: ReadonlyMap<string, bigint>
): ReadonlyArray<ObservedTransfer> =>
  transfers.filter(({ amount, matchKey, tokenAddress }) =>
    tokenAddress === null && amount <= (credits.get(matchKey) ?? 0n)
  )

/** When a block of this height was made, by the pace of the ring: a header of its own is not worth a call. */
const timeAt = (ring: ReadonlyArray<RingPoint>, height: bigint, nowSeconds: number): number => {
  const exact = ring.find((point) => point.height === height)
  const newest = ring[0]
  const oldest = ring[ring.length - 1]
  if (exact !== undefined) return exact.time
  if (newest === undefined || oldest === undefined || newest.height === oldest.height) return nowSeconds
  const span = BigInt(newest.time - oldest.time)
  return newest.time - Number((newest.height - height) * span / (newest.height - oldest.height))
}

/** The writes of a reading, against rows read again: a base that moved meanwhile is left for the next pass. */
export const applyReading = Effect.fnUntraced(function*(
  repo: ChainsRepo,
  reading: BalanceReading,
  ring: ReadonlyArray<RingPoint>,
  nowSeconds: number
) {
  const writes: Array<Write> = []
  const alerts: Array<{ readonly address: string; readonly message: string }> = []
  let credits = 0
  for (const { base, hasSent, balanceNow, balanceBefore } of reading.balances) {
    const current = yield* repo.balance(base.id)
    if (current === null || current.version !== base.version) continue
    if (balanceNow === null) {
      writes.push(balanceWrite({ ...base, sinceBalance: balanceBefore, version: base.version + 1 }))
      continue
    }
    const journalCredits = yield* repo.nativeCredits(base, reading.height)
    const difference = compareBalance(balanceBefore, balanceNow + base.forwarded, journalCredits, hasSent)
    const next = { ...base, sinceBalance: balanceBefore, height: reading.height, version: base.version + 1 }
    if (difference === "alert") {
      alerts.push({ address: base.address, message: "an address has sent or lacks funds: its balance is not credited" })
      writes.push(balanceWrite({ ...next, isOpen: false }))
    } else {
      if (difference > 0n) {
        credits += 1
        writes.push(transferWrite(internalEntry(base, reading.height, difference, ring, nowSeconds)))
      }
      writes.push(balanceWrite(next))
    }
  }
  return { writes, alerts, credits }
})

const internalEntry = (
  base: BalanceRow,
  height: bigint,
  amount: bigint,
  ring: ReadonlyArray<RingPoint>,
  nowSeconds: number
): JournalEntry => {
  const txHash = `balance:${base.address}:${height}`
  return {
    id: transferId(base.network, base.environment, txHash, 0),
    network: base.network,
    environment: base.environment,
    txHash,
    index: 0,
    kind: "internal",
    merchantId: base.merchantId,
    invoiceId: base.invoiceId,
    matchKey: base.matchKey,
    tokenAddress: null,
    amount: baseUnits(amount),
    from: null,
    height,
    blockHash: ring.find((point) => point.height === height)?.hash ?? "",
    blockTime: timeAt(ring, height, nowSeconds),
    observedAt: nowSeconds,
    status: "seen",
    handledStatus: "none",
    requiredDepth: null,
    confirmations: 1,
    attempts: 0,
    version: 1
  }
}
