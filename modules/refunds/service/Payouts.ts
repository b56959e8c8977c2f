/** What a refund comes to: its quote, the payout at the price now, and the approval that needs this price. */
import { Effect } from "effect"
import { isPublicError } from "../../../schemas/Errors.ts"
import { tokenAmountDown } from "../../../schemas/Money.ts"
import type { RefundQuote } from "../../../schemas/Refund.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import {
  decide,
  net,
  type Payout,
  quoteOf,
  refundableAmount,
  type RefundContext,
  type RefundState,
  retrySeconds
} from "../machine.ts"
import { payoutToken } from "../rules.ts"
import type { RefundQuoteRequest } from "./RefundCalls.ts"
import { loadContext, type RefundServices } from "./RefundServices.ts"

export const quoteRefund = (
  services: RefundServices,
  current: Aggregate,
  { amount, feeFree, network }: RefundQuoteRequest,
  now: number
): Effect.Effect<RefundQuote | null> =>
  Effect.map(loadContext(services, current, now, []), ({ fees, refunds }) => {
    const token = payoutToken(services.catalog, current, network)
    return token === null ? null : quoteOf({
      amount: amount === "remaining" ? refundableAmount(current, refunds) : amount,
      feeFree,
      fees,
      network,
      symbol: token.symbol
    }, now)
  })

/** At the price now, rounded down; null where there is none, or it comes to nothing. */
export const payoutOf = Effect.fnUntraced(
  function*(
    { catalog, prices }: RefundServices,
    refund: RefundState,
    current: Aggregate
  ): Effect.fn.Return<Payout | null> {
    const token = refund.destination === null ? null : payoutToken(catalog, current, refund.destination.network)
    if (token === null) return null
    const spot = yield* prices.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
    if (spot === null) return null
    const units = tokenAmountDown(net(refund), spot.rate, token.decimals)
    const { address, decimals, id, symbol } = token
    return units === 0n ? null : { token: { id, symbol, decimals, address }, units }
  }
)

/** Approved where that is wanted and can be; else it waits, and the clock tries again. */
export const approveIfPossible = Effect.fnUntraced(
  function*(services: RefundServices, refund: RefundState, context: RefundContext): Effect.fn.Return<RefundState> {
    if (refund.status !== "pending_approval") return refund
    if (!services.autoApprove) return { ...refund, dueAt: null }
    const decision = decide(refund, { _tag: "Approve" }, context, yield* payoutOf(services, refund, context.invoice))
    return isPublicError(decision)
      ? { ...refund, dueAt: context.now + retrySeconds(refund, context.now) }
      : { ...decision.next, version: refund.version }
  }
)
