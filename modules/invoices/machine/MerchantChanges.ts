/** What a merchant changes: cancels an invoice, or amends its notes. */
import type { Metadata } from "../../../schemas/Invoice.ts"
import { invoiceEvents } from "./Events.ts"
import { type Aggregate, hasPending, type InvoiceState, type Refusal, type Step } from "./State.ts"

/**
 * The invoice of an order ends with its order only, and then also where a part has come or is under way: the order's
 * refund gives back what came, and what is under way is late when it is confirmed. An invoice that a commerce key made
 * without an order ends as any other.
 */
export const cancel = (state: Aggregate, byOrder: boolean): Step | Refusal => {
  const { invoice } = state
  const isOpen = invoice.status === "unpaid" || invoice.status === "expired" ||
    (byOrder && invoice.status === "underpaid")
  const isBlocked = !byOrder && (hasPending(state) || invoice.orderId !== null)
  if (!isOpen || isBlocked) return "not_cancelable"
  const after: InvoiceState = { ...invoice, status: "canceled" }
  return {
    next: { ...state, invoice: after },
    events: invoiceEvents(invoice, after, ["invoice.canceled"])
  }
}

/** In any state: the notes are the merchant's, and no rule reads them. */
export const amend = (
  state: Aggregate,
  change: { readonly metadata?: Metadata; readonly description?: string | null }
): Step => {
  const { invoice } = state
  const { description = invoice.details.description, metadata = invoice.metadata } = change
  const details = description === invoice.details.description ? invoice.details : { ...invoice.details, description }
  const after: InvoiceState = { ...invoice, metadata, details }
  return { next: { ...state, invoice: after }, events: invoiceEvents(invoice, after, []) }
}

/**
 * Metadata after a change by key: null removes a key, and in place of the whole all of them; what is absent stays.
 *
 * @example
 * mergeMetadata({ a: 1, b: 2 }, { b: null, c: 3 }) // => { a: 1, c: 3 }
 */
export const mergeMetadata = (before: Metadata, change: Metadata | null): Metadata =>
  change === null
    ? {}
    : Object.fromEntries(Object.entries({ ...before, ...change }).filter(([name]) => change[name] !== null))
