/** What payors entered is deleted some days after their invoice is over, where the operator's config says so. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../../runtime/Retention.ts"
import { prunePayors } from "../repo/PersonalRecords.ts"

/** Days after the end of an invoice; undefined: kept until an erasure. */
export interface PayorRetention {
  readonly payorEmailDays?: number
  readonly refundAddressDays?: number
}

const secondsOfDay = 86_400

const pruneTable = (table: "payor_contacts" | "refund_destinations", days: number | undefined, now: number) =>
  days === undefined
    ? Effect.void
    : inBatches(countPruned(table)(prunePayors(table, now - days * secondsOfDay)))

/** Removes what is older than it is kept. */
export const prune = Effect.fnUntraced(function*({ payorEmailDays, refundAddressDays }: PayorRetention) {
  const now = yield* nowSeconds
  yield* pruneTable("payor_contacts", payorEmailDays, now)
  yield* pruneTable("refund_destinations", refundAddressDays, now)
})

/** {@link prune}, now and then. */
export const pruneRegularly = (retention: PayorRetention) =>
  Effect.andThen(
    initializePruned(["payor_contacts", "refund_destinations"]),
    runPeriodically("payors-prune", "1 hour", prune(retention))
  )
