/** What the steps of a checkout share: the ports, and the estimate that a step goes on with. */
import { Effect } from "effect"
import type { Commit } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Orders } from "../../commerce/plugin.ts"
import type { Invoices } from "../../invoices/plugin.ts"
import type { Retailers } from "../../retail/plugin.ts"
import type { makeRepo } from "../repo.ts"
import {
  type Customer,
  customerKey,
  estimateFault,
  itemsObject,
  pricingOf,
  type Quotation,
  type Shop,
  valueFault
} from "../rules.ts"

export interface CheckoutContext {
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly invoices: Invoices["Service"]
  readonly orders: Orders["Service"]
  readonly retailers: Retailers["Service"]
  readonly repo: Effect.Success<typeof makeRepo>
}

export const shopSeconds = ({ clock }: CheckoutContext, { environment, merchantId }: Shop) =>
  clock.nowSeconds(merchantId, environment)

/** An estimate that may go on. Another customer's is as unknown as none. */
export const requireEstimate = Effect.fnUntraced(
  function*(context: CheckoutContext, shop: Shop, customer: Customer, id: string) {
    const estimate = yield* context.repo.estimate(shop.merchantId, shop.environment, id)
    if (estimate === null || customerKey(estimate.customer) !== customerKey(customer)) {
      return yield* publicError("ESTIMATE_NOT_FOUND", { param: "estimate_id" })
    }
    const fault = estimateFault(estimate, yield* shopSeconds(context, shop))
    return fault === null ? estimate : yield* publicError(fault, { param: "estimate_id" })
  }
)

/** Refuses what cannot become an order, and says of every item why. */
export const checkValue = (
  quotation: Quotation,
  pricing = pricingOf(quotation, quotation.shipping[0])
): Effect.Effect<void, PublicError> => {
  const fault = valueFault(quotation, pricing)
  if (fault === null) return Effect.void
  const { invalid_items } = itemsObject(quotation, new Map())
  return Effect.fail(publicError(fault, fault === "NO_VALID_ITEMS" ? { details: { invalid_items } } : {}))
}
