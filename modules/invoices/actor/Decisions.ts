/** A decision of the machine: whether it changes anything. */
import type { Metadata } from "../../../schemas/Invoice.ts"
import type { Aggregate, Decision } from "../machine.ts"

const isSame = (a: Metadata, b: Metadata): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** A decision that would write the same rows again, but for the version. */
export const isIdle = (
  current: Aggregate,
  { next, changedPayments, changedExceptions, events }: Decision
): boolean =>
  changedPayments.length === 0 && events.length === 0 && changedExceptions.length === 0 &&
  next.invoice.graceEnded === current.invoice.graceEnded && next.invoice.dueAt === current.invoice.dueAt &&
  next.invoice.details === current.invoice.details && next.invoice.customerId === current.invoice.customerId &&
  isSame(next.invoice.metadata, current.invoice.metadata)
