/** What entries come to in each account. Pure. */
import type { Entry } from "./Accounts.ts"
import type { AccountBalance } from "./Wire.ts"

/** Debits less credits of each account and asset, in order of account and asset; all of them together come to nothing. */
export const accountSums = (entries: ReadonlyArray<Entry>): ReadonlyArray<AccountBalance> => {
  const sums = new Map<string, AccountBalance>()
  const move = (account: string, { asset, units, usdMillis }: Entry, sign: 1n | -1n): void => {
    const key = JSON.stringify([account, asset])
    const before = sums.get(key) ?? { account, asset, units: 0n, usdMillis: 0n }
    sums.set(key, { ...before, units: before.units + sign * units, usdMillis: before.usdMillis + sign * usdMillis })
  }
  for (const entry of entries) {
    move(entry.debit, entry, 1n)
    move(entry.credit, entry, -1n)
  }
  return [...sums].toSorted(([a], [b]) => a < b ? -1 : 1).map(([, sum]) => sum)
}
