/**
 * What this instance has claimed: a queue for each endpoint, rows that wait in it and rows that are on their way.
 * Claiming ahead saves a round trip for each delivery; the limits of sending are kept here, and as one instance leases
 * an endpoint at a time, they hold over all of them. No effects.
 *
 * A row is held from its claim until its result is written; it takes a slot, and a place in its queue, from its
 * sending until its answer. What is answered and not written is what a kill repeats, so that is bounded too.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"
import type { WantedEndpoint } from "./DeliveryExchange.ts"
import {
  type ClaimedDelivery,
  type EndpointKey,
  type EndpointLease,
  maximumFailingInFlight,
  maximumInFlight
} from "./DeliveryRepo.ts"
import {
  addClaimed,
  canSend,
  capacityOf,
  emptyQueue,
  type EndpointQueue,
  leaseOf,
  needsRefill,
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

/** A result that is about to be written. */
export interface FinishedDelivery {
  readonly delivery: ClaimedDelivery
  /** It took a slot; else it was given back before. */
  readonly wasSent: boolean
  /** It is due again at once: not tried, or broken off. */
  readonly isReleased: boolean
}

export class EndpointQueues {
  private readonly queues = new Map<string, EndpointQueue>()
  /** Queues that may send, in turn. */
  private readonly ready: Array<EndpointQueue> = []
  private readonly failingDeliveries = new Set<ClaimedDelivery>()
  private held = 0
  private sending = 0
  private unwritten = 0

  /** Rows that may be claimed once `ended` more are written; 0 where it is better to wait for results. */
  freeSlots(ended = 0): number {
    const free = maximumHeld - this.held + ended
    return free < minimumFreeSlots ? 0 : free
  }

  /** Of them, those of failing endpoints. */
  freeFailingSlots(): number {
    return maximumFailingInFlight - this.failingDeliveries.size
  }

  /** Endpoints that can take nothing now. */
  fullEndpoints(): ReadonlyArray<string> {
    return [...this.queues.values()].filter((queue) => queue.heldIds.size >= capacityOf(queue))
      .map(({ endpointId }) => endpointId)
  }

  /** Whether an endpoint with rows waiting can take some now; if not, it is refilled later. */
  canClaim(endpointId: string): boolean {
    const queue = this.queues.get(endpointId)
    if (queue === undefined || queue.heldIds.size < capacityOf(queue)) return true
    queue.hasMore = true
    return false
  }

  /**
   * What to claim of: `endpoints`, and those that need more once `ended` is written, as they are then. Full ones are
   * left out, and refilled later.
   */
  wanted(
    endpoints: ReadonlyArray<EndpointKey>,
    ended: ReadonlyArray<FinishedDelivery>
  ): ReadonlyArray<WantedEndpoint> {
    const endedIds = new Set(ended.map(({ delivery }) => delivery.id))
    const byId = new Map(endpoints.map((key) => [key.endpointId, key]))
    for (const [endpointId, theirs] of Map.groupBy(ended, ({ delivery }) => delivery.endpoint.endpointId)) {
      const queue = this.queues.get(endpointId)
      if (queue === undefined) continue
      queue.hasMore ||= theirs.some(({ isReleased }) => isReleased)
      if (needsRefill(queue, queue.heldIds.size - theirs.length)) byId.set(endpointId, queue)
    }
    return [...byId.values()].flatMap(({ endpointId, merchantId }) => {
      const queue = this.queues.get(endpointId)
      if (queue === undefined) return [{ endpointId, merchantId, held: [] }]
      const held = [...queue.heldIds].filter((id) => !endedIds.has(id))
      queue.hasMore = held.length >= capacityOf(queue)
      return queue.hasMore ? [] : [{ endpointId, merchantId, held }]
    })
  }

  /** Takes what was claimed; it may be sent until `sendByMillis`. */
  add(deliveries: ReadonlyArray<ClaimedDelivery>, sendByMillis: number): void {
    for (const each of deliveries) {
      const queue = this.queueOf(each)
      addClaimed(queue, each, sendByMillis)
      this.held++
      if (each.endpoint.isFailing) this.failingDeliveries.add(each)
      this.markReady(queue)
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
    return nowMillis > sendByMillis || delivery.endpoint.token !== token
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
    const byEndpoint = Map.groupBy(results, ({ delivery }) => delivery.endpoint.endpointId)
    return [...byEndpoint].map(([id, ended]) => ({ queue: this.queues.get(id)!, ended: ended.length }))
      .filter(({ ended, queue }) => queue.heldIds.size === ended)
      .map(({ queue }) => leaseOf(queue))
  }

  /** Whether nothing is on its way. */
  isIdle(): boolean {
    return this.sending === 0
  }

  /** A result was written; answers its endpoint if rows of it may wait in the database, and are to be claimed. */
  markWritten({ delivery, isReleased, wasSent }: FinishedDelivery): EndpointKey | undefined {
    const queue = this.queueOf(delivery)
    queue.hasMore ||= isReleased
    this.held--
    if (wasSent) this.unwritten--
    this.failingDeliveries.delete(delivery)
    const isLow = removeWritten(queue, delivery)
    if (isLow) queue.hasMore = false
    if (queue.heldIds.size === 0) this.queues.delete(queue.endpointId)
    return isLow ? queue : undefined
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
    const { endpoint } = delivery
    const current = this.queues.get(endpoint.endpointId)
    if (current !== undefined) return current
    const queue = emptyQueue(endpoint)
    this.queues.set(endpoint.endpointId, queue)
    return queue
  }
}
