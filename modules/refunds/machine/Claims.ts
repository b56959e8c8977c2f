/** Claim links: who may say where a refund goes, and for how long. Pure. */
import { revertedCode } from "./Allocation.ts"
import type { Claim, RefundState } from "./State.ts"

/** Wrong tokens after which a link ends: its 256 bits cannot be guessed, and who tries that often means no good. */
export const wrongTokensAllowed = 10

export const newClaim = (hash: string): Claim => ({ hash, wrong: 0, status: "open" })

/** The link after one more wrong token. */
export const afterWrongToken = (claim: Claim): Claim => {
  const wrong = claim.wrong + 1
  return { ...claim, wrong, status: wrong >= wrongTokensAllowed ? "ended" : claim.status }
}

/** Whether a refund can still go elsewhere, and so may have a link. */
export const canBeClaimed = ({ failureCode, status }: RefundState): boolean =>
  status === "awaiting_destination" || status === "pending_approval" ||
  (status === "failed" && failureCode !== revertedCode)

/** Whether whoever has the token of its link may say where it goes. */
export const canClaim = (refund: RefundState): boolean => refund.claim?.status === "open" && canBeClaimed(refund)

/** The hash by which the token of a link opens the refund; null: none does. */
export const claimHash = ({ claim }: RefundState): string | null =>
  claim === null || claim.status === "ended" ? null : claim.hash
