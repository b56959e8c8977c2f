/** Refunds that are not over, counted for the operator. */
import { Effect, Metric } from "effect"
import { Health } from "../../../runtime/Telemetry.ts"
import { type Repo, unfinishedStatuses } from "../repo.ts"

const refunds = Metric.gauge("refunds", { description: "Refunds that are not over, by status" })

/** How long the counts are cached: the query costs more the more there are. */
const countsTtl = "15 seconds"

/** Updates the counts for every scrape. Refunds wait for people, so health does not change with them. */
export const refundMetrics = Effect.fnUntraced(function*(repo: Repo) {
  const recent = yield* Effect.cachedWithTTL(repo.unfinishedCounts, countsTtl)
  const update = (found: ReadonlyMap<string, number>) =>
    Effect.forEach(
      unfinishedStatuses,
      (status) => Metric.update(Metric.withAttributes(refunds, { status }), found.get(status) ?? 0),
      { discard: true }
    )
  yield* update(new Map())
  yield* (yield* Health).register({ name: null, run: Effect.as(Effect.flatMap(recent, update), []) })
})
