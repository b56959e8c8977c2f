/**
 * What refunds have taken of the payments of an invoice, as the books have it: open ones too, which the payments
 * themselves hear of only once they are paid. Pure.
 */
import { type Aggregate, bySeenAt, type PaymentState } from "../../invoices/plugin.ts"
import { accounts, assetOf, type Entry } from "./Accounts.ts"
import type { Group, Postings, Transaction } from "./Moves.ts"
import { paymentPosition } from "./Positions.ts"

/** An entry of a refund, and the type of its transaction. */
export interface RefundEntry extends Entry, Pick<Transaction, "type">, Pick<Group, "kind"> {}

/** So much of a payment. */
export interface PaymentShare {
  readonly units: bigint
  readonly usdMillis: bigint
}

/** Entries of other refunds that are booked in the same change. */
export const refundEntriesIn = ({ groups, transactions }: Postings, refundId: string): ReadonlyArray<RefundEntry> => {
  const typeById = new Map(
    transactions.filter(({ source }) => source.object === "refund" && source.id !== refundId)
      .map(({ id, type }) => [id, type])
  )
  return groups.flatMap(({ entries, kind, transactionId }) => {
    const type = typeById.get(transactionId)
    return type === undefined ? [] : entries.map((entry): RefundEntry => ({ ...entry, kind, type }))
  })
}

interface Pool {
  readonly account: string
  readonly asset: string
  units: bigint
  usdMillis: bigint
}

/** What was taken of each account and asset. A fee that stays with the merchant was given back all the same. */
const poolsOf = (entries: ReadonlyArray<RefundEntry>): ReadonlyArray<Pool> => {
  const pools = new Map<string, Pool>()
  for (const { asset, credit, debit, kind, type, units, usdMillis } of entries) {
    if (kind !== "booked" || (type !== "refund" && type !== "refund_reversal")) continue
    const [account, sign] = type === "refund" ? [debit, 1n] : [credit, -1n]
    const key = `${account} ${asset}`
    const pool = pools.get(key) ?? { account, asset, units: 0n, usdMillis: 0n }
    pools.set(key, { ...pool, units: pool.units + sign * units, usdMillis: pool.usdMillis + sign * usdMillis })
  }
  return [...pools.values()]
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * Entries name an account and an asset, and no payment: of several the oldest is taken first, as refunds are divided.
 * Money that was decided on since is in another account than it was taken from, so what is over is of its asset alone.
 */
export const takenOfPayments = (
  invoice: Aggregate,
  entries: ReadonlyArray<RefundEntry>
): ReadonlyMap<string, PaymentShare> => {
  const pools = poolsOf(entries)
  const taken = new Map<string, PaymentShare>()
  const take = (payment: PaymentState, pool: Pool) => {
    const own = taken.get(payment.id) ?? { units: 0n, usdMillis: 0n }
    const usdMillis = smaller(pool.usdMillis, payment.amount - own.usdMillis)
    if (usdMillis <= 0n) return
    const rest = payment.units - own.units
    const units = pool.usdMillis === usdMillis ? smaller(pool.units, rest) : rest
    pool.units -= units
    pool.usdMillis -= usdMillis
    taken.set(payment.id, { units: own.units + units, usdMillis: own.usdMillis + usdMillis })
  }
  for (const isSameAccount of [true, false]) {
    for (const payment of invoice.payments.toSorted(bySeenAt)) {
      const account = paymentPosition(invoice, payment)?.account ?? accounts.available
      const asset = assetOf(payment.network, payment.metadata.token, payment.tokenId)
      for (const pool of pools) {
        if (pool.asset === asset && (pool.account === account) === isSameAccount) take(payment, pool)
      }
    }
  }
  return taken
}
