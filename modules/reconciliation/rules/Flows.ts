/**
 * How the holdings of a wallet went from the beginning of a period to its end, by the books
 * (modules/docs/reference/reconciliation.md#the-equation):
 *
 *   closing = opening + received + unmatched − refunded − paid_out + collected_in − collected_out − fees + other
 *
 * Pure.
 */

/** So much of an asset, in base units, and its book value in usd_millis. */
export interface AssetAmount {
  readonly units: bigint
  readonly usdMillis: bigint
}

export const zero: AssetAmount = { units: 0n, usdMillis: 0n }

export const add = (a: AssetAmount, b: AssetAmount): AssetAmount => ({
  units: a.units + b.units,
  usdMillis: a.usdMillis + b.usdMillis
})

export const negate = ({ units, usdMillis }: AssetAmount): AssetAmount => ({ units: -units, usdMillis: -usdMillis })

/** What moved between a wallet's account and another one, added up; above zero: into the wallet. */
export interface Movement extends AssetAmount {
  readonly asset: string
  /** The wallet's account: `chain:<fingerprint>`. */
  readonly account: string
  readonly counterAccount: string
  readonly isBeforePeriod: boolean
}

/** What came to a wallet and left it, each as it is told: what leaves is above zero too, but in `other`. */
export const flowNames = [
  "received",
  "unmatched",
  "refunded",
  "paid_out",
  "collected_in",
  "collected_out",
  "fees",
  "other"
] as const
export type FlowName = typeof flowNames[number]

/** Flows that make the holdings less. */
const outgoing: ReadonlySet<FlowName> = new Set(["refunded", "paid_out", "collected_out", "fees"])

/** In place of the account at the other end of what was paid out: such entries have ends in common with reversals. */
export const payoutCounterAccount = "payouts"

/**
 * Which flow a movement is: by the account at its other end. Money that left its chain again takes away from what was
 * received. What a person booked has an account of its own.
 */
const flowOf: Readonly<Record<string, FlowName>> = {
  merchant_pending: "received",
  merchant_available: "received",
  suspense: "unmatched",
  "suspense:ignored": "unmatched",
  refund_payable: "refunded",
  // A refund of an order is paid out in another token than was received.
  revaluation: "refunded",
  [payoutCounterAccount]: "paid_out",
  network_fees: "fees"
}

export interface WalletFlows {
  readonly asset: string
  readonly account: string
  readonly opening: AssetAmount
  readonly flows: Readonly<Record<FlowName, AssetAmount>>
  readonly closing: AssetAmount
}

const noFlows = Object.fromEntries(flowNames.map((name) => [name, zero])) as Readonly<Record<FlowName, AssetAmount>>

const addMovement = (row: WalletFlows, movement: Movement): WalletFlows => {
  const closing = add(row.closing, movement)
  if (movement.isBeforePeriod) return { ...row, opening: add(row.opening, movement), closing }
  const name = flowOf[movement.counterAccount] ?? "other"
  const part = outgoing.has(name) ? negate(movement) : movement
  return { ...row, flows: { ...row.flows, [name]: add(row.flows[name], part) }, closing }
}

/** One row for each asset of each wallet, in order. */
export const walletFlows = (movements: ReadonlyArray<Movement>): ReadonlyArray<WalletFlows> => {
  const rows = new Map<string, WalletFlows>()
  for (const movement of movements) {
    const { account, asset } = movement
    const key = `${asset} ${account}`
    const row = rows.get(key) ?? { asset, account, opening: zero, flows: noFlows, closing: zero }
    rows.set(key, addMovement(row, movement))
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, row]) => row)
}
