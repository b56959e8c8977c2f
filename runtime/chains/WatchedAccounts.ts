/** The accounts of one family that receive, for drivers that ask the chain for accounts. */
import type { WatchedAccount } from "../Chains.ts"
import { accountIndex, type TargetRow, type WalletAddress } from "./ChainsRepo.ts"

/**
 * Seconds an account is open after it was given to an invoice: 30 days, as long as native balances are compared. An
 * invoice is payable for less; what comes later is found too, because accounts that are not open are looked at as well.
 */
export const openSeconds = 30 * 86_400

/** Seconds for which a list of accounts stays as it is though some of them may no longer be open. */
const listSeconds = 600

export interface WatchedAccounts {
  readonly addTarget: (target: Pick<TargetRow, "createdAt" | "matchKey" | "memo">) => void
  readonly addAddress: (address: Pick<WalletAddress, "matchKey" | "walletIndex">) => void
  /** `now`: epoch seconds. */
  readonly list: (now: number) => ReadonlyArray<WatchedAccount>
}

export const makeWatchedAccounts = (): WatchedAccounts => {
  /** Until when each is open, in epoch seconds. */
  const openUntil = new Map<string, number>()
  let listed: { readonly until: number; readonly accounts: ReadonlyArray<WatchedAccount> } | null = null
  const set = (key: string, until: number): void => {
    const before = openUntil.get(key)
    if (before !== undefined && before >= until) return
    openUntil.set(key, until)
    listed = null
  }
  return {
    addTarget: ({ createdAt, matchKey, memo }) => {
      // A target with a memo is found at its wallet's account.
      if (memo === null) set(matchKey, createdAt + openSeconds)
    },
    addAddress: ({ matchKey, walletIndex }) => set(matchKey, walletIndex === accountIndex ? Infinity : 0),
    list: (now) => {
      if (listed !== null && now < listed.until) return listed.accounts
      const accounts = [...openUntil].map(([key, until]) => ({ key, isOpen: until > now }))
      accounts.sort((one, other) => Number(other.isOpen) - Number(one.isOpen))
      listed = { until: now + listSeconds, accounts }
      return accounts
    }
  }
}
