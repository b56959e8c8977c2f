/**
 * What this instance has claimed: a queue for each endpoint, rows that wait in it and rows that are on their way.
 * Claiming ahead saves a round trip for each delivery; the limits of sending are kept here, and as one instance leases
 * an endpoint at a time, they hold over all of them. No effects.
 *
 * A row is held from its claim until its result is written; it takes a slot, and a place in its queue, from its
 * sending until its answer. What is answered and not written is what a kill repeats, so that is bounded too.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"
import { type ClaimedDelivery, type EndpointLease, maximumFailingInFlight, maximumInFlight } from "./DeliveryRepo.ts"
import {
  addClaimed,
  canSend,
  capacityOf,
  emptyQueue,
  type EndpointQueue,
  leaseOf,
  recordOutcome,
  removeWritten,
  takePending
} from "./EndpointQueue.ts"

/** Rows of all endpoints that an instance holds, one to two megabytes of events. */
export const maximumHeld = 1_024

/** Rows that are sent and not written, on their way or answered: two batches of results. */
export const maximumUnwritten = 2 * maximumInFlight

/** Room below which it is not worth to claim: a claim of few rows costs what one of many does. */
const minimumFreeSlots = maximumHeld / 4

/** A result that is about to be written; `wasSent`: else it was given back before. */
export interface FinishedDelivery {
  readonly delivery: ClaimedDelivery
  readonly wasSent: boolean
}

export class EndpointQueues {
  private readonly queues = new Map<string, EndpointQueue>()
  /** Queues that may send, in turn. */
  private readonly ready: Array<EndpointQueue> = []
  private readonly failingDeliveries = new Set<ClaimedDelivery>()
  private held = 0
  private sending = 0
  private unwritten = 0

  /** Rows that may be claimed now; 0 where it is better to wait for results. */
  freeSlots(): number {
    return maximumHeld - this.held < minimumFreeSlots ? 0 : maximumHeld - this.held
  }

  /** Of them, those of failing endpoints. */
  freeFailingSlots(): number {
    return maximumFailingInFlight - this.failingDeliveries.size
  }

  /** What is held of `merchants`, or of all with null, for a claim to leave out. */
  heldDeliveries(merchants: ReadonlyArray<number> | null) {
    const requested = merchants === null ? null : new Set(merchants)
    const theirs = [...this.queues.values()].filter(({ merchantId }) => requested?.has(merchantId) !== false)
    return {
      held: theirs.flatMap((queue) => [...queue.heldIds]),
      counts: new Map(theirs.map((queue) => [queue.endpointId, queue.heldIds.size] as const))
    }
  }

  /** Takes what was claimed for `merchants`, or for everyone with null; it may be sent until `sendByMillis`. */
  add(
    deliveries: ReadonlyArray<ClaimedDelivery>,
    merchants: ReadonlyArray<number> | null,
    sendByMillis: number
  ): void {
    for (const each of deliveries) {
      const queue = this.queueOf(each)
      addClaimed(queue, each, sendByMillis)
      this.held++
      if (each.isFailing) this.failingDeliveries.add(each)
      this.markReady(queue)
    }
    const requested = merchants === null ? null : new Set(merchants)
    for (const queue of this.queues.values()) {
      if (queue.heldIds.size >= capacityOf(queue) && requested?.has(queue.merchantId) !== false) queue.hasMore = true
    }
  }

  /** The next row to send, endpoints in turn; undefined where none may be sent now. */
  next(nowMillis: number): ClaimedDelivery | undefined {
    if (this.sending >= maximumInFlight || this.unwritten >= maximumUnwritten) return undefined
    const queue = this.ready.shift()
    if (queue === undefined) return undefined
    queue.isReady = false
    const delivery = queue.pending.shift()
    if (delivery === undefined) return this.next(nowMillis)
    queue.inFlight.set(delivery, nowMillis)
    this.sending++
    this.unwritten++
    this.markReady(queue)
    return delivery
  }

