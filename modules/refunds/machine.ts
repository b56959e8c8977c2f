/**
 * Money of an invoice on its way back: every rule about when a refund changes and what it may come to. Pure: no clock,
 * no ids, no SQL, no prices.
 *
 *   awaiting_destination ──> pending_approval ──> processing ──> succeeded
 *   awaiting_destination ──── 30 days ────> expired               (what it was for stays owed)
 *   awaiting_destination | pending_approval ───> canceled
 *   processing ───> failed ───> processing
 *   pending_approval ─── a cut left no more than the fee ────> awaiting_destination
 *
 * The rules in words: modules/docs/reference/refunds.md#states. What can be given back is a function of (payments,
 * refunds): all refunds together never come to more than was received. Every decision lands in the commit of a change
 * of its invoice, so that no two can both be made of the same money.
 */
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { InvoiceId } from "../../schemas/Ids.ts"
import { type BaseUnits, formatUnits, usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { isCounted } from "../../schemas/Payment.ts"
import type { Refund, RefundQuote, RefundReason, RefundStatus } from "../../schemas/Refund.ts"
import { type Aggregate, bySeenAt, type Command, type InvoiceState, type PaymentState } from "../invoices/plugin.ts"

/** Where a refund goes; the address in the form `readAddress` gives. */
export interface Destination {
  readonly network: Network
  readonly address: string
  readonly memo: string | null
}

/** What is paid out: so many base units of this token. */
export interface Payout {
  readonly token: { readonly id: number; readonly symbol: string; readonly decimals: number }
  readonly units: BaseUnits
}

/** The fee a payor was told, and the last second it is honoured. */
export interface FeeQuote {
  readonly network: Network
  readonly fee: UsdMillis
  readonly validUntil: number
}

export interface RefundState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly invoiceId: InvoiceId
  /** Null: of whatever was received, the oldest payment first. */
  readonly paymentId: string | null
  /** `late`: of payments that came too late to count; `all`: of every payment. */
  readonly source: RefundSource
  readonly status: RefundStatus
  readonly amount: UsdMillis
  /** usd_millis kept of the amount for the payout; 0 until the network is known. */
  readonly fee: UsdMillis
  /** It costs the payor nothing. */
  readonly feeFree: boolean
  /** The last one that the payor was given; it may have ended. */
  readonly feeQuote: FeeQuote | null
  readonly destination: Destination | null
  readonly token: Payout["token"] | null
  /** Base units, worked out when it was approved, or tried again. */
  readonly tokenAmount: BaseUnits | null
  readonly txHash: string | null
  readonly reason: RefundReason
  readonly failureCode: string | null
  /** Epoch seconds, as all times here. */
  readonly createdAt: number
  readonly updatedAt: number
  /** When the clock may change it; null: never by the clock alone. */
  readonly dueAt: number | null
}

export type RefundSource = "all" | "late"

export type RefundCommand =
  /** `quote`: what the payor was told it would cost; the fee of one that has not ended is honoured. */
  | { readonly _tag: "SetDestination"; readonly destination: Destination; readonly quote?: RefundQuote | null }
  /** It may be paid out. */
  | { readonly _tag: "Approve" }
  /** Its payout is sent. */
  | { readonly _tag: "Submit"; readonly txHash: string }
  /** Its payout is final. */
  | { readonly _tag: "Succeed"; readonly txHash: string }
  /** Nothing was paid out. */
  | { readonly _tag: "Fail"; readonly code: string }
  /** To be paid out once more, at the price now. */
  | { readonly _tag: "Retry" }
  | { readonly _tag: "Cancel" }
  /** The clock may have ended it. */
  | { readonly _tag: "Expire" }

/** What a decision depends on beside the refund and the command. */
export interface RefundContext {
  readonly now: number
  readonly invoice: Aggregate
  /** All refunds of the invoice, this one among them or not. */
  readonly refunds: ReadonlyArray<RefundState>
  /** What paying out on a network costs, where nothing was quoted. */
  readonly fees: Fees
}

export type Fees = Readonly<Record<Network, UsdMillis>>

