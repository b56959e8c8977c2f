/**
 * When deliveries are claimed next, and of whom: of the endpoints that commits queued something for, of those that
 * results made room for, and of those that a look finds. A look is at the endpoints of some merchants, when somebody
 * else's commit woke this instance, or, once a second, at a page of all endpoints with something waiting, which finds
 * what a wake-up missed. Pure: time is an argument, monotonic milliseconds; `Deliverer.ts` looks and claims.
 *
 * An endpoint that was claimed of in vain, because another instance has it or its breaker is open, is left alone for a
 * while, longer each time; a look that finds it ends that.
 */
import { HashMap, Option } from "effect"
import type { EndpointKey } from "./DeliveryRepo.ts"

/** The look that needs no wake-up: at most this long until a row is found that nobody told us of. */
export const scanMillis = 1_000

/** Pauses of a target that was asked for in vain; the first wake-up after it never waits. */
const shortestPauseMillis = 4
const longestPauseMillis = scanMillis

/** How long a page that is due lets claims go first. */
const scanPatienceMillis = 50

/** Endpoints that one claim is of, at most: what it costs is bounded. */
export const maximumWanted = 256

/** What may be claimed of: an endpoint, or, with null, whichever endpoint of a merchant. */
export interface ClaimTarget {
  readonly merchantId: number
  readonly endpointId: string | null
}

/** Claims or looks in a row that found nothing of a target, and until when it waits for the next one. */
interface ClaimPause {
  readonly emptyClaims: number
  readonly untilMillis: number
}

interface DelayedTarget {
  readonly target: ClaimTarget
  readonly atMillis: number
}

/** The round of looks at all endpoints. */
interface ScanState {
  /** From when on the next page is due. */
  readonly atMillis: number
  /** The page begins behind this endpoint; null: a round begins. */
  readonly after: EndpointKey | null
  /** Until this round ends its pages follow each other at once. */
  readonly isUrgent: boolean
}

export interface ClaimSchedule {
  /** To claim of as soon as there is room; by {@link keyOf}, as the two below. */
  readonly woken: HashMap.HashMap<string, ClaimTarget>
  readonly delayed: HashMap.HashMap<string, DelayedTarget>
  /** When the first of {@link delayed} is due, or earlier. */
  readonly delayedFromMillis: number
  readonly pauses: HashMap.HashMap<string, ClaimPause>
  readonly scan: ScanState
  /** Stops under way, of transports or of all: nothing is claimed meanwhile. */
  readonly stops: number
}

export const initialSchedule: ClaimSchedule = {
  woken: HashMap.empty(),
  delayed: HashMap.empty(),
  delayedFromMillis: Infinity,
  pauses: HashMap.empty(),
  scan: { atMillis: -Infinity, after: null, isUrgent: true },
  stops: 0
}

export type ScheduleEvent =
  /** Rows of these may wait, as far as a commit tells. */
  | { readonly _tag: "TargetsWoken"; readonly targets: ReadonlyArray<ClaimTarget>; readonly nowMillis: number }
  /** Rows of these may wait, and may be had: their pauses are over. */
  | { readonly _tag: "TargetsFreed"; readonly targets: ReadonlyArray<ClaimTarget> }
  /** Rows of anybody may wait. */
  | { readonly _tag: "ScanRequested" }
  /** A target is due at a time: a delivery is tried again then. */
  | { readonly _tag: "TargetDelayed"; readonly target: ClaimTarget; readonly atMillis: number }
  /** A look was answered; `merchants`: whose endpoints it was at, null for a page of all. */
  | {
    readonly _tag: "Looked"
    readonly merchants: ReadonlyArray<number> | null
    readonly endpoints: ReadonlyArray<EndpointKey>
    readonly next: EndpointKey | null
    readonly nowMillis: number
  }
  /** A claim of these begins, or a look at those with null. */
  | { readonly _tag: "TargetsTaken"; readonly targets: ReadonlyArray<ClaimTarget> }
  /** A claim of `endpoints` was answered, for `found` of them with rows; whether it used all room there was. */
  | {
    readonly _tag: "Claimed"
    readonly endpoints: ReadonlyArray<EndpointKey>
    readonly found: ReadonlySet<string>
    readonly usedAllSlots: boolean
    readonly nowMillis: number
  }
  | { readonly _tag: "StopStarted" }
  | { readonly _tag: "StopEnded" }

