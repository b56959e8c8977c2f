/** What checkouts and carts leave behind is deleted. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../../runtime/Retention.ts"
import { cartRetentionDays, estimateRetentionHours, pruneTable } from "../repo.ts"

/**
 * Removes estimates and addresses after {@link estimateRetentionHours}, carts {@link cartRetentionDays} after their
 * last change.
 */
export const prune = Effect.gen(function*() {
  const now = yield* nowSeconds
  const estimatesBefore = now - estimateRetentionHours * 3_600
  yield* inBatches(countPruned("checkout_addresses")(pruneTable("checkout_addresses", "created_at", estimatesBefore)))
  yield* inBatches(countPruned("checkout_estimates")(pruneTable("checkout_estimates", "created_at", estimatesBefore)))
  yield* inBatches(countPruned("carts")(pruneTable("carts", "updated_at", now - cartRetentionDays * 86_400)))
})

/** {@link prune}, now and then. */
export const pruneRegularly = Effect.andThen(
  initializePruned(["checkout_addresses", "checkout_estimates", "carts"]),
  runPeriodically("storefront-prune", "10 minutes", prune)
)
