/** What an operator watches of the books: that they balance, and how long money waits for a decision. */
import { Clock, Effect, Metric } from "effect"
import { Health } from "../../../runtime/Telemetry.ts"
import type { BookTotals, Repo } from "../repo.ts"

const trialBalance = Metric.gauge("ledger_trial_balance_millis", {
  description: "The sum of all balances of the ledger in usd_millis: 0, else the books are wrong"
})

const unbalancedAssets = Metric.gauge("ledger_unbalanced_assets", {
  description: "Assets of a merchant and environment whose balances do not sum to 0: 0, else the books are wrong"
})

const suspenseAge = Metric.gauge("ledger_suspense_age_seconds", {
  description: "Seconds since the oldest exception opened that holds money in suspense; 0: none does"
})

/** How long the figures are cached: they are read from a row for each account. */
const totalsTtl = "15 seconds"

const noTotals: BookTotals = { trialBalanceUsdMillis: 0, unbalancedAssets: 0, oldestSuspenseAt: null }

/** Updates the figures for every scrape. What waits for people is no fault of the service, so health does not change. */
export const ledgerMetrics = Effect.fnUntraced(function*(repo: Repo) {
  const recent = yield* Effect.cachedWithTTL(repo.totals, totalsTtl)
  const update = Effect.fnUntraced(function*(totals: BookTotals) {
    const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    yield* Metric.update(trialBalance, totals.trialBalanceUsdMillis)
    yield* Metric.update(unbalancedAssets, totals.unbalancedAssets)
    const { oldestSuspenseAt } = totals
    yield* Metric.update(suspenseAge, oldestSuspenseAt === null ? 0 : Math.max(0, nowSeconds - oldestSuspenseAt))
  })
  yield* update(noTotals)
  yield* (yield* Health).register({ name: null, run: Effect.as(Effect.flatMap(recent, update), []) })
})