const keyOf = ({ endpointId, merchantId }: ClaimTarget): string => endpointId ?? String(merchantId)

const ofMerchant = (merchantId: number): ClaimTarget => ({ merchantId, endpointId: null })

const withWoken = (schedule: ClaimSchedule, target: ClaimTarget): ClaimSchedule => ({
  ...schedule,
  woken: HashMap.set(schedule.woken, keyOf(target), target)
})

const withDelayed = (schedule: ClaimSchedule, target: ClaimTarget, atMillis: number): ClaimSchedule => {
  const key = keyOf(target)
  const earlier = Option.getOrUndefined(HashMap.get(schedule.delayed, key))
  if (earlier !== undefined && earlier.atMillis <= atMillis) return schedule
  return {
    ...schedule,
    delayed: HashMap.set(schedule.delayed, key, { target, atMillis }),
    delayedFromMillis: Math.min(schedule.delayedFromMillis, atMillis)
  }
}

const withoutPause = (schedule: ClaimSchedule, target: ClaimTarget): ClaimSchedule =>
  HashMap.has(schedule.pauses, keyOf(target))
    ? { ...schedule, pauses: HashMap.remove(schedule.pauses, keyOf(target)) }
    : schedule

const withPause = (schedule: ClaimSchedule, target: ClaimTarget, nowMillis: number): ClaimSchedule => {
  const key = keyOf(target)
  const before = Option.getOrUndefined(HashMap.get(schedule.pauses, key))
  const emptyClaims = (before?.emptyClaims ?? 0) + 1
  const pauseMillis = emptyClaims === 1 ? 0 : Math.min(longestPauseMillis, shortestPauseMillis * 2 ** (emptyClaims - 2))
  return {
    ...schedule,
    pauses: HashMap.set(schedule.pauses, key, { emptyClaims, untilMillis: nowMillis + pauseMillis })
  }
}

const wake = (schedule: ClaimSchedule, target: ClaimTarget, nowMillis: number): ClaimSchedule => {
  const untilMillis = Option.getOrUndefined(HashMap.get(schedule.pauses, keyOf(target)))?.untilMillis ?? 0
  return untilMillis > nowMillis ? withDelayed(schedule, target, untilMillis) : withWoken(schedule, target)
}

const free = (schedule: ClaimSchedule, target: ClaimTarget): ClaimSchedule =>
  withWoken(withoutPause(schedule, target), target)

/** After a page: the next one at once while there is one and pages find something, else after a second. */
const scanAfterPage = (
  { isUrgent }: ScanState,
  foundAny: boolean,
  next: EndpointKey | null,
  nowMillis: number
): ScanState => ({
  atMillis: next !== null && (foundAny || isUrgent) ? nowMillis : nowMillis + scanMillis,
  after: next,
  isUrgent: isUrgent && next !== null
})

/** Pauses that ended long ago say nothing any more. */
const withoutOldPauses = (schedule: ClaimSchedule, nowMillis: number): ClaimSchedule =>
  HashMap.isEmpty(schedule.pauses)
    ? schedule
    : {
      ...schedule,
      pauses: HashMap.filter(schedule.pauses, ({ untilMillis }) => untilMillis > nowMillis - 2 * longestPauseMillis)
    }

