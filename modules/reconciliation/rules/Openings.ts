/** What wallets held when a period began, by the last month that was closed before it and what came since. Pure. */
import { add, type AssetAmount, type Movement, zero } from "./Flows.ts"
import type { ClosedPeriod, Report } from "./Report.ts"

/** So much of an asset in a wallet's account. */
export interface WalletHolding extends AssetAmount {
  readonly account: string
  readonly asset: string
}

/** What moved since a closed month, and what the accounts hold now; both of one moment. */
export interface MovementsSince {
  /** Those of the period and before it. */
  readonly movements: ReadonlyArray<Movement>
  /** Those after the period's end. */
  readonly later: ReadonlyArray<WalletHolding>
  readonly balances: ReadonlyArray<WalletHolding>
}

/** What each wallet held at the end of a closed month. */
export const closingsOf = ({ report }: Pick<ClosedPeriod, "report">): ReadonlyArray<WalletHolding> =>
  (JSON.parse(report) as Report).wallets.map(({ account, asset, closing }) => ({
    account,
    asset,
    units: BigInt(closing.units),
    // The decimal has three places, and keeps what a number may round.
    usdMillis: BigInt(closing.amount_decimal.replace(".", ""))
  }))

const keyOf = ({ account, asset }: Pick<WalletHolding, "account" | "asset">): string => `${asset} ${account}`

const sumByAccount = (amounts: ReadonlyArray<WalletHolding>): ReadonlyMap<string, AssetAmount> => {
  const sums = new Map<string, AssetAmount>()
  for (const each of amounts) sums.set(keyOf(each), add(sums.get(keyOf(each)) ?? zero, each))
  return sums
}

/**
 * All movements up to the period's end, those of the closed months as one for each account. Null: they do not come to
 * what the accounts hold now, so something was dated into a month after it was closed, and all must be added up.
 */
export const movementsAfter = (
  closings: ReadonlyArray<WalletHolding>,
  { balances, later, movements }: MovementsSince
): ReadonlyArray<Movement> | null => {
  const sums = sumByAccount([...closings, ...movements, ...later])
  const held = sumByAccount(balances)
  const isEqual = [...new Set([...sums.keys(), ...held.keys()])].every((key) => {
    const [sum, balance] = [sums.get(key) ?? zero, held.get(key) ?? zero]
    return sum.units === balance.units && sum.usdMillis === balance.usdMillis
  })
  if (!isEqual) return null
  return [
    ...closings.map((closing): Movement => ({ ...closing, counterAccount: "", isBeforePeriod: true })),
    ...movements
  ]
}
