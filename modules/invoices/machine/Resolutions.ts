/** Decisions on exceptions: what a person decides changes the exception and, where money is accepted, the invoice. */
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { paymentUpdated } from "./Events.ts"
import { allowedActions, amountIfAccepted, openExceptionOf, updateExceptions } from "./Exceptions.ts"
import { decidedShares, isExcess } from "./Excess.ts"
import {
  type Aggregate,
  type Command,
  type ExceptionState,
  type InvoiceState,
  noChange,
  paymentOf,
  type PaymentState,
  type Step,
  withPayment
} from "./State.ts"
import { recompute } from "./Status.ts"

/** Nothing changes where the exception is resolved already or does not allow the action: callers look first. */
export const resolve = (
  state: Aggregate,
  { exceptionId, part, resolution }: Extract<Command, { _tag: "Resolve" }>,
  now: number
): Step => {
  const exception = state.exceptions.find(({ id }) => id === exceptionId)
  if (exception === undefined) return noChange(state)
  const payment = exception.paymentId === null ? null : paymentOf(state, exception.paymentId) ?? null
  if (!allowedActions(exception, { invoice: state.invoice, payment }).includes(resolution.action)) {
    return noChange(state)
  }
  if (part !== undefined) return resolvePart(state, exception, part, resolution, now)
  const next = withResolution(state, exception, resolution, now)
  if (resolution.action !== "accept") return { next, events: [] }
  return payment === null ? acceptShortfall(next, now) : acceptPayment(next, payment, now)
}

/** What was decided on is an exception of its own; the refund that it is decided by takes it from the open one. */
const resolvePart = (
  state: Aggregate,
  open: ExceptionState,
  { amount, id }: NonNullable<Extract<Command, { _tag: "Resolve" }>["part"]>,
  resolution: ExceptionResolution,
  now: number
): Step => {
  if (!isExcess(open) || amount <= 0n || amount >= open.amount) return noChange(state)
  const part: ExceptionState = {
    ...open,
    id,
    version: 0,
    amount,
    status: "resolved",
    createdAt: now,
    resolvedAt: now,
    resolution
  }
  return { next: { ...state, exceptions: [...state.exceptions, part] }, events: [] }
}

/** What is kept of money that is too much is tied to its payments: what leaves its chain was not decided on. */
const withResolution = (
  state: Aggregate,
  exception: ExceptionState,
  resolution: ExceptionResolution,
  now: number
): Aggregate => {
  const kept = isExcess(exception) && resolution.action !== "refund"
    ? { ...resolution, shares: decidedShares(state, exception) }
    : resolution
  return {
    ...state,
    exceptions: state.exceptions.map((each) =>
      each === exception ? { ...each, status: "resolved", resolvedAt: now, resolution: kept } : each
    )
  }
}

/** What goes back changes, so what is too much does. */
export const trackRefund = (
  state: Aggregate,
  { refund, reopenedException }: Extract<Command, { _tag: "TrackRefund" }>,
  now: number
): Step => {
  const others = (state.invoice.openRefunds ?? []).filter(({ id }) => id !== refund.id)
  const invoice: InvoiceState = {
    ...state.invoice,
    openRefunds: refund.amount === 0n ? others : [...others, refund]
  }
  // One refund may have decided several exceptions about too much money.
  const decidedToo = reopenedException === undefined ?
    [] :
    state.exceptions.filter((each) =>
      isExcess(each) && each.id !== reopenedException.exceptionId && each.resolution?.refundId === refund.id
    )
  const next = [
    ...(reopenedException === undefined ? [] : [reopenedException]),
    ...decidedToo.map(({ id }) => ({ exceptionId: id, otherRefundsAmount: usdMillis(0n) }))
  ].reduce<Aggregate>((all, each) => ({ ...all, exceptions: reopen(all, each) }), { ...state, invoice })
  return { next: updateExceptions(state, next, [], now), events: [] }
}

/**
 * The exceptions with one that waits for a decision again; as they were where it was decided otherwise since. Where
 * another exception about the same is open by now, that one takes the money over, as it does of everything that nobody
 * decided on. What is too much may go back by several refunds: while others stand, the decision holds for what they
 * give.
 */
const reopen = (
  state: Aggregate,
  { exceptionId, otherRefundsAmount }: NonNullable<Extract<Command, { _tag: "TrackRefund" }>["reopenedException"]>
): Aggregate["exceptions"] => {
  const { exceptions } = state
  const exception = exceptions.find(({ id }) => id === exceptionId)
  if (exception?.status !== "resolved" || exception.resolution?.action !== "refund") return exceptions
  const replace = (after: ExceptionState) => exceptions.map((each) => each === exception ? after : each)
  if (otherRefundsAmount > 0n && isExcess(exception)) {
    return otherRefundsAmount >= exception.amount ? exceptions : replace({ ...exception, amount: otherRefundsAmount })
  }
  if (!isExcess(exception) && isDecidedSince(state, exception)) return exceptions
  const isTakenOver = openExceptionOf(state, exception.type, exception.paymentId) !== undefined
  return replace(
    isTakenOver
      ? { ...exception, resolution: null }
      : { ...exception, status: "open", resolvedAt: null, resolution: null }
  )
}

/**
 * Whether a payment that left its chain and came back was decided on anew: that decision is about the same money, all
 * of it.
 */
const isDecidedSince = ({ exceptions }: Aggregate, exception: ExceptionState): boolean =>
  exception.paymentId !== null &&
  exceptions.slice(exceptions.indexOf(exception) + 1).some((later) =>
    later.paymentId === exception.paymentId && later.type === exception.type && later.resolution !== null
  )

/** What is missing is waived: the invoice is paid with what came. */
const acceptShortfall = (state: Aggregate, now: number): Step => {
  const { invoice } = state
  const shortfall = invoice.amount - invoice.amountPaid
  const after: InvoiceState = { ...invoice, acceptedShortfall: usdMillis(shortfall > 0n ? shortfall : 0n) }
  return recompute({ ...state, invoice: after }, [], "credit", now)
}

/** A refused payment counts like any other: at once where it is deep enough, else from then on. */
const acceptPayment = (state: Aggregate, payment: PaymentState, now: number): Step => {
  const after: PaymentState = {
    ...payment,
    amount: amountIfAccepted(payment) ?? payment.amount,
    metadata: { ...payment.metadata, exception: null }
  }
  if (payment.confirmedAt !== null) return recompute(state, [{ ...after, status: "underpaid" }], "credit", now)
  const pending: PaymentState = { ...after, status: "pending" }
  return { next: withPayment(state, pending), events: [paymentUpdated(state.invoice, payment, pending)] }
}
