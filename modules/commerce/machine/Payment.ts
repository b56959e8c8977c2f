/** The order follows its invoice: until it is paid, until the payment is settled and the gate opens. */
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { isCounted, type SettlementStatus } from "../../../schemas/Payment.ts"
import { type Aggregate, hasPending, newestCountedPayment, type PaymentState } from "../../invoices/plugin.ts"
import { isAwaitingPlacement, noSettlement, type OrderPaymentState, type OrderState, transition } from "./State.ts"

/** The order's money as its invoice shows it; no step is made by it. */
export const withPaymentState = (order: OrderState, { invoice, payments }: Aggregate): OrderState => {
  const countedPayments = payments.filter(({ status }) => isCounted(status))
  const latePayments = payments.filter(isLate)
  const newest = newestCountedPayment(payments)
  return {
    ...order,
    payment: {
      status: invoice.status,
      amountPaid: invoice.amountPaid,
      txHash: newest?.txHash ?? null,
      network: newest?.network ?? null,
      paidAt: invoice.paidAt,
      settlement: laggingSettlement(countedPayments)
    },
    received: sum([...countedPayments, ...latePayments], ({ amount }) => amount),
    receivedLate: sum(latePayments, ({ amount }) => amount),
    refunded: sum(payments, ({ refunded }) => refunded)
  }
}

const sum = (payments: ReadonlyArray<PaymentState>, of: (payment: PaymentState) => bigint): UsdMillis =>
  usdMillis(payments.reduce((total, payment) => total + of(payment), 0n))

const isLate = ({ metadata, status }: PaymentState): boolean =>
  status === "rejected" && metadata.exception === "late_payment"

/** How far a settlement has come, least first. */
const settlementOrder: ReadonlyArray<SettlementStatus> = [
  "failed",
  "manual",
  "pending",
  "processing",
  "settled",
  "partially_refunded",
  "refunded"
]

const laggingSettlement = (countedPayments: ReadonlyArray<PaymentState>): OrderPaymentState["settlement"] => {
  const all = countedPayments.flatMap(({ settlement }) => settlement === null ? [] : [settlement])
  const [least] = all.toSorted((a, b) => settlementOrder.indexOf(a.status) - settlementOrder.indexOf(b.status))
  return least === undefined || all.length < countedPayments.length ? noSettlement : {
    status: least.status,
    txHash: least.txHash,
    network: least.network,
    settledAt: least.settledAt
  }
}

/**
 * Whether every payment the order was paid by is settled, and none of it was given back. A payment without a settlement
 * is not: where nothing settles, nothing is placed.
 */
export const isGateOpen = ({ paidBy }: Pick<OrderState, "paidBy">, { invoice, payments }: Aggregate): boolean => {
  const gatePayments = payments.filter(({ id }) => paidBy.includes(id))
  return invoice.status === "paid" && paidBy.length > 0 && gatePayments.length === paidBy.length &&
    gatePayments.every(({ settlement, status }) => isCounted(status) && hasSettled(settlement)) &&
    !isRefundedBelowAmount({ paidBy }, { invoice, payments })
}

/** Whether so much of what the order was paid by went back to the payor that the rest does not pay it. */
const isRefundedBelowAmount = (
  { paidBy }: Pick<OrderState, "paidBy">,
  { invoice, payments }: Pick<Aggregate, "invoice" | "payments">
): boolean => {
  const gatePayments = payments.filter(({ id, status }) => isCounted(status) && paidBy.includes(id))
  const keptAmount = gatePayments.reduce((total, { amount, refunded }) => total + amount - refunded, 0n)
  return keptAmount < invoice.amount - BigInt(invoice.policy.tolerance)
}

const settledStatuses: ReadonlyArray<SettlementStatus> = ["settled", "partially_refunded", "refunded"]

