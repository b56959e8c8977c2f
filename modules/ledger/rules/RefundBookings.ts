/** What a refund means for the books (modules/docs/reference/ledger.md#refunds). Pure. */
import {
  type Aggregate,
  divideRefund,
  type ExceptionRecord,
  type InvoiceFact,
  type PaymentState,
  unmatchedTransfer
} from "../../invoices/plugin.ts"
import type { PayoutSender, RefundFact, RefundState } from "../../refunds/plugin.ts"
import { accounts, assetOf, chainAccount, type Entry } from "./Accounts.ts"
import { combine, type Group, type NameTransaction, nothingBooked, type Postings, type Transaction } from "./Moves.ts"
import { paymentPosition } from "./Positions.ts"
import type { PaymentShare } from "./RefundsTaken.ts"
import { usdMillis as usdMillisOf } from "../../../schemas/Money.ts"
import { revertedCode } from "../../../schemas/Refund.ts"

const nothingTaken: PaymentShare = { units: 0n, usdMillis: 0n }

const isRefundFact = (fact: InvoiceFact): fact is RefundFact => fact._tag === "Refund"

/** Refunds that a change tells of, each as it will be. */
export const refundsIn = (facts: ReadonlyArray<InvoiceFact>): ReadonlyArray<Pick<RefundFact, "refund" | "sender">> => [
  ...new Map(facts.filter(isRefundFact).map((fact) => [fact.refund.id, fact])).values()
]

/** A balance transaction of a refund, as it is stored. */
export interface StoredRefundTransaction extends Transaction {
  readonly entries: ReadonlyArray<Entry & Pick<Group, "kind">>
}

/** What every refund depends on. */
interface RefundBookingContext {
  /** Its own transactions, the first one first. */
  readonly stored: ReadonlyArray<StoredRefundTransaction>
  readonly now: number
  readonly nameTransaction: NameTransaction
  /** Who paid it out; absent: nobody knows, or it is not paid. */
  readonly sender?: PayoutSender | undefined
}

/** What a refund of an invoice depends on. */
export interface RefundBookingInput extends RefundBookingContext {
  /** As the change makes it, but for what that refunds: {@link beforeRefunds}. */
  readonly invoice: Aggregate
  /** What other refunds have taken of each payment of an order; absent: what the payments say. */
  readonly taken?: ReadonlyMap<string, PaymentShare> | undefined
  /** Of the token that an order's refund is paid out in; null: it is not known. */
  readonly payoutAsset: string | null
}

/** What a refund of money that pays no invoice depends on. */
export interface UnmatchedRefundInput extends RefundBookingContext {
  /** Of the money. */
  readonly exception: ExceptionRecord["exception"]
}

/** Where the money of a refund is taken from. */
interface Origin {
  readonly shares: () => ReadonlyArray<Share>
  /** The wallet that received it; absent: it is not known. */
  readonly wallet: string | null | undefined
  readonly payoutAsset: string | null
}

/** Money of one payment that a refund takes, and the account that it is taken from. */
interface Share {
  readonly account: string
  readonly asset: string
  readonly wallet: string | null
  readonly units: bigint
  readonly usdMillis: bigint
}

const isMerchants = (account: string): boolean => account === accounts.pending || account === accounts.available

/**
 * `floor(usd x units of the payment / its usd)`; the last part takes all that the ones before have left
 * (modules/docs/reference/refunds.md).
 */
const unitsOf = ({ amount, units }: PaymentState, usdMillis: bigint, before = nothingTaken): bigint => {
  const left = units - before.units
  if (usdMillis === amount - before.usdMillis || amount === 0n) return left
  const atRate = units * usdMillis / amount
  return atRate < left ? atRate : left
}

const shareOf = (invoice: Aggregate, payment: PaymentState, units: bigint, usdMillis: bigint): Share => ({
  // Money that left its chain is the merchant's loss.
  account: paymentPosition(invoice, payment)?.account ?? accounts.available,
  asset: assetOf(payment.network, payment.metadata.token, payment.tokenId),
  wallet: payment.wallet ?? null,
  units,
  usdMillis
})

/** Of one payment what was agreed; of an order's payments what the refunds before it have left, as they are divided. */
const sharesOf = (refund: RefundState, { invoice, taken }: RefundBookingInput): ReadonlyArray<Share> => {
  const own = invoice.payments.find(({ id }) => id === refund.paymentId)
  if (own !== undefined && refund.terms !== null) return [shareOf(invoice, own, refund.terms.units, refund.amount)]
  const payments = taken === undefined ? invoice.payments : invoice.payments.map((payment) => ({
    ...payment,
    refunded: usdMillisOf(taken.get(payment.id)?.usdMillis ?? 0n)
  }))
  return divideRefund(refund, payments).map(({ amount, payment }) =>
    shareOf(invoice, payment, unitsOf(payment, amount, taken?.get(payment.id)), amount)
  )
}

