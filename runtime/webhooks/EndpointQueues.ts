/**
 * What this instance has claimed: a queue for each endpoint, rows that wait in it and rows that are on their way.
 * Claiming ahead saves a round trip for each delivery; the limits of sending are kept here, and as one instance leases
 * an endpoint at a time, they hold over all of them. No effects.
 *
 * A row is held from its claim until its result is written; it has a place from its sending until its answer. Endpoints
 * that answer well and quickly have places of their own (`Places.ts`). An endpoint that becomes slow takes the attempts
 * under way with it to the places of the others, and gives back what waits. What is answered and not written is what a
 * kill repeats, so that is bounded too.
 */
import type { AttemptOutcome } from "./RetryPolicy.ts"
import type { WantedEndpoint } from "./DeliveryExchange.ts"
import {
  type ClaimedDelivery,
  type EndpointKey,
  type EndpointLease,
  maximumFailingInFlight,
  maximumMovedInFlight,
  maximumOtherInFlight,
  maximumQuickInFlight,
  slowMillis
} from "./DeliveryRepo.ts"
import {
  addClaimed,
  type AttemptInFlight,
  canSend,
  capacityOf,
  emptyQueue,
  type EndpointQueue,
  isQuick,
  isTakingLong,
  leaseOf,
  needsRefill,
  recordOutcome,
  removeWritten,
  takePending
} from "./EndpointQueue.ts"
import { type FreeSlots, freeSlotsOf, makePlaces, type Places } from "./Places.ts"

/** Rows of quick endpoints that an instance holds, one to two megabytes of events. */
export const maximumHeld = 1_024

/** Rows of all other endpoints that it holds. */
export const maximumOtherHeld = 2 * maximumOtherInFlight

/**
 * Rows of quick endpoints on their way, and of all endpoints answered and not written, from which on nothing is sent:
 * two batches of results. Only answers of others that are on their way by then can add to it.
 */
export const maximumUnwritten = 2 * maximumQuickInFlight

/** A result that is about to be written. */
export interface FinishedDelivery {
  readonly delivery: ClaimedDelivery
  /** It took a slot; else it was given back before. */
  readonly wasSent: boolean
  /** It is due again at once: not tried, or broken off. */
  readonly isReleased: boolean
}

/** Whether nothing may be claimed of an endpoint while it has `held` rows, and there are slots for others. */
const isFull = (queue: EndpointQueue, held: number, otherSlots: number): boolean =>
  held >= capacityOf(queue) || !isQuick(queue) && otherSlots === 0

export class EndpointQueues {
  private readonly queues = new Map<string, EndpointQueue>()
  private readonly quick = makePlaces({ maximumInFlight: maximumQuickInFlight, maximumHeld })
  private readonly others = makePlaces({ maximumInFlight: maximumOtherInFlight, maximumHeld: maximumOtherHeld })
  private readonly failingDeliveries = new Set<ClaimedDelivery>()
  private answered = 0

  /** Rows that may be claimed once `ended` is written; 0 where it is better to wait for results. */
  freeSlots(ended: ReadonlyArray<FinishedDelivery> = []): FreeSlots {
    const endedQuick = ended.filter(({ delivery }) => isQuick(this.queues.get(delivery.endpoint.endpointId)!)).length
    return {
      slots: freeSlotsOf(this.quick, endedQuick),
      otherSlots: freeSlotsOf(this.others, ended.length - endedQuick),
      failingSlots: maximumFailingInFlight - this.failingDeliveries.size
    }
  }

  /** Endpoints that can take nothing now. */
  fullEndpoints(): ReadonlyArray<string> {
    const { otherSlots } = this.freeSlots()
    return [...this.queues.values()].filter((queue) => isFull(queue, queue.heldIds.size, otherSlots))
      .map(({ endpointId }) => endpointId)
  }

  /** Whether an endpoint with rows waiting can take some now; if not, it is refilled later. */
  canClaim(endpointId: string): boolean {
    const queue = this.queues.get(endpointId)
    if (queue === undefined || !isFull(queue, queue.heldIds.size, this.freeSlots().otherSlots)) return true
    queue.hasMore = true
    return false
  }

  /**
   * What to claim of: `endpoints`, and those that need more once `ended` is written, as they are then. Full ones are
   * left out, and refilled later. Where the room is not enough for all, those that hold least come first.
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
    const { otherSlots } = this.freeSlots(ended)
    return [...byId.values()].flatMap(({ endpointId, merchantId }) => {
      const queue = this.queues.get(endpointId)
      if (queue === undefined) return [{ endpointId, merchantId, held: [], isSlow: false }]
      const held = [...queue.heldIds].filter((id) => !endedIds.has(id))
      queue.hasMore = isFull(queue, held.length, otherSlots)
      return queue.hasMore ? [] : [{ endpointId, merchantId, held, isSlow: queue.isSlow }]
    }).toSorted((a, b) => a.held.length - b.held.length)
  }

  /** Takes what was claimed; it may be sent until `sendByMillis`. */
  add(deliveries: ReadonlyArray<ClaimedDelivery>, sendByMillis: number): void {
    for (const each of deliveries) {
      const queue = this.queueOf(each)
      this.setKind(queue, each.endpoint.health, queue.isSlow)
      addClaimed(queue, each, sendByMillis)
      this.placesOf(queue).held++
      if (each.endpoint.health === "failing") this.failingDeliveries.add(each)
      this.markReady(queue)
    }
  }

