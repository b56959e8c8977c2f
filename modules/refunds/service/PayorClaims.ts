/** What payors are told of refunds, and do by the token of a claim link: for their pages. */
import { Effect } from "effect"
import { type ClaimedRefund, RefundClaims } from "../../payments/plugin.ts"
import { claimedRefund } from "../machine.ts"
import { Refunds } from "../service.ts"

export const registerClaims = Effect.gen(function*() {
  const refunds = yield* Refunds
  const claims = yield* RefundClaims
  yield* claims.register({
    open: Effect.fnUntraced(function*(refundId, token) {
      const opened = yield* refunds.findClaim(refundId, token)
      const refund: ClaimedRefund | null = opened === null ? null : claimedRefund(opened.refund)
      if (opened === null || refund === null) return null
      return {
        refund,
        check: (wallet) => refunds.checkClaim(opened.refund, wallet),
        claim: (wallet, requestId) => Effect.asVoid(refunds.claim(refundId, token, wallet, requestId))
      }
    }),
    ofInvoice: (merchantId, invoiceId) =>
      Effect.map(
        refunds.ofInvoice(merchantId, invoiceId),
        (found) => found.flatMap((each) => claimedRefund(each) ?? [])
      )
  })
})
