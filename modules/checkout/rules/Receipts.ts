/** Which invoices have a receipt, and how long. Pure. */
import type { InvoiceState } from "../../invoices/plugin.ts"

/** Seconds after the payment for which a receipt can be read: ten years, as long as books are kept in most places. */
export const receiptSeconds = 315_576_000

/** Whether an invoice has a receipt: while it is paid, and not so long ago. */
export const hasReceipt = ({ paidAt, status }: Pick<InvoiceState, "paidAt" | "status">, now: number): boolean =>
  status === "paid" && paidAt !== null && now < paidAt + receiptSeconds
