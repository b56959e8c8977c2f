/** A refund that a batch pays: nobody else moves it while that batch is open. Pure. */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { RefundCommand, RefundDecision, RefundState } from "./State.ts"

/** Only what the batch says of it counts. */
const isHeldBack = (command: RefundCommand, batchId: string): boolean => {
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

/** What `decide` says, unless a batch pays the refund; what the batch says of it ends that. Errors: `REFUND_IN_BATCH`. */
export const whileHeld = (
  refund: RefundState,
  command: RefundCommand,
  decide: () => RefundDecision | PublicError
): RefundDecision | PublicError => {
  const batchId = refund.batch?.id
  if (batchId === undefined) return decide()
  if (isHeldBack(command, batchId)) return publicError("REFUND_IN_BATCH", { details: { batch_id: batchId } })
  const decision = decide()
  return isPublicError(decision) || decision.next === refund
    ? decision
    : { ...decision, next: { ...decision.next, batch: null } }
}
