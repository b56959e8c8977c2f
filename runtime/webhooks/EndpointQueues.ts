/**
 * What this instance has claimed: a queue for each endpoint, rows that wait in it and rows that are on their way.
 * Claiming ahead saves a round trip for each delivery; the limits of sending are kept here, and as one instance leases
 * an endpoint at a time, they hold over all of them. No effects.
 *
 * A row is held from its claim until its result is written; it takes a slot, and a place in its queue, from its
 * sending until its answer. What is answered and not written is what a kill repeats, so that is bounded too.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"
import {
  type ClaimedDelivery,
  type EndpointLease,
  maximumFailingInFlight,
  maximumHeldPerEndpoint,
  maximumInFlight,
  maximumPerEndpoint
} from "./DeliveryRepo.ts"

/** Rows of all endpoints that an instance holds, one to two megabytes of events. */
export const maximumHeld = 1_024

/** Rows that are sent and not written, on their way or answered: two batches of results. */
export const maximumUnwritten = 2 * maximumInFlight

/** Room below which it is not worth to claim: a claim of few rows costs what one of many does. */
const minimumFreeSlots = maximumHeld / 4

interface EndpointQueue {
  readonly merchantId: number
  readonly endpointId: string
  token: bigint
  claims: bigint
  /** Monotonic milliseconds until which its rows may be sent. */
  sendByMillis: number
  pending: Array<ClaimedDelivery>
  /** Sent, and not yet answered, each with the monotonic milliseconds at which it was. */
  readonly inFlight: Map<ClaimedDelivery, number>
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

/** A result that is about to be written; `wasSent`: else it was given back before. */
export interface FinishedDelivery {
  readonly delivery: ClaimedDelivery
  readonly wasSent: boolean
}

export const makeEndpointQueues = () => {
  const queues = new Map<string, EndpointQueue>()
  const ready: Array<EndpointQueue> = []
  const failingDeliveries = new Set<ClaimedDelivery>()
  let held = 0
  let sending = 0
  let unwritten = 0

  /** Rows of a queue from which on a claim passes over its endpoint. */
  const capacity = ({ single }: EndpointQueue): number => (single ? 1 : maximumHeldPerEndpoint)

  const markReady = (queue: EndpointQueue): void => {
    if (queue.isReady || queue.pending.length === 0) return
    if (queue.inFlight.size >= (queue.single ? 1 : maximumPerEndpoint)) return
    queue.isReady = true
    ready.push(queue)
  }

  const queueOf = (delivery: ClaimedDelivery): EndpointQueue => {
    const known = queues.get(delivery.endpointId)
    if (known !== undefined) return known
    const queue: EndpointQueue = {
      merchantId: delivery.merchantId,
      endpointId: delivery.endpointId,
      token: delivery.token,
      claims: delivery.claims,
      sendByMillis: 0,
      pending: [],
      inFlight: new Map(),
      failures: new Set(),
      heldIds: new Set(),
      single: delivery.single,
      hasMore: false,
      isReady: false
    }
    queues.set(delivery.endpointId, queue)
    return queue
  }

  /** Rows that may be claimed now; 0 where it is better to wait for results. */
  const freeSlots = (): number => (maximumHeld - held < minimumFreeSlots ? 0 : maximumHeld - held)

  /** Of them, those of failing endpoints. */
  const freeFailingSlots = (): number => maximumFailingInFlight - failingDeliveries.size

  /** What is held of `merchants`, or of all with null, for a claim to leave out. */
  const heldDeliveries = (merchants: ReadonlyArray<number> | null) => {
    const requested = merchants === null ? null : new Set(merchants)
    const theirs = [...queues.values()].filter(({ merchantId }) => requested?.has(merchantId) !== false)
    return {
      held: theirs.flatMap((queue) => [...queue.heldIds]),
      counts: new Map(theirs.map((queue) => [queue.endpointId, queue.heldIds.size] as const))
    }
  }

  /** Takes what was claimed for `merchants`, or for everyone with null; it may be sent until `sendByMillis`. */
  const add = (
    deliveries: ReadonlyArray<ClaimedDelivery>,
    merchants: ReadonlyArray<number> | null,
    sendByMillis: number
  ): void => {
    for (const each of deliveries) {
      const queue = queueOf(each)
      Object.assign(queue, { token: each.token, claims: each.claims, sendByMillis })
      // The database does not know of a failure before it is written.
      queue.single = each.single || queue.failures.size > 0
      queue.hasMore ||= each.hasMore
      queue.pending.push(each)
      queue.heldIds.add(each.id)
      held++
      if (each.isFailing) failingDeliveries.add(each)
      markReady(queue)
    }
    const requested = merchants === null ? null : new Set(merchants)
    for (const queue of queues.values()) {
      if (queue.heldIds.size >= capacity(queue) && requested?.has(queue.merchantId) !== false) queue.hasMore = true
    }
  }

  /** The next row to send, endpoints in turn; undefined where none may be sent now. */
  const next = (nowMillis: number): ClaimedDelivery | undefined => {
    if (sending >= maximumInFlight || unwritten >= maximumUnwritten) return undefined
    const queue = ready.shift()
    if (queue === undefined) return undefined
    queue.isReady = false
    const delivery = queue.pending.shift()
    if (delivery === undefined) return next(nowMillis)
    queue.inFlight.set(delivery, nowMillis)
    sending++
    unwritten++
    markReady(queue)
    return delivery
  }

  /**
   * Whether the queue of a row may be another instance's by now, or was meanwhile: the process stood still for long.
   */
  const isLate = (delivery: ClaimedDelivery, nowMillis: number): boolean => {
    const { sendByMillis, token } = queueOf(delivery)
    return nowMillis > sendByMillis || delivery.token !== token
  }

  const takePending = (queue: EndpointQueue): ReadonlyArray<ClaimedDelivery> => {
    queue.hasMore ||= queue.pending.length > 0
    return queue.pending.splice(0)
  }

  /**
   * A row was answered, or given up with null; but after a success the rest of its queue is given back here, not sent.
   */
  const finish = (delivery: ClaimedDelivery, outcome: AttemptOutcome | null): ReadonlyArray<ClaimedDelivery> => {
    const queue = queueOf(delivery)
    if (queue.inFlight.delete(delivery)) sending--
    if (outcome !== null && outcome !== "succeeded") {
      queue.single = true
      queue.failures.add(delivery)
    }
    const rest = outcome === "succeeded" ? [] : takePending(queue)
    markReady(queue)
    return rest
  }

  /** Queues of which nothing is held any more once `results` are written, as they are now. */
  const leasesToRelease = (results: ReadonlyArray<FinishedDelivery>): ReadonlyArray<EndpointLease> => {
    const byEndpoint = Map.groupBy(results, ({ delivery }) => delivery.endpointId)
    return [...byEndpoint].map(([id, ended]) => ({ queue: queues.get(id)!, ended: ended.length }))
      .filter(({ ended, queue }) => queue.heldIds.size === ended)
      .map(({ queue: { claims, endpointId, merchantId, token } }) => ({ claims, endpointId, merchantId, token }))
  }

  /** Whether nothing is on its way. */
  const isIdle = (): boolean => sending === 0

  /** A result was written; answers the merchant if rows of this queue may wait in the database. */
  const markWritten = ({ delivery, wasSent }: FinishedDelivery): number | undefined => {
    const queue = queueOf(delivery)
    queue.heldIds.delete(delivery.id)
    held--
    if (wasSent) unwritten--
    failingDeliveries.delete(delivery)
    queue.failures.delete(delivery)
    const needsRefill = queue.hasMore && queue.heldIds.size <= capacity(queue) / 2
    if (needsRefill) queue.hasMore = false
    if (queue.heldIds.size === 0) queues.delete(queue.endpointId)
    return needsRefill ? queue.merchantId : undefined
  }

  /** What waits, given back: of a merchant, or all of it. */
  const releaseWaiting = (merchantId?: number): ReadonlyArray<ClaimedDelivery> =>
    [...queues.values()].filter((queue) => merchantId === undefined || queue.merchantId === merchantId).flatMap(
      takePending
    )

  /** Queues whose rows may not be sent any more from `nowMillis` on, unless they are renewed. */
  const leasesExpiringBy = (nowMillis: number): ReadonlyArray<EndpointLease> =>
    [...queues.values()].filter(({ sendByMillis }) => sendByMillis < nowMillis)

  /** Goes on with `extendedIds`, of those of `leases`, until `sendByMillis`; what waits in the others is given back. */
  const extendLeases = (leases: ReadonlyArray<EndpointLease>, extendedIds: ReadonlySet<string>, sendByMillis: number) =>
    leases.flatMap(({ endpointId }) => {
      const queue = queues.get(endpointId)
      if (queue === undefined) return []
      if (!extendedIds.has(endpointId)) return takePending(queue)
      queue.sendByMillis = sendByMillis
      return []
    })

  /** Rows that were sent between two moments and are not answered. */
  const sentBetween = (fromMillis: number, toMillis: number): ReadonlyArray<ClaimedDelivery> =>
    [...queues.values()].flatMap(({ inFlight }) =>
      [...inFlight].filter(([, at]) => at >= fromMillis && at < toMillis).map(([claimed]) => claimed)
    )

  return {
    add,
    finish,
    leasesToRelease,
    leasesExpiringBy,
    freeFailingSlots,
    releaseWaiting,
    heldDeliveries,
    isLate,
    isIdle,
    next,
    extendLeases,
    freeSlots,
    sentBetween,
    markWritten
  }
}
export type EndpointQueues = ReturnType<typeof makeEndpointQueues>
