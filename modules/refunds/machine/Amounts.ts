/** What a refund may come to: what remains to be given back, the fee of the payout, and the quote of both. */
import { usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { RefundQuote } from "../../../schemas/Refund.ts"
import type { Aggregate, PaymentState } from "../../invoices/plugin.ts"
import {
  type Destination,
  type FeeQuote,
  type Fees,
  isLate,
  isOpen,
  isReceived,
  type RefundSource,
  type RefundState
} from "./State.ts"

/**
 * Seconds the fee of a quote is honoured (modules/docs/reference/refunds.md#fees): time to decide, and no longer,
 * because fees of networks change.
 */
export const quoteSeconds = 600

const total = <A>(all: ReadonlyArray<A>, of: (each: A) => bigint): bigint =>
  all.reduce((sum, each) => sum + of(each), 0n)

const notBelowZero = (value: bigint): UsdMillis => usdMillis(value > 0n ? value : 0n)

/** What is there of a source less what was given back and what is promised; negative after a payment reverted. */
export const balance = (
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>,
  of: (payment: PaymentState) => boolean,
  isAvailable: (payment: PaymentState) => boolean
): bigint => {
  const received = total(payments, (each) => (isAvailable(each) && of(each) ? each.amount : 0n))
  const given = total(payments, (each) => (of(each) ? each.refunded : 0n))
  const succeeded = total(refunds, (each) => (each.status === "succeeded" ? each.amount : 0n))
  const promised = total(refunds, (each) => (isOpen(each) ? each.amount : 0n))
  // A payout of this very change is not in the payments yet.
  return received - (given > succeeded ? given : succeeded) - promised
}

/**
 * usd_millis that can still be given back: received, less what was given back, less what other open refunds promise.
 */
export const refundableAmount = (
  { payments }: Pick<Aggregate, "payments">,
  refunds: ReadonlyArray<RefundState>,
  source: RefundSource = "all",
  isAvailable: (payment: PaymentState) => boolean = isReceived
): UsdMillis => {
  const all = balance(payments, refunds, () => true, isAvailable)
  if (source === "all") return notBelowZero(all)
  const late = balance(payments, refunds.filter((each) => each.source === "late"), isLate, isAvailable)
  return notBelowZero(late < all ? late : all)
}

/** The fee on a network now: nothing, what was quoted and has not ended, or what it costs. */
export const feeOf = (
  { feeFree, feeQuote }: Pick<RefundState, "feeFree" | "feeQuote">,
  network: Network,
  fees: Fees,
  now: number
): UsdMillis =>
  feeFree ? usdMillis(0n) : feeQuote?.network === network && now <= feeQuote.validUntil ? feeQuote.fee : fees[network]

export const feeQuoteOf = ({ fee, network, valid_until }: RefundQuote): FeeQuote => ({
  network,
  fee: usdMillis(BigInt(fee)),
  validUntil: valid_until
})

/** What a refund would come to; null where the fee leaves nothing of it. */
export const quoteOf = (
  { amount, feeFree, fees, network, symbol }: {
    readonly amount: UsdMillis
    readonly feeFree: boolean
    readonly fees: Fees
    readonly network: Network
    readonly symbol: string
  },
  now: number
): RefundQuote | null => {
  const fee = feeOf({ feeFree, feeQuote: null }, network, fees, now)
  if (amount <= fee) return null
  const netAmount = usdMillis(amount - fee)
  return {
    amount: usdWire(amount),
    amount_decimal: usdDecimal(amount),
    fee: usdWire(fee),
    fee_decimal: usdDecimal(fee),
    net_amount: usdWire(netAmount),
    net_amount_decimal: usdDecimal(netAmount),
    token: symbol,
    network,
    valid_until: now + quoteSeconds
  }
}

/** What the payor gets: the amount without the fee. */
export const net = ({ amount, fee }: Pick<RefundState, "amount" | "fee">): UsdMillis => notBelowZero(amount - fee)

/** Of several destinations: those on a network that was paid on before others, then where a payout costs least. */
export const sortDestinations = (
  destinations: ReadonlyArray<Destination>,
  payments: ReadonlyArray<PaymentState>,
  fees: Fees
): ReadonlyArray<Destination> => {
  const paidNetworks = new Set(payments.filter(isReceived).map(({ network }) => network))
  const rank = ({ network }: Destination) => (paidNetworks.has(network) ? 0n : 1n)
  return destinations.toSorted((a, b) => {
    const before = rank(a) - rank(b) || fees[a.network] - fees[b.network]
    return before === 0n ? (a.network < b.network ? -1 : 1) : before < 0n ? -1 : 1
  })
}
