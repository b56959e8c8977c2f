/** The merchant's limits for payouts, looked at when a batch is made. */
import { Effect } from "effect"
import type { Write } from "../../../runtime/Commit.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { payoutCounterWrite } from "../repo.ts"
import { dayOf, limitRefusal } from "../rules.ts"
import type { BatchOwner, BatchServices } from "./BatchServices.ts"

const limitOf = (setting: number | null) => (setting === null ? null : usdMillis(BigInt(setting)))

/**
 * Refuses payouts beyond a limit. Under a limit for a day the answer is a row of the commit that makes the batch: of
 * two batches that are made at once the second one loses, and counts the first when it is decided anew. Errors:
 * `PAYOUT_LIMIT_EXCEEDED`.
 */
export const checkLimits = Effect.fnUntraced(function*(
  { repo, settings }: BatchServices,
  owner: BatchOwner,
  requested: bigint | null,
  now: number
): Effect.fn.Return<ReadonlyArray<Write>, PublicError> {
  const chosen = yield* settings.forInvoices(owner.merchantId, owner.environment)
  const limits = { batch: limitOf(chosen.payout_limit_batch), day: limitOf(chosen.payout_limit_day) }
  const counted = limits.day === null ? null : yield* repo.payoutsOf(owner, dayOf(now))
  const refusal = limitRefusal(limits, requested === null ? null : usdMillis(requested), counted?.used ?? 0n)
  if (refusal !== null) return yield* refusal
  return counted === null ? [] : [payoutCounterWrite(owner, counted.version + 1)]
})