/** An invoice as a change makes it, but for what the change itself refunds of its payments. */
export const beforeRefunds = (before: Aggregate, next: Aggregate): Aggregate => {
  const refundedById = new Map(before.payments.map(({ id, refunded }) => [id, refunded]))
  return {
    ...next,
    payments: next.payments.map((payment) => ({
      ...payment,
      refunded: refundedById.get(payment.id) ?? payment.refunded
    }))
  }
}

/** Money that pays no invoice waits in suspense until a refund takes all of it. */
const unmatchedShares = (refund: RefundState, { exception }: UnmatchedRefundInput): ReadonlyArray<Share> => {
  const { terms } = refund
  return terms === null ? [] : [{
    account: accounts.suspense,
    asset: assetOf(terms.network, { address: terms.tokenAddress }, null),
    wallet: unmatchedTransfer(exception)?.wallet ?? null,
    units: terms.units,
    usdMillis: refund.amount
  }]
}

const transactionOf = (
  { nameTransaction, now }: RefundBookingContext,
  refund: RefundState,
  more: Pick<Transaction, "type" | "amount" | "net" | "reverses"> & { readonly entries: ReadonlyArray<Entry> }
): Postings & { readonly id: string } => {
  const { entries, ...fields } = more
  const assets = new Set(entries.map(({ asset }) => asset))
  const units = entries.reduce((sum, each) => sum + each.units, 0n)
  const sign = fields.amount < 0n ? -1n : 1n
  const id = nameTransaction(fields.type, refund.id, refund.version)
  const transaction: Transaction = {
    ...fields,
    id,
    startsPending: false,
    asset: assets.size === 1 ? [...assets][0]! : null,
    units: assets.size === 1 ? sign * units : 0n,
    source: { object: "refund", id: refund.id },
    createdAt: now
  }
  const group: Group = { transactionId: id, kind: "booked", createdAt: now, paymentId: null, entries }
  return { id, transactions: [transaction], groups: [group] }
}

const total = (entries: ReadonlyArray<Entry>): bigint => entries.reduce((sum, { usdMillis }) => sum + usdMillis, 0n)

/** It is opened: what it will give back is nobody's to spend any more. */
const open = (input: RefundBookingContext, refund: RefundState, { shares }: Origin) => {
  const entries = shares().map(({ account, asset, units, usdMillis }): Entry => ({
    debit: account,
    credit: accounts.refundPayable,
    asset,
    units,
    usdMillis
  }))
  const net = -total(entries.filter(({ debit }) => isMerchants(debit)))
  return {
    ...transactionOf(input, refund, { type: "refund", amount: -refund.amount, net, reverses: null, entries }),
    entries
  }
}

/** It is over, or another amount: its money goes back to where it was. */
const reverse = (input: RefundBookingContext, refund: RefundState, before: StoredRefundTransaction): Postings =>
  transactionOf(input, refund, {
    type: "refund_reversal",
    amount: -before.amount,
    net: -before.net,
    reverses: before.id,
    entries: before.entries.map(({ asset, credit, debit, units, usdMillis }) => ({
      debit: credit,
      credit: debit,
      asset,
      units,
      usdMillis
    }))
  })

/** The part of each entry that is the fee: of the first ones, as far as each goes. */
const feesOf = ({ fee, terms }: RefundState, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  let left: bigint = fee
  return entries.map((entry) => {
    const usdMillis = left < entry.usdMillis ? left : entry.usdMillis
    left -= usdMillis
    const units = usdMillis === 0n ? 0n : terms?.feeUnits ?? entry.units * usdMillis / entry.usdMillis
    return { ...entry, units, usdMillis }
  })
}

/**
 * It is paid: the payout leaves the chain, and a fee that the payor bears stays with the merchant, whose wallet paid
 * the network. What is paid out in another token is revalued: both sides are worth the same.
 */
