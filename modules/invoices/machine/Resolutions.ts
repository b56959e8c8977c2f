/** Decisions on exceptions: what a person decides changes the exception and, where money is accepted, the invoice. */
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { acceptedAmount, allowedActions, isExcess, openExceptionOf, updateExceptions } from "./Exceptions.ts"
import { paymentUpdated } from "./Events.ts"
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

/** What was decided on is no longer part of what waits. */
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
  return { next: updateExceptions(state, { ...state, exceptions: [...state.exceptions, part] }, [], now), events: [] }
}

const withResolution = (
  state: Aggregate,
  exception: ExceptionState,
  resolution: ExceptionResolution,
  now: number
): Aggregate => ({
  ...state,
  exceptions: state.exceptions.map((each) =>
    each === exception ? { ...each, status: "resolved", resolvedAt: now, resolution } : each
  )
})

/**
 * Nothing changes where it was decided otherwise since. Where another exception about the same is open by now, that one
 * takes the money over, as it does of everything that nobody decided on. What is too much may go back by several
 * refunds: while others stand, the decision holds for what they give.
 */
export const reopen = (
  state: Aggregate,
  { exceptionId, standing = usdMillis(0n) }: Extract<Command, { _tag: "Reopen" }>,
  now: number
): Step => {
  const exception = state.exceptions.find(({ id }) => id === exceptionId)
  if (exception?.status !== "resolved" || exception.resolution?.action !== "refund") return noChange(state)
  if (standing > 0n && isExcess(exception)) {
    if (standing >= exception.amount) return noChange(state)
    const exceptions = state.exceptions.map((each) => each === exception ? { ...each, amount: standing } : each)
    return { next: updateExceptions(state, { ...state, exceptions }, [], now), events: [] }
  }
  if (isDecidedSince(state, exception)) return noChange(state)
  const isTakenOver = openExceptionOf(state, exception.type, exception.paymentId) !== undefined
  const undecided: ExceptionState = isTakenOver
    ? { ...exception, resolution: null }
    : { ...exception, status: "open", resolvedAt: null, resolution: null }
  const exceptions = state.exceptions.map((each) => each === exception ? undecided : each)
  return { next: updateExceptions(state, { ...state, exceptions }, [], now), events: [] }
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
    amount: acceptedAmount(payment) ?? payment.amount,
    metadata: { ...payment.metadata, exception: null }
  }
  if (payment.confirmedAt !== null) return recompute(state, [{ ...after, status: "underpaid" }], "credit", now)
  const pending: PaymentState = { ...after, status: "pending" }
  return { next: withPayment(state, pending), events: [paymentUpdated(state.invoice, payment, pending)] }
}