/** A refund as it will be, and what must land with it. */
export interface RefundDecision {
  readonly next: RefundState
  /** For the invoice: which payment gives how much. */
  readonly commands: ReadonlyArray<Command>
}

/** Seconds a refund waits for a destination (modules/docs/reference/refunds.md#states): 30 days. */
export const destinationSeconds = 30 * 86_400

/**
 * Seconds the fee of a quote is honoured (modules/docs/reference/refunds.md#fees): time to decide, and no longer,
 * because fees of networks change.
 */
export const quoteSeconds = 600

/**
 * Seconds until a payout without a price is tried again: as old as the refund is, within these. A price is back within
 * minutes, or not for hours.
 */
const minimumRetrySeconds = 60
const maximumRetrySeconds = 3_600

export const retrySeconds = ({ createdAt }: Pick<RefundState, "createdAt">, now: number): number =>
  Math.min(Math.max(now - createdAt, minimumRetrySeconds), maximumRetrySeconds)

/** Refunds of one answer: as many unless asked for, and at most. */
export const defaultPageSize = 20
export const maximumPageSize = 100

/** `failure_code` of a refund whose money went away while it was to be paid out. */
export const revertedCode = "payment_reverted"

/** Came too late to count, but is there: it can be given back. */
export const isLate = ({ metadata, status }: PaymentState): boolean =>
  status === "rejected" && metadata.exception === "late_payment"

/** Whether a payment's money is there. */
export const isReceived = (payment: PaymentState): boolean => isCounted(payment.status) || isLate(payment)

/** Whether it is there to stay: what came too late is told of before it is deep in the chain. */
export const isConfirmed = (payment: PaymentState): boolean => isReceived(payment) && payment.confirmedAt !== null

const total = <A>(all: ReadonlyArray<A>, of: (each: A) => bigint): bigint =>
  all.reduce((sum, each) => sum + of(each), 0n)

/** Refunds that still stand for money, paid or to be paid. */
export const isActive = ({ status }: Pick<RefundState, "status">): boolean =>
  status !== "canceled" && status !== "expired"

/** Neither paid nor over. */
export const isOpen = (refund: RefundState): boolean => isActive(refund) && refund.status !== "succeeded"

const notBelowZero = (value: bigint): UsdMillis => usdMillis(value > 0n ? value : 0n)