/** A refund may have been told of before any settlement: only a time of settling proves one. */
const hasSettled = (settlement: PaymentState["settlement"]): boolean =>
  settlement !== null && settlement.settledAt !== null && settledStatuses.includes(settlement.status)

/** The steps that the invoice alone makes. */
export const followInvoice = (order: OrderState, current: Aggregate, now: number): OrderState => {
  switch (order.status) {
    case "pending_payment":
      return followPayment(order, current, now)
    case "processing":
      return followSettlement(order, current, now)
    default:
      return order
  }
}

const followPayment = (order: OrderState, current: Aggregate, now: number): OrderState => {
  const { invoice } = current
  const isWaiting = hasPending(current)
  if (invoice.status === "paid") {
    return followSettlement(
      transition(order, "processing", "AWAITING_SETTLEMENT", "Payment received", now, { paidBy: countedIds(current) }),
      current,
      now
    )
  }
  const isOver = invoice.status === "expired" || (invoice.status === "underpaid" && invoice.graceEnded)
  if (isOver && !isWaiting) {
    return transition(order, "cancelled", "PAYMENT_EXPIRED", "Not paid in time", now)
  }
  if (invoice.status === "canceled") {
    return transition(order, "cancelled", "CANCELLED_BY_MERCHANT", "Invoice canceled", now)
  }
  if (isWaiting) return transition(order, "pending_payment", "PAYMENT_CONFIRMING", "Payment seen", now)
  return invoice.status === "underpaid"
    ? transition(order, "pending_payment", "PARTIALLY_PAID", "Part of the payment received", now)
    : transition(order, "pending_payment", "AWAITING_PAYMENT", "Payment is gone from the chain", now)
}

const countedIds = ({ payments }: Aggregate): ReadonlyArray<string> =>
  payments.filter(({ status }) => isCounted(status)).map(({ id }) => id)

const followSettlement = (before: OrderState, current: Aggregate, now: number): OrderState => {
  const currentIds = countedIds(current)
  const isWhole = before.paidBy.every((id) => currentIds.includes(id))
  // What counted then may be gone while later payments make up for it: then those are waited for.
  const order = isWhole || current.invoice.status !== "paid" ? before : { ...before, paidBy: currentIds }
  const isOpen = isGateOpen(order, current)
  const isSubmitted = isAwaitingPlacement(order)
  if (isOpen) {
    return isSubmitted
      ? order
      : transition(order, "processing", "PROVIDER_PLACEMENT_SUBMITTED", "Payment settled", now, { dueAt: now })
  }
  // The retailer may have it by now: what it has placed is taken back first, see `taskOf`; at once where it was only
  // waited for, else when the call under way or the pause after it is over.
  if (isSubmitted && order.tries > 0) {
    return order.isAcknowledged
      ? { ...order, isAcknowledged: false, dueAt: now }
      : { ...order, dueAt: order.dueAt ?? now }
  }
  const isWaiting = isStuck(order, current)
  if (current.invoice.status !== "paid" && !isWaiting) {
    return transition(order, "failed", "PAYMENT_REVERSED", "Payment is gone from the chain", now)
  }
  if (current.invoice.status === "paid" && isRefundedBelowAmount(order, current)) {
    return transition(order, "failed", "PAYMENT_REVERSED", "Payment was given back", now)
  }
  const isManual = isWaiting ||
    current.payments.some(({ id, settlement }) => settlement?.status === "manual" && order.paidBy.includes(id))
  return isManual
    ? transition(order, "processing", "SETTLEMENT_REVIEW", "Settlement needs an operator", now)
    : transition(order, "processing", "AWAITING_SETTLEMENT", "Settlement under way", now)
}

/** A payment it was paid by waits for an operator, who may still make it count. */
export const isStuck = ({ paidBy }: Pick<OrderState, "paidBy">, { payments }: Pick<Aggregate, "payments">): boolean =>
  payments.some(({ id, status }) => status === "manual_retry" && paidBy.includes(id))
