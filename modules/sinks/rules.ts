/** What a round of a sink does with what was read: pure. */
import { eventText, isOptIn } from "../../schemas/Event.ts"
import { compareEventPositions, type EventPosition } from "../../schemas/Ids.ts"
import type { Finding } from "../../runtime/telemetry/HealthReport.ts"
import type { CommittedEvent } from "../../runtime/Commit.ts"
import type { SinkEvent } from "./service/EventSink.ts"

/** Merchants of one round, at most. */
export const roundMerchants = 50

/** Events of one merchant that one round reads, at most. */
export const merchantEvents = 1_000

/** Events of one round after which no other merchant is read: about 10 MB of text. */
export const roundEvents = 4_000

/** Milliseconds before a store that failed is tried again: the first pause, and the longest. */
const firstPauseMillis = 500
const longestPauseMillis = 30_000

/** The pause after so many failures in a row. */
export const pauseAfter = (failures: number): number =>
  Math.min(longestPauseMillis, firstPauseMillis * 2 ** Math.min(failures - 1, 16))

/** How far a sink is with a merchant. */
export interface SinkPosition {
  readonly merchantId: number
  /** Of the row; 0: there is none yet. */
  readonly version: number
  readonly position: EventPosition
  /** Events of the merchant up to here are deleted. */
  readonly pruned: EventPosition
}

/** Whether events were deleted that the sink has not had. One that is new to the merchant misses nothing. */
export const hasMissed = ({ position, pruned, version }: SinkPosition): boolean =>
  version > 0 && compareEventPositions(pruned, position) > 0

/**
 * What sinks are given: all but the types that come only to those who name them
 * (modules/docs/reference/events.md#opt-in-types). The text is that of webhooks.
 */
export const sinkEventsOf = (events: ReadonlyArray<CommittedEvent>): ReadonlyArray<SinkEvent> =>
  events.filter(({ type }) => !isOptIn(type)).map((event) => ({
    // The ids of two merchants' events may be the same.
    key: `${event.merchantId}/${event.id}`,
    merchantId: event.merchantId,
    environment: event.environment,
    type: event.type,
    text: eventText(event, event.pendingWebhooks)
  }))

/** What a round read of one merchant. */
export interface MerchantReading {
  readonly at: SinkPosition
  readonly events: ReadonlyArray<CommittedEvent>
}

/** Merchants whose turn did not come in the round, or who may have more than it read. */
export const merchantsWithMore = (
  positions: ReadonlyArray<SinkPosition>,
  readings: ReadonlyArray<MerchantReading>
): ReadonlyArray<number> => {
  const isDone = new Set(
    readings.filter(({ events }) => events.length < merchantEvents).map(({ at }) => at.merchantId)
  )
  return positions.map(({ merchantId }) => merchantId).filter((id) => !isDone.has(id))
}

/** When the oldest event that a round read was committed, in epoch milliseconds; undefined: it read none. */
export const oldestMillis = (readings: ReadonlyArray<MerchantReading>): number | undefined => {
  const firsts = readings.flatMap(({ events: [first] }) => first === undefined ? [] : [Number(first.position.ms)])
  return firsts.length === 0 ? undefined : Math.min(...firsts)
}

/** Milliseconds that an event may wait for a sink that does not take it before health degrades. */
export const staleMillis = 60_000

/** What health says of a sink that does not take events, of which the oldest is so old. */
export const sinkFindings = (sink: string, waitingMillis: number): ReadonlyArray<Finding> =>
  waitingMillis <= staleMillis ? [] : [{
    effect: "degraded",
    message:
      `"${sink}" does not take events, of which the oldest waits for ${Math.round(waitingMillis / 1_000)} s: the log `
      + "says why. None is lost while they are kept."
  }]
