/**
 * What this instance has claimed: a lane for each endpoint, rows that wait in it and rows that are on their way. Claiming
 * ahead saves a round trip for each delivery; the limits of sending are kept here, and since a lane is one instance's at
 * a time, they hold over all of them. No effects.
 *
 * A row is held from its claim until its result is written; a slot, and a place in its lane, it takes from its sending
 * until its answer. What is answered and not written is what a kill repeats, so that is bounded too.
 */
import type { AttemptOutcome } from "./Attempts.ts"
import {
  type Claimed, type HeldLane, maximumFailingInFlight, maximumHeldPerEndpoint, maximumInFlight, maximumPerEndpoint
} from "./Queue.ts"

/** Rows of all endpoints that an instance holds, one to two megabytes of events. */
export const maximumHeld = 1_024

/** Rows that are sent and not written, on their way or answered: two batches of results. */
export const maximumUnwritten = 2 * maximumInFlight

/** Room below which it is not worth to claim: a claim of few rows costs what one of many does. */
const leastRoom = maximumHeld / 4

interface Lane {
  readonly merchantId: number
  readonly endpointId: string
  token: bigint
  claims: bigint
  /** Monotonic milliseconds until which its rows may be sent. */
  sendByMillis: number
  waiting: Array<Claimed>
  /** Sent, and not yet answered, each with the monotonic milliseconds at which it was. */
  readonly sending: Map<Claimed, number>
  /** Failed, and not yet written. */
  readonly failed: Set<Claimed>
  /** Every row of it that is held, by id. */
  readonly held: Set<string>
  /** One is sent at a time, and nothing claimed while one is held. */
  single: boolean
  /** A claim may have left rows of it in the database. */
  more: boolean
  /** It stands in the row of lanes that may send. */
  queued: boolean
}

/** A result that is about to be written; of a row that was `sent`, or given back before. */
export interface Ended {
  readonly claimed: Claimed
  readonly sent: boolean
}

