/**
 * Events of one invoice or of one order. They are few, and an index has them side by side in the order of the ids. To a
 * planner without statistics the index of all events of the merchant costs as little, and it has the order of the ids
 * too. So the invoice or order comes first in the order, that only its own index has. Pure.
 */
import type { AddParameter } from "./EventRuns.ts"

/** Whose events; of both, those of the invoice that are of the order too. */
export interface InvoiceOrOrder {
  readonly invoiceId?: string | undefined
  readonly orderId?: string | undefined
}

export const namesInvoiceOrOrder = ({ invoiceId, orderId }: InvoiceOrOrder): boolean =>
  invoiceId !== undefined || orderId !== undefined

interface EventSelection {
  readonly conditions: ReadonlyArray<string>
  /** Comes before `e.ms` and `e.seq` in the order of the statement. */
  readonly firstColumn: string
}

/** The conditions on `e` that select the events, for a statement in `inIndexOrder`; undefined where none is named. */
export const selectInvoiceOrOrder = (
  { invoiceId, orderId }: InvoiceOrOrder,
  put: AddParameter
): EventSelection | undefined => {
  const selectBy = (firstColumn: string, id: string): EventSelection => {
    const value = put(id)
    return { conditions: [`${firstColumn} >= ${value}`, `${firstColumn} <= ${value}`], firstColumn }
  }
  if (invoiceId === undefined) return orderId === undefined ? undefined : selectBy("e.order_id", orderId)
  const { conditions, firstColumn } = selectBy("e.invoice_id", invoiceId)
  return {
    conditions: orderId === undefined ? conditions : [...conditions, `e.order_id || '' = ${put(orderId)}`],
    firstColumn
  }
}
