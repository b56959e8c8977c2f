/** The status of an invoice: computed anew from its payments and the clock whenever either changes. */
import type { EventType } from "../../../schemas/Event.ts"
import type { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { isCounted, type PaymentStatus } from "../../../schemas/Payment.ts"
import { invoiceEvents, paymentUpdated } from "./Events.ts"
import { updateExceptions } from "./Exceptions.ts"
import {
  type Aggregate,
  hasPending,
  type InvoiceState,
  newestCountedPayment,
  paymentOf,
  type PaymentState,
  type Step,
  withPayment
} from "./State.ts"

/** What caused the change: decides which specific event follows `invoice.updated`. */
type Trigger = "credit" | "revert" | "expire"

/**
 * Computes the invoice from its payments and the clock, moves counted payments to the status the invoice gives them,
 * and tells of everything that changed: the payments that caused it, the others, the invoice, the specific events.
 */
export const recompute = (
  before: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>,
  trigger: Trigger,
  now: number
): Step => {
  const withChanges = changedPayments.reduce(withPayment, before)
  const amountPaid = usdMillis(sumCounted(withChanges.payments))
  const status = statusOf(withChanges, amountPaid, trigger, now)
  const countedStatus: PaymentStatus = status === "paid" ? "confirmed" : "underpaid"
  const payments = withChanges.payments.map((payment) =>
    isCounted(payment.status) && payment.status !== countedStatus ? { ...payment, status: countedStatus } : payment
  )
  const newest = newestCountedPayment(payments)
  const invoice: InvoiceState = {
    ...before.invoice,
    status,
    amountPaid,
    payerWalletAddress: newest?.sender ?? null,
    payerWalletNetwork: newest?.network ?? null,
    lastPaymentAt: newest?.seenAt ?? null,
    paidAt: status === "paid" ? before.invoice.paidAt ?? now : null,
    // The merchant waived what was missing beside this money: with less of it the question is asked again.
    acceptedShortfall: amountPaid + before.invoice.acceptedShortfall < before.invoice.amount
      ? usdMillis(0n)
      : before.invoice.acceptedShortfall
  }
  const changedIds = new Set(changedPayments.map(({ id }) => id))
  const inOrder = [...payments].sort((a, b) => Number(changedIds.has(b.id)) - Number(changedIds.has(a.id)))
  const paymentEvents = inOrder.flatMap((payment) => {
    const previous = paymentOf(before, payment.id)
    return previous === undefined || previous === payment ? [] : [paymentUpdated(before.invoice, previous, payment)]
  })
  const next = { ...before, invoice, payments }
  const specific = specificEvents(before.invoice, invoice, trigger)
  return {
    next: updateExceptions(before, next, changedPayments, now),
    events: [...paymentEvents, ...invoiceEvents(before.invoice, invoice, specific)]
  }
}

/**
 * Paid once what counts is the amount less the tolerance, or less what the merchant waived; `underpaid` with less
 * than that and more than nothing; without any of it the time decides (modules/docs/reference/invoices.md#states).
 */
const statusOf = (
  { invoice, payments }: Aggregate,
  amountPaid: UsdMillis,
  trigger: Trigger,
  now: number
): InvoiceStatus => {
  if (invoice.status === "canceled") return "canceled"
  if (amountPaid > 0n) {
    const tolerance = BigInt(Math.max(invoice.policy.tolerance, usdWire(invoice.acceptedShortfall)))
    return amountPaid >= invoice.amount - tolerance ? "paid" : "underpaid"
  }
  if (invoice.status === "expired" || trigger === "expire") return "expired"
  if (invoice.status === "unpaid") return "unpaid"
  return now >= invoice.expiresAt && !hasPending({ payments }) ? "expired" : "unpaid"
}

const specificEvents = (
  before: InvoiceState,
  after: InvoiceState,
  trigger: Trigger
): ReadonlyArray<EventType> => {
  if (trigger === "expire") return ["invoice.expired"]
  if (trigger === "revert") return []
  const over: ReadonlyArray<EventType> = after.amountPaid > after.amount ? ["invoice.overpaid"] : []
  if (after.status === "paid") return before.status === "paid" ? over : ["invoice.paid", ...over]
  return after.status === "underpaid" ? ["invoice.partial_payment"] : []
}

const sumCounted = (payments: ReadonlyArray<PaymentState>): bigint =>
  payments.reduce((sum, { status, amount }) => (isCounted(status) ? sum + amount : sum), 0n)
