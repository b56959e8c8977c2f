/** What a batch is, by its parts and lines. Pure. */
import type { BatchStatus } from "../../../schemas/Batch.ts"
import type { BatchState, PartState } from "./State.ts"

/** The chain or people have said for good what became of it, so it is never given out again. */
const isDone = ({ status }: PartState): boolean => status === "paid" || status === "mismatch" || status === "released"

/** Nobody can execute it now. */
const isIdle = ({ status }: PartState): boolean => status === "ready" || status === "lapsed"

type BatchFacts = Pick<BatchState, "approvals" | "approvalsRequired" | "isCanceled" | "isExpired" | "lines" | "parts">

/** The status that its parts and lines come to (modules/docs/reference/batches.md#states). */
export const statusOf = (
  { approvals, approvalsRequired, isCanceled, isExpired, lines, parts }: BatchFacts
): BatchStatus => {
  const isOver = parts.every((part) => isDone(part) || ((isCanceled || isExpired) && isIdle(part)))
  if (isOver) {
    const paid = lines.filter(({ status }) => status === "paid").length
    if (paid === lines.length) return "paid"
    if (paid > 0) return "partly_paid"
    return isExpired || parts.some((part) => part.export !== null) ? "expired" : "canceled"
  }
  if (!parts.every(isIdle)) return "open"
  return approvals.length < approvalsRequired ? "pending_approval" : "ready"
}

const openStatuses: ReadonlySet<BatchStatus> = new Set(["pending_approval", "ready", "open"])

/** Whether something of a batch may still be paid. */
export const isOpenStatus = (status: BatchStatus): boolean => openStatuses.has(status)

export const isOpen = (batch: BatchFacts): boolean => isOpenStatus(statusOf(batch))

/** Whether a wallet may have the part in hand: it can be executed, or was. */
export const isGivenOut = (part: PartState): boolean => !isIdle(part)
