/** Claim links: who may say where a refund goes, and for how long. Pure. */
import { type Claim, type RefundState } from "./State.ts"
import { revertedCode } from "../../../schemas/Refund.ts"

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

/** Why nobody can say any more where a refund goes. */
export const fixedDestination = ({ failureCode, status }: RefundState): string => {
  switch (status) {
    case "expired":
      return "This refund has expired, as nobody said for 30 days where it goes: its money can be refunded anew"
    case "canceled":
      return "This refund was canceled: its money can be refunded anew"
    case "failed":
      return failureCode === revertedCode
        ? "The payment of this refund left the chain, so it is never paid"
        : "This refund failed"
    default:
      return `This refund is ${status}: where it goes cannot be changed any more`
  }
}

/** Whether whoever has the token of its link may say where it goes. */
export const canClaim = (refund: RefundState): boolean => refund.claim?.status === "open" && canBeClaimed(refund)

/** The hash by which the token of a link opens the refund; null: none does. */
export const claimHash = ({ claim }: RefundState): string | null =>
  claim === null || claim.status === "ended" ? null : claim.hash
