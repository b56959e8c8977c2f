/**
 * When deliveries are claimed next, and whose: those of the merchants whose commits woke this instance, and those of
 * everyone once a second, which finds what a wake-up missed. Pure: time is an argument, `Deliverer.ts` claims.
 *
 * A claim passes over the endpoints that hold their maximum already, so it may miss what a result frees while it
 * runs: the merchants of such results are claimed for once more.
 */

/** The scan that needs no wake-up: at most this long until a row is found that nobody told us of. */
export const scanMillis = 1_000

/** Longest pause between claims that find nothing though commits keep waking them; the first one never waits. */
const longestPauseMillis = 20

/** Whom a claim is for. */
export type ClaimScope = number | "everyone"

export interface ClaimSchedule {
  /** Merchants to claim for as soon as there is room. */
  readonly woken: ReadonlySet<number>
  /** Epoch milliseconds from which the next claim is for everyone. */
  readonly scanAtMillis: number
  /** Stops under way, of transports or of all: nothing is claimed meanwhile. */
  readonly stops: number
  /** Claims in a row that found nothing though somebody woke them. */
  readonly emptyClaims: number
  /** Whom the claim under way is for; empty: none is under way. */
  readonly claiming: ReadonlyArray<ClaimScope>
  /** Whom all claims since results began to be written were for, the one under way then among them. */
  readonly passedOver: ReadonlySet<ClaimScope>
}

export const initialSchedule: ClaimSchedule = {
  woken: new Set(),
  scanAtMillis: 0,
  stops: 0,
  emptyClaims: 0,
  claiming: [],
  passedOver: new Set()
}

export type ScheduleEvent =
  /** Rows of these merchants may wait. */
  | { readonly _tag: "MerchantsWoken"; readonly merchantIds: ReadonlyArray<number> }
  /** Rows of anybody may wait. */
  | { readonly _tag: "ScanRequested" }
  /** A delivery is tried again then: epoch milliseconds. */
  | { readonly _tag: "RetryScheduled"; readonly atMillis: number }
  | { readonly _tag: "WritingStarted" }
  /** Results were written; merchants of which rows may wait are `needsRefill`, those of the results `written`. */
  | {
    readonly _tag: "ResultsWritten"
    readonly written: ReadonlyArray<number>
    readonly needsRefill: ReadonlyArray<number>
  }
  /** `merchants`: as {@link ClaimPlan}. */
  | { readonly _tag: "ClaimStarted"; readonly merchants: ReadonlyArray<number> | null; readonly nowMillis: number }
  /** With rows or without, or not answered. */
  | { readonly _tag: "ClaimEnded" }
  /** A claim was answered with `found` rows, of the `slots` it leases for. */
  | { readonly _tag: "RowsClaimed"; readonly found: number; readonly slots: number; readonly isScan: boolean }
  | { readonly _tag: "StopStarted" }
  | { readonly _tag: "StopEnded" }

const withWoken = (schedule: ClaimSchedule, merchantIds: ReadonlyArray<number>): ClaimSchedule =>
  merchantIds.every((id) => schedule.woken.has(id))
    ? schedule
    : { ...schedule, woken: new Set([...schedule.woken, ...merchantIds]) }

/** What an event makes of a schedule. Total. */
export const step = (schedule: ClaimSchedule, event: ScheduleEvent): ClaimSchedule => {
  switch (event._tag) {
    case "MerchantsWoken":
      return withWoken(schedule, event.merchantIds)
    case "ScanRequested":
      return { ...schedule, scanAtMillis: 0 }
    case "RetryScheduled":
      return event.atMillis < schedule.scanAtMillis ? { ...schedule, scanAtMillis: event.atMillis } : schedule
    case "WritingStarted":
      return { ...schedule, passedOver: new Set(schedule.claiming) }
    case "ResultsWritten": {
      const { passedOver } = schedule
      const missed = event.written.filter((id) => passedOver.has("everyone") || passedOver.has(id))
      return withWoken(schedule, [...event.needsRefill, ...missed])
    }
    case "ClaimStarted": {
      const claiming: ReadonlyArray<ClaimScope> = event.merchants ?? ["everyone"]
      return {
        ...schedule,
        woken: new Set(),
        scanAtMillis: event.merchants === null ? event.nowMillis + scanMillis : schedule.scanAtMillis,
        claiming,
        passedOver: new Set([...schedule.passedOver, ...claiming])
      }
    }
    case "ClaimEnded":
      return { ...schedule, claiming: [] }
    case "RowsClaimed": {
      const emptyClaims = event.found > 0 || event.isScan ? 0 : schedule.emptyClaims + 1
      // All room went: others may be waiting whom nobody will wake again, so the next claim is for everyone.
      const scanAtMillis = event.found === event.slots ? 0 : schedule.scanAtMillis
      return { ...schedule, emptyClaims, scanAtMillis }
    }
    case "StopStarted":
      return { ...schedule, stops: schedule.stops + 1 }
    case "StopEnded":
      return { ...schedule, stops: schedule.stops - 1 }
  }
}

/** What to do next: claim for `merchants` (null: everyone), or wait. */
export type ClaimPlan =
  | { readonly _tag: "Claim"; readonly merchants: ReadonlyArray<number> | null }
  | { readonly _tag: "Wait"; readonly millis: number }

/** What to do next with room for `slots` rows. `canSend`: there is a transport. */
export const planClaim = (
  { scanAtMillis, stops, woken }: ClaimSchedule,
  { canSend, nowMillis, slots }: { readonly canSend: boolean; readonly nowMillis: number; readonly slots: number }
): ClaimPlan => {
  const isScan = nowMillis >= scanAtMillis
  if (stops > 0 || !canSend || (!isScan && woken.size === 0)) {
    return { _tag: "Wait", millis: Math.max(1, scanAtMillis - nowMillis) }
  }
  // Results free the room, and wake.
  if (slots === 0) return { _tag: "Wait", millis: scanMillis }
  return { _tag: "Claim", merchants: isScan ? null : [...woken] }
}

/**
 * Milliseconds to wait after a claim; 0: none. Commits for endpoints that take nothing now would otherwise ask again
 * with every flush, in vain.
 */
export const pauseMillis = ({ emptyClaims }: ClaimSchedule): number =>
  emptyClaims > 1 ? Math.min(longestPauseMillis, 2 ** emptyClaims) : 0
