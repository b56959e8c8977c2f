/**
 * The invoice and its payments: every rule about when they change, and nothing else.
 * Pure: no clock, no chance, no SQL. The actor loads the state, supplies time and commits what is returned. The rules
 * are in `machine/` by subject: `decide` hands each command to its rule.
 *
 *   unpaid ──── confirmed funds ────> underpaid ──── enough ────> paid
 *   unpaid ──── expires_at, nothing pending, its networks seen until then ────> expired
 *   expired ─── late funds, policy accepts ────> underpaid | paid
 *   paid | underpaid ─── a payment reverted ───> underpaid | unpaid | expired
 *   unpaid | expired ─── merchant cancels ────> canceled            (nothing leaves canceled)
 *   underpaid ── all of it refunded ──> canceled
 *   unpaid | underpaid | expired ── its order ends ──────────> canceled (payments under way come late)
 *   unpaid | underpaid ── devnet only: its time is over now ──> as if `expires_at` had come; a part keeps its grace
 *
 * The rules in words: modules/docs/reference/invoices.md#states and modules/docs/reference/payments.md#states. State is
 * a function of (invoice, payments, clock): the status is always computed anew from what is counted, so the order in
 * which payments arrive does not matter.
 */
import type { Rollup } from "../../runtime/Rollups.ts"
import type { EventDraft } from "../../schemas/Event.ts"
import { erase } from "./machine/Erasure.ts"
import { coalesce, coalesceCancel } from "./machine/Events.ts"
import { exceptionEventsOf, withPaymentExceptions } from "./machine/ExceptionEvents.ts"
import { expireNow, nextDue, tick } from "./machine/Expiry.ts"
import { amend, cancel } from "./machine/MerchantChanges.ts"
import { confirm, nameToken, observe, requireManualRetry, revert, value } from "./machine/Payments.ts"
import { resolve, trackRefund } from "./machine/Resolutions.ts"
import { applySettlement, book, refund } from "./machine/Settlements.ts"
import type { Aggregate, Command, Decision, ExceptionState, Refusal, Step } from "./machine/State.ts"

export { erasureObstacle } from "./machine/Erasure.ts"
export { creationEvents } from "./machine/Events.ts"
export { exceptionEvents, exceptionObject } from "./machine/ExceptionEvents.ts"
export {
  allowedActions,
  amountIfAccepted,
  type ExceptionRecord,
  exceptionRecord,
  type ExceptionSubject,
  forecastExceptions,
  openExceptionOf,
  requiresNote
} from "./machine/Exceptions.ts"
export { type Excess, excessOf, isExcess, overpaidPayments, withOpenRefunds } from "./machine/Excess.ts"
export { catchUpSeconds, outageWaitSeconds } from "./machine/Expiry.ts"
export { mergeMetadata } from "./machine/MerchantChanges.ts"
export { dustThreshold } from "./machine/Payments.ts"
export { afterSight, type PayoutDetails, type PayoutSighting } from "./machine/PayoutExceptions.ts"
export { policyOf, toleranceOf } from "./machine/Policy.ts"
export { divideRefund, isLate, isReceived } from "./machine/RefundShares.ts"
export {
  type Aggregate,
  amountRemaining,
  bySeenAt,
  type Command,
  type Decision,
  type ExceptionDraft,
  type ExceptionState,
  hasPending,
  type IncomingTransfer,
  type InvoiceDetails,
  type InvoicePolicy,
  type InvoiceState,
  isPayable,
  lockedRoute,
  newestCountedPayment,
  newestFirst,
  nothingToScan,
  type OpenRefund,
  paymentOf,
  type PaymentSettlement,
  type PaymentState,
  type Refusal,
  type ScanProgress
} from "./machine/State.ts"
export {
  hasLeft,
  stepUnmatched,
  type UnmatchedEvent,
  type UnmatchedPayment,
  type UnmatchedTransfer,
  unmatchedTransfer
} from "./machine/Unmatched.ts"
export { invoiceObject, paymentObject, tokenAmount, wireSettlement } from "./machine/Wire.ts"

/**
 * Applies commands in order and returns everything to commit at once. Total but for `Cancel`: a command that does not
 * apply changes nothing and publishes nothing.
 */
export const decide = (
  before: Aggregate,
  commands: ReadonlyArray<Command>,
  now: number
): Decision | Refusal => {
  let state = before
  const events: Array<EventDraft> = []
  for (const command of commands) {
    const applied = apply(state, command, now)
    if (typeof applied === "string") return applied
    const step = withPaymentExceptions(state, applied)
    state = step.next
    if (command._tag === "Settle" || command._tag === "Book") step.events.forEach((event) => coalesce(events, event))
    else if (command._tag === "Cancel") coalesceCancel(events, step.events, before.invoice)
    else events.push(...step.events)
  }
  const versions = new Map(before.payments.map((payment) => [payment.id, payment.version]))
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  const payments = state.payments.map((payment) =>
    previousById.get(payment.id) === payment ? payment : { ...payment, version: (versions.get(payment.id) ?? 0) + 1 }
  )
  // They keep their places.
  const isChanged = (exception: ExceptionState, index: number) => before.exceptions[index] !== exception
  const exceptions = state.exceptions.map((exception, index) =>
    isChanged(exception, index) ? { ...exception, version: (before.exceptions[index]?.version ?? 0) + 1 } : exception
  )
  const progress = commands.findLast((command) => command._tag === "Tick")?.progress
  const invoice = { ...state.invoice, version: before.invoice.version + 1, dueAt: nextDue(state, now, progress) }
  const next = { ...state, invoice, payments, exceptions }
  return {
    next,
    changedPayments: payments.filter((payment) => previousById.get(payment.id) !== payment),
    changedExceptions: exceptions.filter(isChanged),
    events: [...events, ...exceptionEventsOf(before, next)]
  }
}

const apply = (state: Aggregate, command: Command, now: number): Step | Refusal => {
  switch (command._tag) {
    case "Observe":
      return observe(state, command, now)
    case "Value":
      return value(state, command, now)
    case "NameToken":
      return nameToken(state, command)
    case "Confirm":
      return confirm(state, command.paymentId, command.confirmations, now)
    case "Revert":
      return revert(state, command.paymentId, now)
    case "RequireManualRetry":
      return requireManualRetry(state, command.paymentId, now)
    case "Tick":
      return tick(state, command.progress, now)
    case "End":
      return expireNow(state, now)
    case "Settle":
      return applySettlement(state, command, now)
    case "Book":
      return book(state, command)
    case "Resolve":
      return resolve(state, command, now)
    case "TrackRefund":
      return trackRefund(state, command, now)
    case "Refund":
      return refund(state, command)
    case "Cancel":
      return cancel(state, command.byOrder === true)
    case "Amend":
      return amend(state, command)
    case "Erase":
      return erase(state, command.hashOf)
  }
}

/**
 * Invoices by how they stand and when they were created: counts, amounts and what was paid of them. Keys are
 * `<invoice_type>:<status>:<payer_wallet_network or nothing>`. For all time, by six hours and by quarter of an hour.
 */
export const invoiceStates: Rollup = {
  sum: "invoices.states",
  version: 2,
  object: "invoice",
  widths: [0, 21_600, 900],
  contributions: (invoice) => [{
    at: invoice.created_at as number,
    key: `${invoice.invoice_type}:${invoice.status}:${invoice.payer_wallet_network ?? ""}`,
    count: 1,
    amount: BigInt(invoice.amount as number),
    amountPaid: BigInt(invoice.amount_paid as number)
  }]
}
