/** Payments: a transfer is seen, priced, confirmed or reverted, and counts or is rejected. */
import type { EventDraft } from "../../../schemas/Event.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { isCounted, type PaymentExceptionType, type PaymentMetadata } from "../../../schemas/Payment.ts"
import { paymentUpdated } from "./Events.ts"
import { openPaymentException, refreshPaymentException } from "./Exceptions.ts"
import {
  type Aggregate,
  type Command,
  type IncomingTransfer,
  noChange,
  paymentOf,
  type PaymentSettlement,
  type PaymentState,
  type Step,
  withPayment
} from "./State.ts"
import { recompute } from "./Status.ts"
import { paymentObject } from "./Wire.ts"

/** Payments worth less than this many usd_millis are dust: recorded and rejected. */
export const dustThreshold = usdMillis(1n)

export const observe = (
  state: Aggregate,
  { isAssigned = false, transfer }: Extract<Command, { _tag: "Observe" }>,
  now: number
): Step => {
  const previous = paymentOf(state, transfer.id)
  if (previous !== undefined && previous.status !== "reverted") return noChange(state)
  const isSameTransfer = previous !== undefined && previous.units === transfer.units && previous.metadata.quote !== null
  const counts = isAssigned || (isSameTransfer && wasAccepted(state, transfer.id))
  const reason = counts ? null : rejectionReason(state, transfer)
  const status = reason === null ? "pending" : "rejected"
  const isAfterEnd = transfer.seenAt > state.invoice.expiresAt
  const metadata = { ...transfer.metadata, exception: reason, ...(isAfterEnd ? { late_at: transfer.seenAt } : {}) }
  const payment: PaymentState = !isSameTransfer
    ? {
      ...transfer,
      version: previous?.version ?? 0,
      ordinal: previous?.ordinal ?? nextOrdinal(state.payments),
      status,
      confirmedAt: null,
      settlement: settlementAfterReorg(previous),
      refunded: previous?.refunded ?? usdMillis(0n),
      createdAt: previous?.createdAt ?? now,
      exception: previous?.exception ?? null,
      metadata
    }
    : {
      ...previous,
      status,
      confirmedAt: null,
      settlement: settlementAfterReorg(previous),
      metadata: { ...metadata, quote: previous.metadata.quote }
    }
  const withTransfer = withPayment(state, payment)
  const next = reason === null ? withTransfer : openPaymentException(withTransfer, reason, payment, now)
  const event: EventDraft = previous === undefined
    ? { type: "invoice_payment.created", object: paymentObject(state.invoice, payment), previousAttributes: {} }
    : paymentUpdated(state.invoice, previous, payment)
  return { next, events: [event] }
}

/**
 * Whether a person decided that the payment counts: what its chain dropped and brings back needs no second decision.
 */
const wasAccepted = ({ exceptions }: Aggregate, id: string): boolean =>
  exceptions.findLast(({ paymentId, type }) => paymentId === id && type !== "reorged")?.resolution?.action === "accept"

const nextOrdinal = (payments: ReadonlyArray<PaymentState>): number =>
  payments.reduce((highest, { ordinal }) => Math.max(highest, ordinal), 0) + 1

/** Why a transfer is recorded but not counted; null when it counts. */
const rejectionReason = (state: Aggregate, transfer: IncomingTransfer): PaymentExceptionType | null => {
  const { invoice } = state
  if (transfer.metadata.exception !== null) return transfer.metadata.exception
  const isLateRejected = invoice.type === "commerce" || invoice.policy.latePayment === "manual" ||
    transfer.seenAt > invoice.expiresAt + invoice.policy.lateWindowSeconds
  if (invoice.status === "canceled" || (isLateRejected && isLate(state, transfer))) return "late_payment"
  const isPriced = transfer.metadata.quote !== null
  return isPriced && transfer.amount < dustThreshold ? "below_dust" : null
}

/**
 * After the end, unless a part came before it and the grace to complete it is not over: those funds are what the grace
 * is for, whatever the policy on late ones.
 */
const isLate = ({ invoice, payments }: Aggregate, { seenAt }: Pick<IncomingTransfer, "seenAt">): boolean => {
  if (seenAt <= invoice.expiresAt) return false
  const hasPart = payments.some((payment) =>
    payment.seenAt <= invoice.expiresAt && payment.status !== "rejected" && payment.status !== "reverted"
  )
  return !hasPart || seenAt > invoice.expiresAt + invoice.policy.underpaidGraceSeconds
}