/** What is there of a source less what was given back and what is promised; negative after a payment reverted. */
const balance = (
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

/** usd_millis that can still be given back: received, less what was, less what other refunds stand for. */
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

/** A refund as it is asked for. */
export interface NewRefund {
  /** `remaining`: all that can be given back now. */
  readonly amount: UsdMillis | "remaining"
  readonly reason: RefundReason
  readonly feeFree: boolean
  readonly source: RefundSource
  readonly quote: RefundQuote | null
}

/** A new refund, without a destination; null where nothing remains. Errors: `REFUND_EXCEEDS_RECEIVED`. */
export const newRefund = (
  id: string,
  request: NewRefund,
  { invoice, now, refunds }: RefundContext
): RefundState | null | PublicError => {
  const left = refundableAmount(invoice, refunds, request.source)
  const amount = request.amount === "remaining" ? left : request.amount
  if (amount > left) return publicError("REFUND_EXCEEDS_RECEIVED")
  if (amount === 0n) return null
  const { environment, id: invoiceId, merchantId } = invoice.invoice
  return {
    id,
    merchantId,
    environment,
    version: 1,
    invoiceId,
    paymentId: null,
    source: request.source,
    status: "awaiting_destination",
    amount,
    fee: usdMillis(0n),
    feeFree: request.feeFree,
    feeQuote: request.quote === null ? null : feeQuoteOf(request.quote),
    destination: null,
    token: null,
    tokenAmount: null,
    txHash: null,
    reason: request.reason,
    failureCode: null,
    createdAt: now,
    updatedAt: now,
    dueAt: now + destinationSeconds
  }
}

/**
 * Applies one command. `next` is the refund itself where it changes nothing; a change raises its version by one.
 * Errors: `INVALID_TRANSITION`, `REFUND_NOT_CANCELABLE`, `REFUND_EXCEEDS_RECEIVED`, `QUOTE_UNAVAILABLE` where there is
 * no `payout` to approve, `VALIDATION_ERROR` where the fee leaves nothing.
 */
export const decide = (
  refund: RefundState,
  command: RefundCommand,
  context: RefundContext,
  payout: Payout | null
): RefundDecision | PublicError => {
  const { now } = context
  const unchanged: RefundDecision = { next: refund, commands: [] }
  const transition = (status: RefundStatus, more: Partial<RefundState> = {}): RefundDecision => ({
    next: { ...refund, dueAt: null, ...more, status, version: refund.version + 1, updatedAt: now },
    commands: []
  })
  const invalid = () => publicError("INVALID_TRANSITION")
  switch (command._tag) {
    case "SetDestination":
      return setDestination(refund, command, context)
    case "Approve":
      return refund.status === "pending_approval" ? startPayout(refund, context, payout) : invalid()
    case "Retry":
      return refund.status === "failed" ? startPayout(refund, context, payout) : invalid()
    case "Submit":
      if (refund.status !== "processing") return invalid()
      return refund.txHash === command.txHash ? unchanged : transition("processing", { txHash: command.txHash })
    case "Succeed": {
      if (refund.status === "succeeded" && refund.txHash === command.txHash) return unchanged
      if (refund.status !== "processing") return invalid()
      const paid = transition("succeeded", { txHash: command.txHash })
      return { ...paid, commands: allocateRefund(refund, context.invoice.payments) }
    }
    case "Fail":
      if (refund.status === "failed" && refund.failureCode === command.code) return unchanged
      return refund.status === "processing" ? transition("failed", { failureCode: command.code }) : invalid()
    case "Cancel":
      if (refund.status === "canceled") return unchanged
      return refund.status === "awaiting_destination" || refund.status === "pending_approval"
        ? transition("canceled")
        : publicError("REFUND_NOT_CANCELABLE")
    case "Expire":
      return refund.status === "awaiting_destination" && now >= refund.createdAt + destinationSeconds
        ? transition("expired")
        : unchanged
  }
}

/** Until it is being paid out, and again once that failed. */
const setDestination = (
  refund: RefundState,
  { destination, quote }: RefundCommand & { readonly _tag: "SetDestination" },
  { fees, now }: RefundContext
): RefundDecision | PublicError => {
  const { status } = refund
  if (status !== "awaiting_destination" && status !== "pending_approval" && status !== "failed") {
    return publicError("INVALID_TRANSITION")
  }
  const previous = refund.destination
  const isSameDestination = previous?.network === destination.network && previous.address === destination.address &&
    previous.memo === destination.memo
  if (isSameDestination) return { next: refund, commands: [] }
  const feeQuote = quote == null ? refund.feeQuote : feeQuoteOf(quote)
  const fee = feeOf({ feeFree: refund.feeFree, feeQuote }, destination.network, fees, now)
  if (fee >= refund.amount) {
    return publicError("VALIDATION_ERROR", {
      message: `network: a payout on ${destination.network} costs ${usdDecimal(fee)} dollars, and only ${
        usdDecimal(refund.amount)
      } are to be refunded`,
      param: "network"
    })
  }
  return {
    next: {
      ...refund,
      status: status === "awaiting_destination" ? "pending_approval" : status,
      destination,
      feeQuote,
      fee,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}

/** To be paid out from now on, if the money for it is still there. */
const startPayout = (
  refund: RefundState,
  { invoice, now, refunds }: RefundContext,
  payout: Payout | null
): RefundDecision | PublicError => {
  const others = refunds.filter(({ id }) => id !== refund.id)
  if (refund.amount > refundableAmount(invoice, others, refund.source, isConfirmed)) {
    return publicError("REFUND_EXCEEDS_RECEIVED", {
      message: "More than was received, is deep in the chain and not refunded yet"
    })
  }
  if (refund.destination === null || refund.fee >= refund.amount) return publicError("INVALID_TRANSITION")
  if (payout === null) return publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: minimumRetrySeconds })
  return {
    next: {
      ...refund,
      status: "processing",
      token: payout.token,
      tokenAmount: payout.units,
      txHash: null,
      failureCode: null,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}

/**
 * Which payments give what a payout gave back: those of its source, the oldest first, each as far as it goes. What was
 * paid out of money that is gone by now is the loss of those payments, so that no other is asked for it twice.
 */
export const allocateRefund = (
  { amount, source }: Pick<RefundState, "amount" | "source">,
  payments: ReadonlyArray<PaymentState>
): ReadonlyArray<Command> => {
  const rank = (payment: PaymentState): number =>
    isReceived(payment) ? source === "late" && !isLate(payment) ? 1 : 0 : 2
  const inOrder = payments.toSorted((a, b) => rank(a) - rank(b) || bySeenAt(a, b))
  let left: bigint = amount
  return inOrder.flatMap((payment) => {
    const capacity = payment.amount - payment.refunded
    const share = capacity < left ? capacity : left
    if (share <= 0n) return []
    left -= share
    return [{ _tag: "Refund", paymentId: payment.id, amount: usdMillis(share) } as const]
  })
}

/**
 * What becomes of open refunds once a payment is gone from the chain: the newest give way first. What waits is cut to
 * what is still there, or canceled; what was to be paid out and is not sent has failed, as its token amount no longer
 * holds. A payout that is sent is a fact.
 */
export const reduceRefunds = (
  refunds: ReadonlyArray<RefundState>,
  invoice: Aggregate,
  now: number
): ReadonlyArray<RefundState> => {
  let excess = -balance(invoice.payments, refunds, () => true, isReceived)
  return refunds.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)).flatMap((refund) => {
    if (excess <= 0n || !isOpen(refund) || refund.txHash !== null) return []
    const shortfall = excess < refund.amount ? excess : refund.amount
    const left = usdMillis(refund.amount - shortfall)
    const isWaiting = refund.status === "awaiting_destination" || refund.status === "pending_approval"
    if (isWaiting || left > 0n) excess -= shortfall
    const next = { ...refund, version: refund.version + 1, updatedAt: now }
    if (!isWaiting) {
      const amount = left > 0n ? left : refund.amount
      return refund.status === "failed" && amount === refund.amount
        ? []
        : [{ ...next, status: "failed" as const, failureCode: revertedCode, amount }]
    }
    if (left === 0n) return [{ ...next, status: "canceled" as const, dueAt: null }]
    return refund.fee < left
      ? [{ ...next, amount: left }]
      : [{
        ...next,
        status: "awaiting_destination" as const,
        amount: left,
        fee: usdMillis(0n),
        destination: null,
        dueAt: refund.createdAt + destinationSeconds
      }]
  })
}

/** What the payor gets: the amount without the fee. */
export const net = ({ amount, fee }: Pick<RefundState, "amount" | "fee">): UsdMillis => notBelowZero(amount - fee)

/** The refund on the wire: exactly the fields of the contract, in its order. */
export const refundObject = (refund: RefundState, invoice: InvoiceState): typeof Refund.Encoded => ({
  id: refund.id,
  object: "refund",
  invoice_id: refund.invoiceId,
  invoice_payment_id: refund.paymentId,
  commerce_order_id: invoice.orderId,
  status: refund.status,
  amount: usdWire(refund.amount),
  amount_decimal: usdDecimal(refund.amount),
  amount_unit: "usd_millis",
  currency: "usd",
  token_amount: refund.token === null || refund.tokenAmount === null
    ? null
    : formatUnits(refund.tokenAmount, refund.token.decimals),
  token_symbol: refund.token?.symbol ?? null,
  network: refund.destination?.network ?? null,
  fee: usdWire(refund.fee),
  fee_decimal: usdDecimal(refund.fee),
  net_amount: usdWire(net(refund)),
  net_amount_decimal: usdDecimal(net(refund)),
  destination_address: refund.destination?.address ?? null,
  tx_hash: refund.txHash,
  balance_transaction_id: null,
  claim_url: null,
  reason: refund.reason,
  failure_code: refund.failureCode,
  created_at: refund.createdAt,
  updated_at: refund.updatedAt
})
