/**
 * Adjustments: a person books what nothing else explains, like coins that the merchant spent from a receiving wallet.
 * Pure.
 */
import { accounts } from "./Accounts.ts"
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

/** An adjustment as it is booked: through an account of its own, which returns to zero, into the merchant's balance. */
export const bookAdjustment = (adjustment: Adjustment): Postings => {
  const { account, asset, id, now, transactionId, units, usdMillis } = adjustment
  const isGain = units > 0n
  const entry = (debit: string, credit: string) => ({
    debit,
    credit,
    asset,
    units: isGain ? units : -units,
    usdMillis: isGain ? usdMillis : -usdMillis
  })
  return {
    transactions: [{
      id: transactionId,
      type: "adjustment",
      startsPending: false,
      amount: usdMillis,
      net: usdMillis,
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
      entries: isGain
        ? [entry(account, accounts.adjustments), entry(accounts.adjustments, accounts.available)]
        : [entry(accounts.available, accounts.adjustments), entry(accounts.adjustments, account)]
    }]
  }
}
