/** When a month is closed, and the chain of closed months (modules/docs/reference/reconciliation.md#closing). Pure. */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { closingDelaySeconds, monthOf, nextMonth, type Period, readMonth } from "./Periods.ts"
import type { ClosedPeriod, LastClosedMonth, Report } from "./Report.ts"

/** What the first closed month of a chain follows. */
export const firstPreviousHash = "0".repeat(64)

/** What decides whether a month may be closed. */
export interface ClosingState {
  readonly period: Period
  readonly report: Report
  /** The last closed month; null: none is. */
  readonly lastClosed: LastClosedMonth | null
  /** Epoch seconds of the first entry of the books; null: they are empty. */
  readonly firstEntryAt: number | null
  /** A transfer up to the month's end waits for its depth, or to be dealt with. */
  readonly hasOpenTransfers: boolean
  /** Epoch seconds. */
  readonly now: number
}

const refused = (message: string): PublicError => publicError("INVALID_TRANSITION", { message })

/** The month that is closed next: the first one is that of the first entry. Null: nothing was booked. */
export const monthToClose = (
  { firstEntryAt, lastClosed }: {
    readonly lastClosed: Pick<LastClosedMonth, "period"> | null
    readonly firstEntryAt: number | null
  }
): Period | null => {
  if (lastClosed !== null) return nextMonth(readMonth(lastClosed.period)!)
  return firstEntryAt === null ? null : monthOf(firstEntryAt)
}

/** Why a month cannot be closed now; null: it can. */
export const closingRefusal = (state: ClosingState): PublicError | null => {
  const { hasOpenTransfers, now, period, report } = state
  const { name, to } = period
  if (now < to + closingDelaySeconds) {
    return refused(`${name} can be closed from one hour after its end on, ${to + closingDelaySeconds} in epoch seconds`)
  }
  const expected = monthToClose(state)
  if (expected === null) {
    return refused(`Nothing was booked before the end of ${name}: close the first month with money in it first`)
  }
  if (expected.name !== name) return refused(`Months are closed in order: the next one is ${expected.name}`)
  if (hasOpenTransfers) {
    return refused(
      `Transfers up to the end of ${name} wait for their depth, or to be dealt with: try again in some minutes, and ` +
        "where that does not help ask the operator which ones wait"
    )
  }
  const open = report.differences.filter(({ is_explained }) => !is_explained).length
  if (open > 0 || report.has_more_differences) {
    return refused(
      `${open} differences of ${name} are not explained: GET /api/v1/reconciliation?period=${name} names them. What ` +
        "you can account for is booked by POST /api/v1/reconciliation/adjustments"
    )
  }
  return report.ledger_trial_balance === 0
    ? null
    : refused("The books do not add up to zero: ask the operator to run ledger.check")
}

/**
 * A month with its place in the chain. `hashOf`: SHA-256, hex. What is hashed is the hash of the month before, a line
 * break, and the report's canonical JSON, so that anybody can check it with what the API answers.
 */
export const closePeriod = (
  report: string,
  { actor, closedAt, period }: Pick<ClosedPeriod, "actor" | "closedAt" | "period">,
  lastClosed: LastClosedMonth | null,
  hashOf: (text: string) => string
): ClosedPeriod => {
  const previousHash = lastClosed?.hash ?? firstPreviousHash
  return { period, report, previousHash, hash: hashOf(`${previousHash}\n${report}`), actor, closedAt }
}
