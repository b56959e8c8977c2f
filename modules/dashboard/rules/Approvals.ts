/** What is said and offered to whoever approves something. Pure. */
import type { NoticeName } from "../pages/Texts.ts"

/** `status`: of the refund or batch after the approval. One that still waits needs another person. */
export const approvalNotice = (status: string): NoticeName =>
  status === "pending_approval" ? "approved_first" : "approved"

/** Whether `credential` is among those who approved: a person counts once, so a second approval would do nothing. */
export const hasApproved = (approvals: ReadonlyArray<{ readonly by: string }>, credential: string): boolean =>
  approvals.some(({ by }) => by === credential)
