/**
 * Events of one invoice or one order. They are few, and an index has them side by side in the order of the ids. To a
 * planner without statistics the index of all events of the merchant costs as little, and it has the same order. So the
 * object is named by a range and comes first in the order, which leaves its own index alone; the statement needs
 * `withIndexScans` (`runtime/store/IndexPlans.ts`). Pure.
 */
import type { AddParameter } from "./EventRuns.ts"

/** Whose events; with both, the order narrows those of the invoice. */
export interface EventObject {
  readonly invoiceId?: string | undefined
  readonly orderId?: string | undefined
}

/** Whether an invoice or an order is named. */
export const isOfObject = ({ invoiceId, orderId }: EventObject): boolean =>
  invoiceId !== undefined || orderId !== undefined

interface ObjectSelection {
  readonly conditions: ReadonlyArray<string>
  /** Comes before `e.ms` and `e.seq` in the order of the statement. */
  readonly firstColumn: string
}

/** The conditions on `e` that select the events of an object; undefined where none is named. */
export const selectObject = (
  { invoiceId, orderId }: EventObject,
  put: AddParameter
): ObjectSelection | undefined => {
  const selectBy = (firstColumn: string, id: string): ObjectSelection => {
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
