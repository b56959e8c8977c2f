/**
 * The queue of one endpoint on this instance: rows that wait in it, rows that are on their way, and what a failure
 * among them changes. No effects; times are monotonic milliseconds.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"
import {
  type ClaimedDelivery,
  type ClaimedEndpoint,
  type EndpointLease,
  maximumHeldPerEndpoint,
  maximumPerEndpoint,
  slowMillis
} from "./DeliveryRepo.ts"

/** A row on its way. */
export interface AttemptInFlight {
  readonly sentMillis: number
  /** It has one of the places of quick endpoints, which its endpoint was when it was sent. */
  hasQuickPlace: boolean
}

export interface EndpointQueue {
  readonly merchantId: number
  readonly endpointId: string
  health: ClaimedEndpoint["health"]
  /** Its last answer took long, or an attempt is taking long. */
  isSlow: boolean
  token: bigint
  claims: bigint
  /** Until when its rows may be sent. */
  sendByMillis: number
  pending: Array<ClaimedDelivery>
  /** Sent, and not yet answered. */
  readonly inFlight: Map<ClaimedDelivery, AttemptInFlight>
  /** Failed, and not yet written. */
  readonly failures: Set<ClaimedDelivery>
  /** Every row of it that is held, by id. */
  readonly heldIds: Set<string>
  /** One is sent at a time, and nothing claimed while one is held. */
  single: boolean
  /** A claim may have left rows of it in the database. */
  hasMore: boolean
  /** It stands in the row of queues that may send. */
  isReady: boolean
}

/** The queue of an endpoint, without rows. */
export const emptyQueue = (endpoint: ClaimedEndpoint): EndpointQueue => {
  const { claims, endpointId, health, isSlow, merchantId, single, token } = endpoint
  return {
    merchantId,
    endpointId,
    health,
    isSlow,
    token,
    claims,
    sendByMillis: 0,
    pending: [],
    inFlight: new Map(),
    failures: new Set(),
    heldIds: new Set(),
    single,
    hasMore: false,
    isReady: false
  }
}

/** Whether the endpoint answered well and quickly the last time: only such endpoints share places with each other. */
export const isQuick = ({ health, isSlow }: Pick<EndpointQueue, "health" | "isSlow">): boolean =>
  health === "healthy" && !isSlow

/** Rows of a queue from which on nothing is claimed of its endpoint. */
export const capacityOf = ({ isSlow, single }: EndpointQueue): number =>
  single ? 1 : isSlow ? maximumPerEndpoint : maximumHeldPerEndpoint

/** Whether the endpoint's limits let one more of its rows be sent. */
export const canSend = ({ inFlight, pending, single }: EndpointQueue): boolean =>
  pending.length > 0 && inFlight.size < (single ? 1 : maximumPerEndpoint)

/** A row was claimed; it may be sent until `sendByMillis`. */
export const addClaimed = (queue: EndpointQueue, delivery: ClaimedDelivery, sendByMillis: number): void => {
  const { endpoint } = delivery
  queue.token = endpoint.token
  queue.claims = endpoint.claims
  queue.sendByMillis = sendByMillis
  // The database does not know of a failure before it is written.
  queue.single = endpoint.single || queue.failures.size > 0
  queue.hasMore ||= endpoint.hasMore
  queue.pending.push(delivery)
  queue.heldIds.add(delivery.id)
}

/** Takes out what waits: it is given back. */
export const takePending = (queue: EndpointQueue): ReadonlyArray<ClaimedDelivery> => {
  queue.hasMore ||= queue.pending.length > 0
  return queue.pending.splice(0)
}

/** A row was answered, or given up with null: after a failure one is sent at a time. */
export const recordOutcome = (
  queue: EndpointQueue,
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome | null
): void => {
  if (outcome === null || outcome === "succeeded") return
  queue.single = true
  queue.failures.add(delivery)
}

/** Whether an attempt on its way is taking long. */
export const isTakingLong = ({ inFlight }: EndpointQueue, nowMillis: number): boolean =>
  [...inFlight.values()].some(({ sentMillis }) => nowMillis - sentMillis > slowMillis)

/** The result of a row was written; whether rows of the queue may wait in the database for a claim. */
export const removeWritten = (queue: EndpointQueue, delivery: ClaimedDelivery): boolean => {
  queue.heldIds.delete(delivery.id)
  queue.failures.delete(delivery)
  return needsRefill(queue, queue.heldIds.size)
}

/** Whether it is time to claim more of the endpoint while it has `held` rows. */
export const needsRefill = (queue: EndpointQueue, held: number): boolean =>
  queue.hasMore && held <= capacityOf(queue) / 2

export const leaseOf = ({ claims, endpointId, merchantId, token }: EndpointQueue): EndpointLease => ({
  claims,
  endpointId,
  merchantId,
  token
})
