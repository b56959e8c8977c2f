/** Checks the merchant's limits for payouts when a batch is created. */
import { Effect } from "effect"
import type { PublicError } from "../../../schemas/Errors.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { dayOf, limitRefusal } from "../rules.ts"
import type { BatchOwner, BatchServices } from "./BatchServices.ts"

const limitOf = (setting: number | null) => (setting === null ? null : usdMillis(BigInt(setting)))

/**
 * Refuses payouts beyond a limit. What the day's payouts come to is read after the merchant's counter, which the commit
 * that makes the batch raises: so no batch is made in between. Errors: `PAYOUT_LIMIT_EXCEEDED`.
 */
export const checkLimits = Effect.fnUntraced(function*(
  { repo, settings }: BatchServices,
  owner: BatchOwner,
  requested: UsdMillis | null,
  now: number
): Effect.fn.Return<void, PublicError> {
  const merchantSettings = yield* settings.forInvoices(owner.merchantId, owner.environment)
  const limits = {
    batch: limitOf(merchantSettings.payout_limit_batch),
    day: limitOf(merchantSettings.payout_limit_day)
  }
  const used = limits.day === null ? 0n : yield* repo.payoutsOf(owner, dayOf(now))
  const refusal = limitRefusal(limits, requested, used)
  if (refusal !== null) return yield* refusal
})
