/** What whoever has the token of a claim link sees and does of its refund: for the payor's page. */
import { Effect } from "effect"
import { type ClaimedRefund, RefundClaims } from "../../payments/plugin.ts"
import { claimedRefund } from "../machine.ts"
import { Refunds } from "../service.ts"

export const registerClaims = Effect.gen(function*() {
  const refunds = yield* Refunds
  const claims = yield* RefundClaims
  yield* claims.register(Effect.fnUntraced(function*(refundId, token) {
    const opened = yield* refunds.findClaim(refundId, token)
    const refund: ClaimedRefund | null = opened === null ? null : claimedRefund(opened.refund)
    if (opened === null || refund === null) return null
    return {
      refund,
      check: (wallet) => refunds.checkClaim(opened.refund, wallet),
      claim: (wallet, requestId) => Effect.asVoid(refunds.claim(refundId, token, wallet, requestId))
    }
  }))
})
