/** When a batch ends that nobody pays (modules/docs/reference/batches.md#states). Pure. */
import type { BatchStatus } from "../../../schemas/Batch.ts"
import type { BatchState } from "./State.ts"
import { isOpenStatus } from "./Statuses.ts"

/** Seconds that a batch waits for people to approve it: who approves may be away for a few days. */
const approvalSeconds = 7 * 86_400

/** The least for which an approval holds without anything given out: whoever signs may do so the next day. */
const leastExportSeconds = 86_400

/**
 * Epoch seconds of the merchant's clock at which it ends, so that its refunds are free; null: a wallet may be paying
 * it, or it is over. A part that was given out could be signed until it lapsed.
 */
export const expiresAt = (
  { approvals, approvalsRequired, createdAt, isCanceled, parts, validForSeconds }: Omit<BatchState, "lines">,
  status: BatchStatus
): number | null => {
  if (isCanceled || !isOpenStatus(status) || parts.some(({ status }) => status === "out" || status === "seen")) {
    return null
  }
  const ends = parts.flatMap(({ export: exported }) => exported === null ? [] : [exported.exportedAt + validForSeconds])
  const from = Math.max(createdAt, ...approvals.map(({ at }) => at), ...ends)
  return from + (approvals.length < approvalsRequired ? approvalSeconds : Math.max(validForSeconds, leastExportSeconds))
}
