/** Protects a refund that an open batch pays: only that batch may change it, so that it is not paid twice. Pure. */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { RefundCommand, RefundDecision, RefundState } from "./State.ts"

/** Whether a command must wait for the batch. Only the result of the batch itself ends the hold. */
const isBlockedByBatch = (command: RefundCommand, batchId: string): boolean => {
  switch (command._tag) {
    case "Succeed":
    case "Fail":
      return command.batchId !== batchId
    case "Expire":
    case "CountWrongToken":
      return false
    default:
      return true
  }
}

/** Decides, unless a batch holds the refund. The result of that batch ends the hold. Errors: `REFUND_IN_BATCH`. */
export const whileHeld = (
  refund: RefundState,
  command: RefundCommand,
  decide: () => RefundDecision | PublicError
): RefundDecision | PublicError => {
  const batchId = refund.batch?.id
  if (batchId === undefined) return decide()
  if (isBlockedByBatch(command, batchId)) return publicError("REFUND_IN_BATCH", { details: { batch_id: batchId } })
  const decision = decide()
  return isPublicError(decision) || decision.next === refund
    ? decision
    : { ...decision, next: { ...decision.next, batch: null } }
}
