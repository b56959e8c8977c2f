/** The events of a decision: each change is published once, from the state before to the state after. */
import type { EventDraft, EventType } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { previousAttributes } from "../../../schemas/Event.ts"
import type { InvoiceState, PaymentState } from "./State.ts"
import { invoiceObject, paymentObject } from "./Wire.ts"

/** The events of a new invoice. */
export const creationEvents = (invoice: InvoiceState): readonly [EventDraft & { readonly objectText: string }] => {
  const object = invoiceObject(invoice)
  return [{ type: "invoice.created", object, objectText: JSON.stringify(object), previousAttributes: {} }]
}

/** `invoice.updated`, then the specific events, all with the same previous attributes; nothing when nothing changed. */
export const invoiceEvents = (
  before: InvoiceState,
  after: InvoiceState,
  specific: ReadonlyArray<EventType>
): ReadonlyArray<EventDraft> => {
  const object = invoiceObject(after)
  const previous = previousAttributes(invoiceObject(before), object)
  if (Object.keys(previous).length === 0) return []
  return (["invoice.updated", ...specific] as const).map((type) => ({ type, object, previousAttributes: previous }))
}

export const paymentUpdated = (invoice: InvoiceState, before: PaymentState, after: PaymentState): EventDraft => {
  const object = paymentObject(invoice, after)
  return {
    type: "invoice_payment.updated",
    object,
    previousAttributes: previousAttributes(paymentObject(invoice, before), object)
  }
}

/**
 * A settlement or a booking that moves in the decision that moved its payment is published with it: one event, from the
 * state before both to the state after. What changes nothing in the end is not published.
 */
export const coalesce = (events: Array<EventDraft>, event: EventDraft): void => {
  const at = events.findLastIndex(({ object }) => object.object === "invoice_payment" && object.id === event.object.id)
  const earlier = events[at]
  if (earlier?.type === "invoice_payment.created") {
    events[at] = { ...earlier, object: event.object }
  } else if (earlier?.type === "invoice_payment.updated") {
    const before = { ...earlier.object, ...earlier.previousAttributes } as WireObject
    const changes = previousAttributes(before, event.object)
    const isSame = Object.keys(changes).length === 0
    events.splice(at, 1, ...(isSame ? [] : [{ ...event, previousAttributes: changes }]))
  } else {
    events.push(event)
  }
}

/**
 * A cancel in the decision that took the money away is told with it: one `invoice.updated`, from the state before both
 * to the state after, so that nobody is shown an invoice that can be paid in between. Where the decision told of more
 * than updates, as of a part that was paid, all of it is told.
 */
export const coalesceCancel = (
  events: Array<EventDraft>,
  cancel: ReadonlyArray<EventDraft>,
  before: InvoiceState
): void => {
  const ofInvoice = events.filter(({ object }) => object.object === "invoice")
  if (ofInvoice.length === 0 || ofInvoice.some(({ type }) => type !== "invoice.updated")) {
    events.push(...cancel)
    return
  }
  const others = events.filter(({ object }) => object.object !== "invoice")
  const from = invoiceObject(before)
  const merged = cancel.map((event) => ({ ...event, previousAttributes: previousAttributes(from, event.object) }))
  events.splice(0, events.length, ...others, ...merged)
}