export const makeLanes = () => {
  const lanes = new Map<string, Lane>()
  const ready: Array<Lane> = []
  const failing = new Set<Claimed>()
  let held = 0
  let sending = 0
  let unwritten = 0

  /** Rows of a lane with which a claim passes it over. */
  const capacity = ({ single }: Lane): number => (single ? 1 : maximumHeldPerEndpoint)

  const queue = (lane: Lane): void => {
    if (lane.queued || lane.waiting.length === 0) return
    if (lane.sending.size >= (lane.single ? 1 : maximumPerEndpoint)) return
    lane.queued = true
    ready.push(lane)
  }

  const laneOf = (claimed: Claimed): Lane => {
    const known = lanes.get(claimed.endpointId)
    if (known !== undefined) return known
    const lane: Lane = {
      merchantId: claimed.merchantId,
      endpointId: claimed.endpointId,
      token: claimed.token,
      claims: claimed.claims,
      sendByMillis: 0,
      waiting: [],
      sending: new Map(),
      failed: new Set(),
      held: new Set(),
      single: claimed.single,
      more: false,
      queued: false
    }
    lanes.set(claimed.endpointId, lane)
    return lane
  }

  /** Rows that may be claimed now; 0 where it is better to wait for results. */
  const room = (): number => (maximumHeld - held < leastRoom ? 0 : maximumHeld - held)

  /** Of them, those of failing endpoints. */
  const failingRoom = (): number => maximumFailingInFlight - failing.size

  /** What is held of `merchants`, or of all with null, for a claim to leave out. */
  const holdings = (merchants: ReadonlyArray<number> | null) => {
    const asked = merchants === null ? null : new Set(merchants)
    const theirs = [...lanes.values()].filter(({ merchantId }) => asked?.has(merchantId) !== false)
    return {
      held: theirs.flatMap((lane) => [...lane.held]),
      counts: new Map(theirs.map((lane) => [lane.endpointId, lane.held.size] as const))
    }
  }

  /** Takes what was claimed for `merchants`, or for everyone with null; it may be sent until `sendByMillis`. */
  const add = (claimed: ReadonlyArray<Claimed>, merchants: ReadonlyArray<number> | null, sendByMillis: number): void => {
    for (const each of claimed) {
      const lane = laneOf(each)
      Object.assign(lane, { token: each.token, claims: each.claims, sendByMillis })
      // The database does not know of a failure before it is written.
      lane.single = each.single || lane.failed.size > 0
      lane.more ||= each.more
      lane.waiting.push(each)
      lane.held.add(each.id)
      held++
      if (each.failing) failing.add(each)
      queue(lane)
    }
    const asked = merchants === null ? null : new Set(merchants)
    for (const lane of lanes.values()) {
      if (lane.held.size >= capacity(lane) && asked?.has(lane.merchantId) !== false) lane.more = true
    }
  }

  /** The next row to send, endpoints in turn; undefined where none may be sent now. */
  const next = (nowMillis: number): Claimed | undefined => {
    if (sending >= maximumInFlight || unwritten >= maximumUnwritten) return undefined
    const lane = ready.shift()
    if (lane === undefined) return undefined
    lane.queued = false
    const claimed = lane.waiting.shift()
    if (claimed === undefined) return next(nowMillis)
    lane.sending.set(claimed, nowMillis)
    sending++
    unwritten++
    queue(lane)
    return claimed
  }

  /** Whether the lane of a row may be another instance's by now, or was meanwhile: the process stood still for long. */
  const isLate = (claimed: Claimed, nowMillis: number): boolean => {
    const { sendByMillis, token } = laneOf(claimed)
    return nowMillis > sendByMillis || claimed.token !== token
  }

  const takeWaiting = (lane: Lane): ReadonlyArray<Claimed> => {
    lane.more ||= lane.waiting.length > 0
    return lane.waiting.splice(0)
  }

  /** A row was answered, or given up with null; but after a success the rest of its lane is given back here, not sent. */
  const answered = (claimed: Claimed, outcome: AttemptOutcome | null): ReadonlyArray<Claimed> => {
    const lane = laneOf(claimed)
    if (lane.sending.delete(claimed)) sending--
    if (outcome !== null && outcome !== "succeeded") {
      lane.single = true
      lane.failed.add(claimed)
    }
    const rest = outcome === "succeeded" ? [] : takeWaiting(lane)
    queue(lane)
    return rest
  }

  /** Lanes of which nothing is held any more once `results` are written, as they are now. */
  const emptiedBy = (results: ReadonlyArray<Ended>): ReadonlyArray<HeldLane> => {
    const ending = Map.groupBy(results, ({ claimed }) => claimed.endpointId)
    return [...ending].map(([id, ended]) => ({ lane: lanes.get(id)!, ended: ended.length }))
      .filter(({ ended, lane }) => lane.held.size === ended)
      .map(({ lane: { claims, endpointId, merchantId, token } }) => ({ claims, endpointId, merchantId, token }))
  }

  /** Whether nothing is on its way. */
  const isQuiet = (): boolean => sending === 0

  /** A result was written; answers the merchant if rows of this lane may wait in the database. */
  const written = ({ claimed, sent }: Ended): number | undefined => {
    const lane = laneOf(claimed)
    lane.held.delete(claimed.id)
    held--
    if (sent) unwritten--
    failing.delete(claimed)
    lane.failed.delete(claimed)
    const hungry = lane.more && lane.held.size <= capacity(lane) / 2
    if (hungry) lane.more = false
    if (lane.held.size === 0) lanes.delete(lane.endpointId)
    return hungry ? lane.merchantId : undefined
  }

  /** What waits, given back: of a merchant, or all of it. */
  const giveUp = (merchantId?: number): ReadonlyArray<Claimed> =>
    [...lanes.values()].filter((lane) => merchantId === undefined || lane.merchantId === merchantId).flatMap(takeWaiting)

  /** Lanes whose rows may not be sent any more from `nowMillis` on, unless they are renewed. */
  const expiringBy = (nowMillis: number): ReadonlyArray<HeldLane> =>
    [...lanes.values()].filter(({ sendByMillis }) => sendByMillis < nowMillis)

  /** Goes on with `kept`, of the lanes asked for, until `sendByMillis`; what waits in the others is given back. */
  const renew = (asked: ReadonlyArray<HeldLane>, kept: ReadonlySet<string>, sendByMillis: number) =>
    asked.flatMap(({ endpointId }) => {
      const lane = lanes.get(endpointId)
      if (lane === undefined) return []
      if (!kept.has(endpointId)) return takeWaiting(lane)
      lane.sendByMillis = sendByMillis
      return []
    })

  /** Rows that were sent between two moments and are not answered. */
  const sentBetween = (fromMillis: number, toMillis: number): ReadonlyArray<Claimed> =>
    [...lanes.values()].flatMap(({ sending }) =>
      [...sending].filter(([, at]) => at >= fromMillis && at < toMillis).map(([claimed]) => claimed)
    )

  return {
    add, answered, emptiedBy, expiringBy, failingRoom, giveUp, holdings, isLate, isQuiet, next, renew, room, sentBetween,
    written
  }
}
export type Lanes = ReturnType<typeof makeLanes>