export const value = (
  state: Aggregate,
  { paymentId, amount, quote }: { paymentId: string; amount: UsdMillis; quote: PaymentMetadata["quote"] },
  now: number
): Step => {
  const payment = paymentOf(state, paymentId)
  const isUnconfirmed = payment?.status === "pending" || payment?.status === "manual_retry"
  // Money that came too late counts nowhere, but what it is worth is what can be given back.
  const isOwed = payment?.status === "rejected" && payment.metadata.exception === "late_payment"
  if (payment === undefined || !(isUnconfirmed || isOwed) || payment.metadata.quote !== null) return noChange(state)
  const isDust = isUnconfirmed && amount < dustThreshold
  const after: PaymentState = {
    ...payment,
    amount,
    status: isDust ? "rejected" : payment.status,
    metadata: { ...payment.metadata, quote, exception: isDust ? "below_dust" : payment.metadata.exception }
  }
  const valued = withPayment(state, after)
  const next = isOwed ? refreshPaymentException(valued, "late_payment", after) : valued
  return {
    next: isDust ? openPaymentException(next, "below_dust", after, now) : next,
    events: [paymentUpdated(state.invoice, payment, after)]
  }
}

/** Once: what a contract says later may be something else. Nothing but what is shown depends on it. */
export const nameToken = (
  state: Aggregate,
  { decimals, paymentId, symbol }: Extract<Command, { _tag: "NameToken" }>
): Step => {
  const payment = paymentOf(state, paymentId)
  const token = payment?.metadata.token ?? null
  const isNamed = token === null || token.id !== null || token.symbol !== null || token.decimals !== null
  if (payment === undefined || isNamed || (symbol === null && decimals === null)) return noChange(state)
  const after: PaymentState = {
    ...payment,
    tokenDecimals: decimals,
    metadata: { ...payment.metadata, token: { ...token, symbol, decimals } }
  }
  return { next: withPayment(state, after), events: [paymentUpdated(state.invoice, payment, after)] }
}

export const confirm = (state: Aggregate, paymentId: string, confirmations: number, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined) return noChange(state)
  const confirmedPayment: PaymentState = {
    ...payment,
    confirmedAt: now,
    metadata: { ...payment.metadata, confirmations }
  }
  // Money that is refused is given back or accepted later, and not before it can no longer go away.
  if (payment.status === "rejected" && payment.confirmedAt === null) {
    return {
      next: withPayment(state, confirmedPayment),
      events: [paymentUpdated(state.invoice, payment, confirmedPayment)]
    }
  }
  const isUnconfirmed = payment.status === "pending" || payment.status === "manual_retry"
  if (!isUnconfirmed || payment.metadata.quote === null) return noChange(state)
  // It was under way when the order that the invoice belongs to ended.
  if (state.invoice.status === "canceled") return rejectLate(state, payment, confirmedPayment, now)
  // Provisional: `recompute` says what the payment is by what all payments come to.
  return recompute(state, [{ ...confirmedPayment, status: "underpaid" }], "credit", now)
}

/** Confirmed money that can no longer count: the exception asks for a decision, and a refund may give it back. */
const rejectLate = (
  state: Aggregate,
  before: PaymentState,
  confirmedPayment: PaymentState,
  now: number
): Step => {
  const payment: PaymentState = {
    ...confirmedPayment,
    status: "rejected",
    metadata: { ...confirmedPayment.metadata, exception: "late_payment" }
  }
  return {
    next: openPaymentException(withPayment(state, payment), "late_payment", payment, now),
    events: [paymentUpdated(state.invoice, before, payment)]
  }
}

export const revert = (state: Aggregate, paymentId: string, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined || payment.status === "reverted") return noChange(state)
  const revertedPayment: PaymentState = {
    ...payment,
    status: "reverted",
    confirmedAt: null,
    settlement: payment.settlement?.progress === "settled" ? payment.settlement : settlementAfterReorg(payment),
    metadata: { ...payment.metadata, confirmations: 0, block_number: null }
  }
  const before = isCounted(payment.status) ? openPaymentException(state, "reorged", payment, now) : state
  return recompute(before, [revertedPayment], "revert", now)
}

/**
 * The settlement of a payment that comes back to its chain: money that was forwarded or refunded has gone and is not
 * moved again. What came straight from the payor must become final anew.
 */
const settlementAfterReorg = (payment: PaymentState | undefined): PaymentSettlement | null => {
  if (payment === undefined) return null
  const { refunded, settlement } = payment
  return refunded > 0n || (settlement?.progress === "settled" && settlement.txHash !== null) ? settlement : null
}

export const requireManualRetry = (state: Aggregate, paymentId: string, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  const isActive = payment?.status === "pending" || (payment !== undefined && isCounted(payment.status))
  if (payment === undefined || !isActive) return noChange(state)
  return recompute(state, [{ ...payment, status: "manual_retry" }], "revert", now)
}
