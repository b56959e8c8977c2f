/** A person's data in an invoice: when it can be erased, and what stands in its place. Money stays as it is. */
import { Equal } from "effect"
import type { Metadata } from "../../../schemas/Invoice.ts"
import { hashJson, type HashOf, hashText, replaceFields, type WireFields } from "../../../schemas/PersonalData.ts"
import { type Aggregate, type ExceptionState, hasPending, type InvoiceDetails, type Step } from "./State.ts"

/** What must be done before the invoice's personal data can go; null: nothing. What is under way may need it. */
export const erasureObstacle = ({ exceptions, invoice, payments }: Aggregate): string | null => {
  const { graceEnded, id, status } = invoice
  if (status === "unpaid" || status === "underpaid" && !graceEnded) {
    return `Invoice ${id} is open: cancel it, or wait until it is paid or has expired`
  }
  if (hasPending({ payments })) return `Invoice ${id} has a payment that is not confirmed yet: wait for it`
  const open = exceptions.find((exception) => exception.status === "open")
  return open === undefined ? null : `Invoice ${id} has the open exception ${open.id}: decide on it first`
}

const hashMetadata = (metadata: Metadata, hashOf: HashOf): Metadata => hashJson(metadata, hashOf) as Metadata

/** Texts that people wrote, and where their browser returned to. */
const hashDetails = (details: InvoiceDetails, hashOf: HashOf): InvoiceDetails => ({
  description: hashText(details.description, hashOf),
  title: hashText(details.title, hashOf),
  footer: hashText(details.footer, hashOf),
  customerEmail: null,
  returnUrl: null,
  locale: details.locale
})

const hashNote = (exception: ExceptionState, hashOf: HashOf): ExceptionState => {
  const { resolution } = exception
  if (resolution === null) return exception
  const note = hashText(resolution.note, hashOf)
  return note === resolution.note ? exception : { ...exception, resolution: { ...resolution, note } }
}

/**
 * Puts hashes in place of a person's data. It publishes nothing: the same hashes are put into the events there are, so
 * that these tell of an invoice that always had them.
 */
export const erase = (state: Aggregate, hashOf: HashOf): Step => {
  const { invoice } = state
  const details = hashDetails(invoice.details, hashOf)
  return {
    next: {
      ...state,
      invoice: {
        ...invoice,
        customerId: hashText(invoice.customerId, hashOf),
        metadata: hashMetadata(invoice.metadata, hashOf),
        details: Equal.equals(details, invoice.details) ? invoice.details : details
      },
      exceptions: state.exceptions.map((exception) => hashNote(exception, hashOf))
    },
    events: []
  }
}

/** An invoice in an event, as {@link erase} leaves it. */
export const redactInvoice = (fields: WireFields, hashOf: HashOf): WireFields =>
  replaceFields(fields, {
    customer_id: (value: string | null) => hashText(value, hashOf),
    metadata: (value: Metadata) => hashMetadata(value, hashOf)
  })

/** A payment in an event. Its metadata is the service's own. */
export const redactPayment = (fields: WireFields, hashOf: HashOf): WireFields =>
  replaceFields(fields, { customer_id: (value: string | null) => hashText(value, hashOf) })

/** An exception in an event. */
export const redactException = (fields: WireFields, hashOf: HashOf): WireFields =>
  replaceFields(fields, {
    customer_id: (value: string | null) => hashText(value, hashOf),
    resolution: (value: { readonly note: string } | null) =>
      value === null ? null : { ...value, note: hashText(value.note, hashOf) }
  })
