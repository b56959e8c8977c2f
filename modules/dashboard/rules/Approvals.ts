/** What is said to whoever has just approved something. Pure. */
import type { NoticeName } from "../pages/Texts.ts"

/** `status`: of the refund or batch after the approval. One that still waits needs another person. */
export const approvalNotice = (status: string): NoticeName =>
  status === "pending_approval" ? "approved_first" : "approved"