const pay = (
  input: RefundBookingContext,
  refund: RefundState,
  { payoutAsset, wallet: receiver }: Origin,
  transactionId: string,
  opened: ReadonlyArray<Entry>
): Postings => {
  const fees = feesOf(refund, opened)
  const net = opened.map((entry, place): Entry => ({
    ...entry,
    units: entry.units - fees[place]!.units,
    usdMillis: entry.usdMillis - fees[place]!.usdMillis
  }))
  // Where nobody knows who sent it, the wallet that received it did.
  const wallet = input.sender === undefined ? receiver : input.sender.wallet
  const payout = refund.terms !== null
    ? net.map((entry): Entry => ({ ...entry, debit: accounts.refundPayable, credit: chainAccount(wallet) }))
    : [
      ...net.map((entry): Entry => ({ ...entry, debit: accounts.refundPayable, credit: accounts.revaluation })),
      {
        debit: accounts.revaluation,
        credit: chainAccount(null),
        asset: payoutAsset ?? assetOf(refund.destination!.network, null, refund.token?.id ?? null),
        units: refund.tokenAmount ?? 0n,
        usdMillis: total(net)
      }
    ]
  const paid: Postings = {
    transactions: [],
    groups: [{ transactionId, kind: "posted", createdAt: input.now, paymentId: null, entries: payout }]
  }
  if (refund.fee === 0n) return paid
  const entries = fees.filter(({ units, usdMillis }) => units > 0n || usdMillis > 0n)
    // Money that does not count was never the merchant's, but the fee is: its wallet paid the network.
    .map((fee): Entry => ({
      ...fee,
      debit: fee.credit,
      credit: isMerchants(fee.debit) ? fee.debit : accounts.available
    }))
  const kept = total(entries.filter(({ credit }) => isMerchants(credit)))
  return combine([
    paid,
    transactionOf(input, refund, { type: "fee", amount: total(entries), net: kept, reverses: null, entries })
  ])
}

/**
 * Whether a refund of one payment failed for good, because its payment left the chain: nothing is owed any more. That
 * of an order is cut to what is still there, and can be tried again.
 */
const isLost = ({ failureCode, status, terms }: RefundState): boolean =>
  terms !== null && status === "failed" && failureCode === revertedCode

/**
 * The groups of a refund as it will be. `failed` still stands for money, which can be tried again, unless its payment
 * is gone; that, `canceled` and `expired` give it back to the balance.
 */
export const bookRefund = (refund: RefundState, input: RefundBookingInput): Postings =>
  bookFrom(refund, input, {
    shares: () => sharesOf(refund, input),
    wallet: input.invoice.payments.find(({ id }) => id === refund.paymentId)?.wallet,
    payoutAsset: input.payoutAsset
  })

/** The same of a refund of money that pays no invoice. */
export const bookUnmatchedRefund = (refund: RefundState, input: UnmatchedRefundInput): Postings =>
  bookFrom(refund, input, {
    shares: () => unmatchedShares(refund, input),
    wallet: unmatchedTransfer(input.exception)?.wallet,
    payoutAsset: null
  })

const bookFrom = (refund: RefundState, input: RefundBookingContext, origin: Origin): Postings => {
  const reversedIds = new Set(input.stored.map(({ reverses }) => reverses))
  const before = input.stored.findLast(({ id, type }) => type === "refund" && !reversedIds.has(id)) ?? null
  const isPaid = before?.entries.some(({ kind }) => kind === "posted") === true
  if (isPaid) return nothingBooked
  if (refund.status === "canceled" || refund.status === "expired" || isLost(refund)) {
    return before === null ? nothingBooked : reverse(input, refund, before)
  }
  if (before !== null && before.amount === -refund.amount) {
    return refund.status === "succeeded" ? pay(input, refund, origin, before.id, before.entries) : nothingBooked
  }
  const opened = open(input, refund, origin)
  return combine([
    ...(before === null ? [] : [reverse(input, refund, before)]),
    opened,
    ...(refund.status === "succeeded" ? [pay(input, refund, origin, opened.id, opened.entries)] : [])
  ])
}

/** Money of a payment that was refunded before the books were kept: it has left the chain. */
export const bookEarlierRefund = (
  invoice: Aggregate,
  payment: PaymentState,
  { nameTransaction, now }: Pick<RefundBookingInput, "nameTransaction" | "now">
): Postings => {
  const share = shareOf(invoice, payment, unitsOf(payment, payment.refunded), payment.refunded)
  if (payment.refunded === 0n) return nothingBooked
  const id = nameTransaction("refund", payment.id, payment.version + 1)
  return {
    transactions: [{
      id,
      type: "refund",
      startsPending: false,
      amount: -share.usdMillis,
      net: isMerchants(share.account) ? -share.usdMillis : 0n,
      asset: share.asset,
      units: -share.units,
      source: { object: "invoice_payment", id: payment.id },
      reverses: null,
      createdAt: now
    }],
    groups: [{
      transactionId: id,
      kind: "booked",
      createdAt: now,
      paymentId: payment.id,
      entries: [{ ...share, debit: share.account, credit: chainAccount(share.wallet) }]
    }]
  }
}