/** What an event makes of a schedule. Total. */
export const step = (schedule: ClaimSchedule, event: ScheduleEvent): ClaimSchedule => {
  switch (event._tag) {
    case "TargetsWoken":
      return event.targets.reduce((each, target) => wake(each, target, event.nowMillis), schedule)
    case "TargetsFreed":
      return event.targets.reduce(free, schedule)
    case "ScanRequested":
      return { ...schedule, scan: initialSchedule.scan }
    case "TargetDelayed":
      return withDelayed(schedule, event.target, event.atMillis)
    case "TargetsTaken":
      return { ...schedule, woken: HashMap.removeMany(schedule.woken, event.targets.map(keyOf)) }
    case "Looked": {
      const { endpoints, merchants, next, nowMillis } = event
      const found = endpoints.reduce(free, schedule)
      if (merchants === null) {
        const scan = scanAfterPage(schedule.scan, endpoints.length > 0, next, nowMillis)
        return withoutOldPauses({ ...found, scan }, nowMillis)
      }
      const foundIds = new Set(endpoints.map(({ merchantId }) => merchantId))
      return merchants.map(ofMerchant).reduce((each, target) =>
        foundIds.has(target.merchantId)
          ? withoutPause(each, target)
          : withPause(each, target, nowMillis), found)
    }
    case "Claimed": {
      const { endpoints, found, nowMillis, usedAllSlots } = event
      const paused = endpoints.reduce((each, target) =>
        found.has(target.endpointId)
          ? withoutPause(each, target)
          : withPause(each, target, nowMillis), schedule)
      // Others may be waiting whom nobody will wake again.
      return usedAllSlots ? { ...paused, scan: { ...paused.scan, atMillis: nowMillis, isUrgent: true } } : paused
    }
    case "StopStarted":
      return { ...schedule, stops: schedule.stops + 1 }
    case "StopEnded":
      return { ...schedule, stops: schedule.stops - 1 }
  }
}

/** Takes what is due by now from the delayed into the woken. */
export const wakeDelayed = (schedule: ClaimSchedule, nowMillis: number): ClaimSchedule => {
  if (nowMillis < schedule.delayedFromMillis) return schedule
  const all = HashMap.toValues(schedule.delayed)
  const due = all.filter(({ atMillis }) => atMillis <= nowMillis).map(({ target }) => target)
  const later = all.filter(({ atMillis }) => atMillis > nowMillis)
  return due.reduce(withWoken, {
    ...schedule,
    delayed: HashMap.removeMany(schedule.delayed, due.map(keyOf)),
    delayedFromMillis: later.reduce((first, { atMillis }) => Math.min(first, atMillis), Infinity)
  })
}

/** What to do next: look at endpoints of `merchants` (null: at a page of all), claim of endpoints, or wait. */
export type ClaimPlan =
  | { readonly _tag: "Look"; readonly merchants: ReadonlyArray<number> | null }
  | { readonly _tag: "Claim"; readonly endpoints: ReadonlyArray<EndpointKey> }
  | { readonly _tag: "Wait"; readonly millis: number }

const isEndpoint = (target: ClaimTarget): target is EndpointKey => target.endpointId !== null

/**
 * What to do next with room for `slots` rows, of a schedule whose delayed targets are woken. `canSend`: there is a
 * transport.
 */
export const planClaim = (
  { delayedFromMillis, scan, stops, woken }: ClaimSchedule,
  { canSend, nowMillis, slots }: { readonly canSend: boolean; readonly nowMillis: number; readonly slots: number }
): ClaimPlan => {
  // Results free the room, and wake.
  if (stops > 0 || !canSend || slots === 0) return { _tag: "Wait", millis: scanMillis }
  const targets = HashMap.toValues(woken)
  const merchants = targets.filter((target) => !isEndpoint(target)).map(({ merchantId }) => merchantId)
  if (merchants.length > 0) return { _tag: "Look", merchants }
  const endpoints = targets.filter(isEndpoint)
  if (nowMillis >= scan.atMillis + (endpoints.length > 0 ? scanPatienceMillis : 0)) {
    return { _tag: "Look", merchants: null }
  }
  if (endpoints.length > 0) return { _tag: "Claim", endpoints: endpoints.slice(0, maximumWanted) }
  return { _tag: "Wait", millis: Math.max(1, Math.min(scan.atMillis, delayedFromMillis) - nowMillis) }
}
