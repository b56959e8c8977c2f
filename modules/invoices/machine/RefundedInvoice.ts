/** An underpaid invoice is canceled once everything that counts of it was refunded. Pure. */
import { isCounted } from "../../../schemas/Payment.ts"
import { invoiceEvents } from "./Events.ts"
import type { Aggregate, InvoiceState, Step } from "./State.ts"

/** Whether the invoice is underpaid and all that counts was refunded (modules/docs/reference/invoices.md#canceling). */
export const isFullyRefunded = ({ invoice, payments }: Aggregate): boolean =>
  invoice.status === "underpaid" &&
  payments.every(({ amount, refunded, status }) => !isCounted(status) || refunded >= amount)

export const cancelRefunded = (state: Aggregate): Step => {
  const canceledInvoice: InvoiceState = { ...state.invoice, status: "canceled" }
  return {
    next: { ...state, invoice: canceledInvoice },
    events: invoiceEvents(state.invoice, canceledInvoice, ["invoice.canceled"])
  }
}