  /** The next row to send, endpoints in turn, quick ones first; undefined where none may be sent now. */
  next(nowMillis: number): ClaimedDelivery | undefined {
    if (this.quick.inFlight + this.answered >= maximumUnwritten) return undefined
    return this.nextOf(this.quick, nowMillis) ?? this.nextOf(this.others, nowMillis)
  }

  /**
   * Whether the queue of a row may be another instance's by now, or was meanwhile: the process stood still for long.
   */
  isLate(delivery: ClaimedDelivery, nowMillis: number): boolean {
    const { sendByMillis, token } = this.queueOf(delivery)
    return nowMillis > sendByMillis || delivery.endpoint.token !== token
  }

  /**
   * A row was answered, or given up with null. Unless it succeeded, and quickly, the rest of its queue is taken out and
   * returned, to be released unsent.
   */
  finish(delivery: ClaimedDelivery, outcome: AttemptOutcome | null, nowMillis: number): ReadonlyArray<ClaimedDelivery> {
    const queue = this.queueOf(delivery)
    const attempt = queue.inFlight.get(delivery)
    let rest: ReadonlyArray<ClaimedDelivery> = []
    if (attempt !== undefined) {
      queue.inFlight.delete(delivery)
      this.placesOfAttempt(attempt).inFlight--
      this.answered++
      if (outcome !== null) {
        const isSlow = nowMillis - attempt.sentMillis > slowMillis || isTakingLong(queue, nowMillis)
        if (isSlow) rest = this.slowDown(queue)
        else this.setKind(queue, queue.health, false)
      }
    }
    recordOutcome(queue, delivery, outcome)
    if (outcome !== "succeeded") rest = [...rest, ...takePending(queue)]
    this.markReady(queue)
    return rest
  }

  /** Endpoints of which an attempt is taking long become slow; what waits of them is returned, to be released unsent. */
  moveSlow(nowMillis: number): ReadonlyArray<ClaimedDelivery> {
    return [...this.queues.values()].filter((queue) => isTakingLong(queue, nowMillis))
      .flatMap((queue) => this.slowDown(queue))
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
    return this.quick.inFlight + this.others.inFlight === 0
  }

  /** A result was written; answers its endpoint if rows of it may wait in the database, and are to be claimed. */
  markWritten({ delivery, isReleased, wasSent }: FinishedDelivery): EndpointKey | undefined {
    const queue = this.queueOf(delivery)
    queue.hasMore ||= isReleased
    this.placesOf(queue).held--
    if (wasSent) this.answered--
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
      [...inFlight].filter(([, { sentMillis }]) => sentMillis >= fromMillis && sentMillis < toMillis)
        .map(([claimed]) => claimed)
    )
  }

  private nextOf(places: Places, nowMillis: number): ClaimedDelivery | undefined {
    if (places.inFlight >= places.maximumInFlight) return undefined
    const queue = places.ready.shift()
    if (queue === undefined) return undefined
    queue.isReady = false
    const delivery = queue.pending.shift()
    if (delivery === undefined) return this.nextOf(places, nowMillis)
    queue.inFlight.set(delivery, { sentMillis: nowMillis, hasQuickPlace: places === this.quick })
    places.inFlight++
    this.markReady(queue)
    return delivery
  }

  private markReady(queue: EndpointQueue): void {
    if (queue.isReady || !canSend(queue)) return
    queue.isReady = true
    this.placesOf(queue).ready.push(queue)
  }

  /** Where rows of an endpoint wait for a place, and are counted while they are held. */
  private placesOf(queue: EndpointQueue): Places {
    return isQuick(queue) ? this.quick : this.others
  }

  private placesOfAttempt({ hasQuickPlace }: AttemptInFlight): Places {
    return hasQuickPlace ? this.quick : this.others
  }

  /** Its attempts under way leave the places of quick endpoints; answers what waits, when it was not slow before. */
  private slowDown(queue: EndpointQueue): ReadonlyArray<ClaimedDelivery> {
    const rest = queue.isSlow ? [] : takePending(queue)
    this.setKind(queue, queue.health, true)
    for (const attempt of queue.inFlight.values()) {
      if (!attempt.hasQuickPlace || this.others.inFlight >= maximumMovedInFlight) continue
      attempt.hasQuickPlace = false
      this.quick.inFlight--
      this.others.inFlight++
    }
    return rest
  }

  /**
   * Counts an endpoint among those that it is one of from now on. Attempts under way of one that is quick again keep
   * their places: so the quick never have more than theirs.
   */
  private setKind(queue: EndpointQueue, health: EndpointQueue["health"], isSlow: boolean): void {
    const before = this.placesOf(queue)
    queue.health = health
    queue.isSlow = isSlow
    const places = this.placesOf(queue)
    if (places === before) return
    before.held -= queue.heldIds.size
    places.held += queue.heldIds.size
    if (!queue.isReady) return
    before.ready.splice(before.ready.indexOf(queue), 1)
    places.ready.push(queue)
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
