/** The exception as JSON, and the events that tell of it. */
import type { EventDraft } from "../../../schemas/Event.ts"
import { previousAttributes } from "../../../schemas/Event.ts"
import type { Exception } from "../../../schemas/Exception.ts"
import { formatUnits, usdDecimal, usdWire } from "../../../schemas/Money.ts"
import type { PaymentException } from "../../../schemas/Payment.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { coalesce, paymentUpdated } from "./Events.ts"
import { allowedActions, type ExceptionRecord, exceptionRecord } from "./Exceptions.ts"
import { type Aggregate, type ExceptionState, paymentOf, type Step, withPayment } from "./State.ts"

/** The single transfer that an exception is about: of its payment, or of the evidence where no invoice has it. */
const transferOf = ({ exception: { evidence }, payment }: ExceptionRecord) => {
  if (payment !== null) {
    const { metadata, network, tokenDecimals, txHash, units } = payment
    return {
      network,
      token: metadata.token,
      token_amount: tokenDecimals === null ? units.toString() : formatUnits(units, tokenDecimals),
      tx_hash: txHash
    }
  }
  const isTransfer = evidence.token_amount_unit !== undefined
  return {
    network: isTransfer ? evidence.network ?? null : null,
    token: isTransfer
      ? {
        id: evidence.token_id ?? null,
        symbol: evidence.token_symbol ?? null,
        decimals: evidence.token_decimals ?? null,
        address: evidence.token ?? null
      }
      : null,
    token_amount: isTransfer ? evidence.token_amount ?? null : null,
    tx_hash: isTransfer ? evidence.tx_hash ?? null : null
  }
}

/** The exception on the wire: exactly the fields of modules/docs/reference/exceptions.md#fields, in their order. */
export const exceptionObject = (record: ExceptionRecord): typeof Exception.Encoded => {
  const { environment, exception, invoice } = record
  const { network, ...transfer } = transferOf(record)
  return {
    id: exception.id,
    object: "exception",
    type: exception.type,
    status: exception.status,
    environment,
    invoice_id: invoice?.id ?? null,
    invoice_payment_id: exception.paymentId,
    customer_id: invoice?.customerId ?? null,
    amount: usdWire(exception.amount),
    amount_decimal: usdDecimal(exception.amount),
    amount_unit: "usd_millis",
    currency: "usd",
    network,
    ...transfer,
    evidence: exception.evidence,
    allowed_actions: allowedActions(exception, record),
    resolution: exception.resolution === null ? null : {
      action: exception.resolution.action,
      note: exception.resolution.note,
      actor: exception.resolution.actor,
      refund_id: exception.resolution.refundId ?? null,
      invoice_id: exception.resolution.invoiceId,
      at: exception.resolvedAt!
    },
    created_at: exception.createdAt,
    resolved_at: exception.resolvedAt
  } as typeof Exception.Encoded
}

/**
 * The events from one state of an exception to the next; `before` is null where it was not there. One that was resolved
 * and opens again tells what it was. Another amount of an open one is told by the payments that changed it, not here.
 */
export const exceptionEvents = (
  before: ExceptionRecord | null,
  after: ExceptionRecord
): ReadonlyArray<EventDraft> => {
  const { exception } = after
  if (before === null && exception.status === "resolved") {
    const opened = { ...after, exception: asOpened(exception) }
    return [...exceptionEvents(null, opened), ...exceptionEvents(opened, after)]
  }
  if (before?.exception.status === exception.status && !isDecisionGone(before, after)) return []
  const object = exceptionObject(after) as WireObject
  return [{
    type: exception.status === "open" ? "exception.opened" : "exception.resolved",
    object,
    previousAttributes: before === null ? {} : previousAttributes(exceptionObject(before) as WireObject, object)
  }]
}

/** Whether money that pays no invoice has left its chain, and its refund is given up: it is resolved, by nobody now. */
const isDecisionGone = (before: ExceptionRecord, { exception, invoice }: ExceptionRecord): boolean =>
  invoice === null && exception.status === "resolved" && exception.resolution === null &&
  before.exception.resolution !== null

/** One that a single decision opened and resolved is told of as both. */
const asOpened = (exception: ExceptionState): ExceptionState => ({
  ...exception,
  status: "open",
  resolvedAt: null,
  resolution: null
})

/** The events of all exceptions of an invoice that a decision opened or resolved. */
export const exceptionEventsOf = (before: Aggregate, after: Aggregate): ReadonlyArray<EventDraft> =>
  before.exceptions === after.exceptions ? [] : after.exceptions.flatMap((exception, index) => {
    const previous = before.exceptions[index]
    if (previous === exception) return []
    return exceptionEvents(
      previous === undefined ? null : exceptionRecord(before, previous),
      exceptionRecord(after, exception)
    )
  })

/**
 * The step with the payments naming the exceptions behind them, where it opened or resolved some. That is told to
 * everybody, with what the step tells of the payment anyway.
 */
export const withPaymentExceptions = (before: Aggregate, step: Step): Step => {
  const { exceptions } = step.next
  if (exceptions === before.exceptions) return step
  const changed = exceptions.filter(({ status }, index) => status !== before.exceptions[index]?.status)
  return [...new Set(changed.map(({ paymentId }) => paymentId))].reduce(
    (all, paymentId) => paymentId === null ? all : withPaymentException(all, paymentId, changed),
    step
  )
}

const withPaymentException = (
  { events, next }: Step,
  paymentId: string,
  changed: ReadonlyArray<ExceptionState>
): Step => {
  const payment = paymentOf(next, paymentId)
  const isOfPayment = (each: ExceptionState) => each.paymentId === paymentId
  const exception = next.exceptions.findLast((each) => isOfPayment(each) && each.status === "open")
    ?? changed.findLast(isOfPayment)
  if (payment === undefined || exception === undefined) return { next, events }
  const { id, status, type } = exception
  if (payment.exception?.id === id && payment.exception.status === status) return { next, events }
  const after = { ...payment, exception: { id, type, status } as PaymentException }
  const event = paymentUpdated(next.invoice, payment, after)
  const isOfOther = ({ object }: EventDraft) => object.id !== paymentId
  const firstOfInvoice = events.findIndex(({ object }) => object.object === "invoice")
  const all = [...events]
  if (events.every(isOfOther) && firstOfInvoice !== -1) all.splice(firstOfInvoice, 0, event)
  else coalesce(all, event)
  return { next: withPayment(next, after), events: all }
}