  /**
   * Whether the queue of a row may be another instance's by now, or was meanwhile: the process stood still for long.
   */
  isLate(delivery: ClaimedDelivery, nowMillis: number): boolean {
    const { sendByMillis, token } = this.queueOf(delivery)
    return nowMillis > sendByMillis || delivery.token !== token
  }

  /**
   * A row was answered, or given up with null. Unless it succeeded, the rest of its queue is taken out and returned, to
   * be released unsent.
   */
  finish(delivery: ClaimedDelivery, outcome: AttemptOutcome | null): ReadonlyArray<ClaimedDelivery> {
    const queue = this.queueOf(delivery)
    if (queue.inFlight.delete(delivery)) this.sending--
    recordOutcome(queue, delivery, outcome)
    const rest = outcome === "succeeded" ? [] : takePending(queue)
    this.markReady(queue)
    return rest
  }

  /** Queues of which nothing is held any more once `results` are written, as they are now. */
  leasesToRelease(results: ReadonlyArray<FinishedDelivery>): ReadonlyArray<EndpointLease> {
    const byEndpoint = Map.groupBy(results, ({ delivery }) => delivery.endpointId)
    return [...byEndpoint].map(([id, ended]) => ({ queue: this.queues.get(id)!, ended: ended.length }))
      .filter(({ ended, queue }) => queue.heldIds.size === ended)
      .map(({ queue }) => leaseOf(queue))
  }

  /** Whether nothing is on its way. */
  isIdle(): boolean {
    return this.sending === 0
  }

  /** A result was written; answers the merchant if rows of this queue may wait in the database. */
  markWritten({ delivery, wasSent }: FinishedDelivery): number | undefined {
    const queue = this.queueOf(delivery)
    this.held--
    if (wasSent) this.unwritten--
    this.failingDeliveries.delete(delivery)
    const needsRefill = removeWritten(queue, delivery)
    if (queue.heldIds.size === 0) this.queues.delete(queue.endpointId)
    return needsRefill ? queue.merchantId : undefined
  }

  /** What waits, given back: of a merchant, or all of it. */
  releaseWaiting(merchantId?: number): ReadonlyArray<ClaimedDelivery> {
    return [...this.queues.values()].filter((queue) => merchantId === undefined || queue.merchantId === merchantId)
      .flatMap(takePending)
  }

  /** Queues whose rows may not be sent any more from `nowMillis` on, unless they are renewed. */
  leasesExpiringBy(nowMillis: number): ReadonlyArray<EndpointLease> {
    return [...this.queues.values()].filter(({ sendByMillis }) => sendByMillis < nowMillis)
  }

  /** Goes on with `extendedIds`, of those of `leases`, until `sendByMillis`; what waits in the others is given back. */
  extendLeases(
    leases: ReadonlyArray<EndpointLease>,
    extendedIds: ReadonlySet<string>,
    sendByMillis: number
  ): ReadonlyArray<ClaimedDelivery> {
    return leases.flatMap(({ endpointId }) => {
      const queue = this.queues.get(endpointId)
      if (queue === undefined) return []
      if (!extendedIds.has(endpointId)) return takePending(queue)
      queue.sendByMillis = sendByMillis
      return []
    })
  }

  /** Rows that were sent between two moments and are not answered. */
  sentBetween(fromMillis: number, toMillis: number): ReadonlyArray<ClaimedDelivery> {
    return [...this.queues.values()].flatMap(({ inFlight }) =>
      [...inFlight].filter(([, at]) => at >= fromMillis && at < toMillis).map(([claimed]) => claimed)
    )
  }

  private markReady(queue: EndpointQueue): void {
    if (queue.isReady || !canSend(queue)) return
    queue.isReady = true
    this.ready.push(queue)
  }

  private queueOf(delivery: ClaimedDelivery): EndpointQueue {
    const current = this.queues.get(delivery.endpointId)
    if (current !== undefined) return current
    const queue = emptyQueue(delivery)
    this.queues.set(delivery.endpointId, queue)
    return queue
  }
}
