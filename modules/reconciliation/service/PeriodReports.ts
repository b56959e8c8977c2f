/** The report of a period as it stands now, read from all sources. */
import { Effect } from "effect"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { ReadsOf } from "../../../runtime/ReadReplica.ts"
import type { BookOwner, Ledger } from "../../ledger/plugin.ts"
import { maximumComparisons, type Repo } from "../repo.ts"
import {
  type ClosedPeriod,
  closingsOf,
  differingSlices,
  isCountedSpan,
  monthOf,
  movementsAfter,
  type Period,
  readMonth,
  type Report,
  reportObject,
  type SliceSums,
  sumByAsset,
  suspenseAges
} from "../rules.ts"

/** Statements of a report that run at once: each reads much, and holds a connection meanwhile. */
const concurrency = 2

const noReadings = { readings: [], earlierReadings: [] }

export interface ReportServices {
  readonly clock: Pick<MerchantClock["Service"], "nowSeconds">
  readonly ledger: Pick<Ledger["Service"], "tokenOf">
  readonly repo: Repo
}

export const nowOf = ({ clock }: ReportServices, { environment, merchantId }: BookOwner) =>
  clock.nowSeconds(merchantId, environment)

/**
 * What moved up to a period's end. Closed months are not added up again where one ended before it: what they came to
 * never changes.
 */
const movementsOf = Effect.fnUntraced(function*(
  { repo }: ReportServices,
  owner: BookOwner,
  period: Period,
  before: ClosedPeriod | null | undefined
) {
  const closed = before === undefined
    ? (yield* repo.listClosed(owner, monthOf(period.from).name!, 1))[0] ?? null
    : before
  if (closed === null) return yield* repo.movements(owner, period)
  const since = yield* repo.movementsSince(owner, period, readMonth(closed.period)!.to)
  const found = movementsAfter(closingsOf(closed), since)
  if (found !== null) return found
  yield* Effect.logInfo("Entries are dated into a month that is closed: the report adds up all of them", {
    ...owner,
    closed: closed.period
  })
  return yield* repo.movements(owner, period)
})

/** Where the sources differ and what the books came to: what agrees by its checksums is not read again. */
const compareSources = Effect.fnUntraced(
  function*({ repo }: ReportServices, owner: BookOwner, period: Period, sums: SliceSums) {
    const slices = differingSlices(sums)
    const differing = new Set(slices)
    const agreed = sums.ledger.filter(({ isInPeriod, slice }) => isInPeriod && !differing.has(slice))
    const [comparisons, others] = slices.length === 0 ? [[], []] : yield* Effect.all([
      repo.comparisons(owner, period, slices),
      repo.ledgerSums(owner, period, slices)
    ], { concurrency })
    return {
      comparisons,
      chain: sumByAsset(sums.chain.filter(({ isInPeriod }) => isInPeriod)),
      ledger: sumByAsset([...agreed, ...others])
    }
  }
)

/**
 * The report of a period as it stands now. `before`: the newest closed month before the period, where the caller has
 * read it; null: there is none.
 */
export const makeReport = (services: ReportServices) =>
  Effect.fn("Reconciliation.report")(function*(
    owner: BookOwner,
    period: Period,
    before?: ClosedPeriod | null
  ): Effect.fn.Return<Report> {
    const { ledger, repo } = services
    const now = yield* nowOf(services, owner)
    // Two connections, each with what takes longer first.
    const [[ofLedger, ofPayments], [ofChain, movements]] = yield* Effect.all([
      repo.readInFull(Effect.all([repo.checksums.ofLedger(owner, period), repo.checksums.ofPayments(owner, period)])),
      repo.readInFull(
        Effect.all([repo.checksums.ofChain(owner, period), movementsOf(services, owner, period, before)])
      )
    ], { concurrency })
    const sums = { chain: ofChain, ledger: ofLedger, payments: ofPayments }
    const compared = yield* compareSources(services, owner, period, sums)
    const [{ adjustments, events, suspense, trialBalance }, { earlierReadings, readings }] = yield* Effect.all([
      repo.periodFacts(owner, period, now, suspenseAges),
      period.name === null ? Effect.succeed(noReadings) : repo.readingsUpTo(owner, period.name)
    ], { concurrency })
    return reportObject({
      environment: owner.environment,
      period,
      movements,
      comparisons: compared.comparisons.slice(0, maximumComparisons),
      hasMoreComparisons: compared.comparisons.length > maximumComparisons,
      chain: compared.chain,
      ledger: compared.ledger,
      events: isCountedSpan(period) ? events : null,
      readings,
      earlierReadings,
      adjustments,
      suspense,
      trialBalance,
      now
    }, (asset) => ledger.tokenOf(owner.environment, asset))
  })

/** Reports, each of which `record` hears of. */
export const makeReports = (
  services: ReportServices,
  reads: ReadsOf<Repo>,
  record: (owner: BookOwner, period: Period, report: Report) => Effect.Effect<void>
) => {
  const recorded =
    (make: ReturnType<typeof makeReport>) => (owner: BookOwner, period: Period, before?: ClosedPeriod | null) =>
      Effect.tap(make(owner, period, before), (report) => record(owner, period, report))
  return {
    /** For whoever reads it. */
    reportOf: recorded((owner, period, before) =>
      reads((repo) => makeReport({ ...services, repo })(owner, period, before))
    ),
    /** What a month is closed by: on the primary. */
    reportToClose: recorded(makeReport(services))
  }
}
