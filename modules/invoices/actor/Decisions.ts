/** A decision of the machine: whether it changes anything, and the rows it writes. */
import { Effect } from "effect"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import type { Aggregate, Decision } from "../machine.ts"
import { decisionWrites } from "../repo.ts"

/** A decision that would write the same rows again, but for the version. */
export const isIdle = (
  current: Aggregate,
  { next, changedPayments, changedExceptions, events }: Decision
): boolean =>
  changedPayments.length === 0 && events.length === 0 && changedExceptions.length === 0 &&
  next.invoice.graceEnded === current.invoice.graceEnded && next.invoice.dueAt === current.invoice.dueAt &&
  next.invoice.details === current.invoice.details

export const writesOf = Effect.fnUntraced(function*(decision: Decision) {
  const exceptions = yield* Effect.forEach(
    decision.changedExceptions,
    (exception) =>
      exception.id !== null ? Effect.succeed(exception) : Effect.map(uuidV4, (uuid) => ({
        ...exception,
        id: `exc_${uuid}`
      }))
  )
  return decisionWrites(decision, exceptions)
})
