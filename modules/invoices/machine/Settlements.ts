/** Settlements and refunds: where the money of a payment is once it counts. */
import type { EventDraft } from "../../../schemas/Event.ts"
import { previousAttributes } from "../../../schemas/Event.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { paymentUpdated } from "./Events.ts"
import { openPaymentException } from "./Exceptions.ts"
import { cancelRefunded, isFullyRefunded } from "./RefundedInvoice.ts"
import {
  type Aggregate,
  type Command,
  hasPending,
  noChange,
  paymentOf,
  type PaymentSettlement,
  type PaymentState,
  type Step,
  withPayment
} from "./State.ts"
import { paymentObject } from "./Wire.ts"

export const applySettlement = (
  state: Aggregate,
  { isSilent = false, needsOperator = false, paymentId, settlement }: Extract<Command, { _tag: "Settle" }>,
  now: number
): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined || (settlement !== null && !isCounted(payment.status))) return noChange(state)
  const before = needsOperator
    ? openPaymentException(state, "settlement_failed", payment, now)
    : state
  const after: PaymentState = { ...payment, settlement }
  const event = paymentUpdated(state.invoice, payment, after)
  if (Object.keys(event.previousAttributes).length === 0) {
    return { next: before, events: [] }
  }
  return { next: withPayment(before, after), events: isSilent ? [] : [event] }
}

/** Which balance transaction a payment's money is in. It is told with the change that it books, or by itself. */
export const book = (
  state: Aggregate,
  { balanceTransactionId, isSilent = false, paymentId }: Extract<Command, { _tag: "Book" }>
): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined || (payment.balanceTransactionId ?? null) === balanceTransactionId) return noChange(state)
  const after: PaymentState = { ...payment, balanceTransactionId }
  const event = paymentUpdated(state.invoice, payment, after)
  const isShown = !isSilent && Object.keys(event.previousAttributes).length > 0
  return { next: withPayment(state, after), events: isShown ? [event] : [] }
}

/**
 * Tells of a refund, and ends an invoice that was never paid in full once nothing of it is left
 * (modules/docs/reference/invoices.md#canceling). Never more than what came: whoever refunds holds to that, and here it
 * is cut.
 */
export const refund = (
  state: Aggregate,
  { amount, isWhole, paymentId }: Extract<Command, { _tag: "Refund" }>
): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined) return noChange(state)
  const refundable = payment.amount - payment.refunded
  const refundAmount = amount < refundable ? amount : refundable
  if (refundAmount <= 0n && isWhole === undefined) return noChange(state)
  const refunded = usdMillis(payment.refunded + refundAmount)
  const settledAmount = payment.settlement?.progress === "settled" ? payment.settlement.settledAmount : null
  const rest = settledAmount === null ? payment.amount - refunded : settledAmount - refundAmount
  const net = usdMillis(rest > 0n ? rest : 0n)
  const after: PaymentState = {
    ...payment,
    refunded,
    settlement: {
      ...payment.settlement ?? refundOnlySettlement,
      status: isWhole ?? refunded === payment.amount ? "refunded" : "partially_refunded",
      settledAmount: net
    }
  }
  const object = paymentObject(state.invoice, after)
  const event: EventDraft = {
    type: "invoice_payment.refunded",
    object,
    previousAttributes: previousAttributes(paymentObject(state.invoice, payment), object)
  }
  const next = withPayment(state, after)
  if (!isFullyRefunded(next) || hasPending(next)) return { next, events: [event] }
  const ended = cancelRefunded(next)
  return { next: ended.next, events: [event, ...ended.events] }
}

/** Where a refund was the first that anybody heard of a payment's money. */
const refundOnlySettlement: PaymentSettlement = {
  status: "refunded",
  stage: "final",
  progress: "settled",
  settledAmount: null,
  settledAt: null,
  id: null,
  txHash: null,
  network: null
}
