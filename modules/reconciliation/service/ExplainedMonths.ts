/**
 * What an operator watches of reconciliation: how much of what merchants received is explained, by the last report of
 * each month. Once a day the month that ended last is reported for each merchant who has not closed it, as nobody else
 * may look; what others ask for counts as well.
 */
import { Clock, Effect, Metric, MutableRef } from "effect"
import type { DueSource } from "../../../runtime/Timers.ts"
import type { BookOwner } from "../../ledger/plugin.ts"
import type { Repo } from "../repo.ts"
import { monthOf, type Period, previousMonth, type Report } from "../rules.ts"

const explained = Metric.gauge("reconciliation_explained_ppm", {
  description: "Parts of a million of what was received that are explained, of the month and merchant with the least"
})

const unexplainedMonths = Metric.gauge("reconciliation_months_unexplained", {
  description: "Months of merchants whose last report left something unexplained"
})

const allExplained = 1_000_000

/** Milliseconds from the start, and between two rounds: a report of a large month takes seconds of the database. */
const firstPauseMillis = 3_600_000
const pauseMillis = 86_400_000

/** Before every merchant. */
const firstOwner: BookOwner = { merchantId: 0, environment: "devnet" }

export interface ExplainedMonths {
  /** Keeps what a report that was just made says; of a month only. */
  readonly record: (owner: BookOwner, period: Period, report: Report) => Effect.Effect<void>
}

export const makeExplainedMonths: Effect.Effect<ExplainedMonths> = Effect.gen(function*() {
  /** Those that are not explained, by merchant, environment and month. */
  const unexplained = new Map<string, number>()
  const update = Effect.gen(function*() {
    yield* Metric.update(explained, Math.min(allExplained, ...unexplained.values()))
    yield* Metric.update(unexplainedMonths, unexplained.size)
  })
  yield* update
  return {
    record: ({ environment, merchantId }, { name }, { explained_ppm, has_more_differences }) => {
      if (name === null) return Effect.void
      const key = `${merchantId} ${environment} ${name}`
      if (explained_ppm === allExplained && !has_more_differences) unexplained.delete(key)
      else unexplained.set(key, explained_ppm)
      return update
    }
  }
})

/** Reports the month that ended last, a merchant at a time. */
export const reportMonths = (
  repo: Pick<Repo, "closed" | "ownersAfter">,
  report: (owner: BookOwner, period: Period) => Effect.Effect<unknown>
): Effect.Effect<DueSource> =>
  Effect.gen(function*() {
    const round = MutableRef.make({
      after: firstOwner,
      notBefore: (yield* Clock.currentTimeMillis) + firstPauseMillis
    })
    return {
      name: "reconciliation-reports",
      batchSize: 1,
      nextDueMillis: Effect.map(
        Clock.currentTimeMillis,
        (nowMillis) => Math.max(nowMillis, MutableRef.get(round).notBefore)
      ),
      run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
        const { after, notBefore } = MutableRef.get(round)
        if (nowMillis < notBefore) return 0
        const owners = yield* repo.ownersAfter(after, limit)
        const last = owners.at(-1)
        // Set before the report: one that fails is left out until the next day, and holds up no other.
        MutableRef.set(
          round,
          last === undefined ? { after: firstOwner, notBefore: nowMillis + pauseMillis } : { after: last, notBefore }
        )
        const period = previousMonth(monthOf(Math.floor(nowMillis / 1000)))
        for (const owner of owners) {
          if ((yield* repo.closed(owner, period.name!)) === null) yield* report(owner, period)
        }
        return owners.length
      })
    }
  })
