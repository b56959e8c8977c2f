/**
 * Adjustments: a person books what nothing else explains, like coins that the merchant spent from a receiving wallet.
 * Pure.
 */
import { accounts, type Entry } from "./Accounts.ts"
import type { Postings } from "./Moves.ts"

/** What a person books. */
export interface Adjustment {
  readonly id: string
  readonly transactionId: string
  /** The wallet's account. */
  readonly account: string
  readonly asset: string
  /** Base units that the wallet has more than the books say; below zero: less. */
  readonly units: bigint
  /** Their worth in usd_millis, of the same sign. */
  readonly usdMillis: bigint
  /** So much of a loss is of money that the merchant ignored; below zero as the whole is, or zero. */
  readonly ignored: { readonly units: bigint; readonly usdMillis: bigint }
  readonly now: number
}

/** What a wallet's account holds: units and their book value. */
interface Holding {
  readonly units: bigint
  readonly usdMillis: bigint
}

/**
 * The book value of units that leave a wallet: their share of what it holds, rounded down; the last ones take the rest.
 * Units that the books do not know are worth nothing to them.
 */
export const bookValue = (held: Holding, units: bigint): bigint => {
  if (held.units <= 0n || held.usdMillis <= 0n || units <= 0n) return 0n
  return units >= held.units ? held.usdMillis : units * held.usdMillis / held.units
}

/**
 * An adjustment as it is booked: through an account of its own, which returns to zero, into the merchant's balance. A
 * loss is taken from where the money stood, so that ignored money is no loss of what is available.
 */
export const bookAdjustment = (adjustment: Adjustment): Postings => {
  const { account, asset, id, ignored, now, transactionId, units, usdMillis } = adjustment
  const isGain = units > 0n
  const entry = (debit: string, credit: string, ofUnits = units, ofUsd = usdMillis) => ({
    debit,
    credit,
    asset,
    units: isGain ? ofUnits : -ofUnits,
    usdMillis: isGain ? ofUsd : -ofUsd
  })
  const isMoved = (part: Entry) => part.units !== 0n || part.usdMillis !== 0n
  const losses = () =>
    [
      entry(accounts.available, accounts.adjustments, units - ignored.units, usdMillis - ignored.usdMillis),
      entry(accounts.ignored, accounts.adjustments, ignored.units, ignored.usdMillis)
    ].filter(isMoved)
  return {
    transactions: [{
      id: transactionId,
      type: "adjustment",
      startsPending: false,
      amount: usdMillis,
      net: usdMillis - ignored.usdMillis,
      asset,
      units,
      source: { object: "adjustment", id },
      reverses: null,
      createdAt: now
    }],
    groups: [{
      transactionId,
      kind: "booked",
      createdAt: now,
      paymentId: null,
      entries: isGain
        ? [entry(account, accounts.adjustments), entry(accounts.adjustments, accounts.available)]
        : [...losses(), entry(accounts.adjustments, account)]
    }]
  }
}

/** Whether transactions of one source have left money of the asset in `suspense:ignored`. */
export const hasIgnored = (
  stored: ReadonlyArray<{ readonly entries: ReadonlyArray<Omit<Entry, "usdMillis">> }>,
  asset: string
): boolean => {
  const signed = stored.flatMap(({ entries }) => entries).filter((entry) => entry.asset === asset).map((entry) =>
    entry.credit === accounts.ignored ? entry.units : entry.debit === accounts.ignored ? -entry.units : 0n
  )
  return signed.reduce((sum, units) => sum + units, 0n) > 0n
}
