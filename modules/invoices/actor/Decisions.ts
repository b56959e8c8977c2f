/** A decision of the machine: whether it changes anything, and the rows it writes. */
import { Effect } from "effect"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import type { Aggregate, Decision } from "../machine.ts"
import { decisionWrites, type NewException } from "../repo.ts"

/** A decision that would write the same rows again, but for the version. */
export const isIdle = (current: Aggregate, { next, changedPayments, events, exceptions }: Decision): boolean =>
  changedPayments.length === 0 && events.length === 0 && exceptions.length === 0 &&
  next.invoice.graceEnded === current.invoice.graceEnded && next.invoice.dueAt === current.invoice.dueAt &&
  next.invoice.details === current.invoice.details

export const writesOf = Effect.fnUntraced(function*(decision: Decision, now: number) {
  const newExceptions: Array<NewException> = []
  for (const draft of decision.exceptions) {
    newExceptions.push({ ...draft, id: `exc_${yield* uuidV4}`, createdAt: now })
  }
  return decisionWrites(decision, newExceptions)
})
