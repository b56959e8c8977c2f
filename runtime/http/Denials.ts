/** What people were refused stands in the audit log: who tries what their role does not allow. */
import { Cause, Effect } from "effect"
import { AuditLog } from "../AuditLog.ts"
import { Commit, noCause } from "../Commit.ts"
import type { Grant } from "../Http.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import type { Call } from "./Operation.ts"

/** The refusal of a right that a call ended with: handlers fail with defects, which the middleware of errors renders. */
const denialIn = (cause: Cause.Cause<unknown>): PublicError | undefined => {
  const error = Cause.squash(cause)
  return isPublicError(error) && error.code === "PERMISSION_DENIED" ? error : undefined
}

/**
 * A person's call with an entry `access.denied` where it is refused for want of a right. The limits of callers have
 * counted it before. Where the entry cannot be stored the refusal stands all the same.
 */
export const makeRecordDenials = Effect.gen(function*() {
  const auditLog = yield* AuditLog
  const commit = yield* Commit

  const note = Effect.fnUntraced(function*({ facts, operation }: Call, caller: Grant, denial: PublicError) {
    const { endpoint, group } = operation.called
    const { environment, merchantId } = caller
    const writes = yield* auditLog.writesOf({
      merchantId,
      environment,
      actor: caller.credential,
      action: "access.denied",
      subject: { object: "operation", id: `${group.identifier}-${endpoint.identifier}` },
      before: {},
      after: {
        method: endpoint.method,
        path: endpoint.path,
        role: caller.role,
        right: denial.details?.["right"] ?? operation.right
      },
      requestId: facts.requestId
    })
    if (writes.length > 0) yield* commit.append({ merchantId, environment, cause: noCause, writes, events: [] })
  })

  return <A, E>(call: Call, caller: Grant, answer: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.tapCause(answer, (cause) => {
      const denial = denialIn(cause)
      return denial === undefined ? Effect.void : Effect.catchCause(
        note(call, caller, denial),
        (fault) => Effect.logWarning("a refused call could not be written to the audit log", fault)
      )
    })
})
