/**
 * Sends what commits queued. Rows are the truth: a commit wakes the claim at once, a look every second finds what a
 * wake-up missed, and a lease that ends gives a dead instance's work to the next. Nothing waits in memory alone.
 *
 *   ClaimSchedule      what is claimed next, and when somebody has to look (pure)
 *   EndpointQueues     the deliveries that were claimed, by endpoint, and which of them may be sent now; endpoints that
 *                      answer quickly have places of their own (Places)
 *   DeliverySender     signs and sends one attempt
 *   DeliveryRecorder   takes the outcome of each attempt; DeliveryResults says which rows it makes (pure)
 *   ResultBuffer       keeps those until there are enough to write
 *   DeliveryExchange   writes them and claims the next deliveries, in one call
 *   HealthWriter       writes what they say of their endpoints
 */
import { Clock, Effect, FiberSet, Latch, Layer, MutableRef, Random, Schedule, type Scope, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import { uuidV4 } from "../Uuid.ts"
import type { Commit, CommittedEvent } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import type { Notices } from "../Notices.ts"
import { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { initializeSeries } from "../Telemetry.ts"
import { Traces } from "../telemetry/Traces.ts"
import { type Transport, Webhooks } from "../Webhooks.ts"
import { type ClaimTarget, initialSchedule, planClaim, scanMillis, wakeDelayed } from "./ClaimSchedule.ts"
import { type ClaimRequest, exchange, findWaiting } from "./DeliveryExchange.ts"
import {
  attemptCounts,
  type DelivererContext,
  monotonicNow,
  releaseWaiting,
  reschedule,
  sendReady,
  wakeTargets
} from "./DeliveryRecorder.ts"
import { makeSender } from "./DeliverySender.ts"
import { makeFormats } from "./Formats.ts"
import { allTime, type DueSpan, makeDueSpan } from "./DueSpan.ts"
import { isQuick } from "./EndpointQueue.ts"
import { EndpointQueues, type FinishedDelivery } from "./EndpointQueues.ts"
import {
  type EndpointKey,
  extendLeases,
  leaseSeconds,
  markDelivering,
  sendWithinMillis,
  slowMillis
} from "./DeliveryRepo.ts"
import { makeHealthWriter } from "./HealthWriter.ts"
import { type QueuedResult, ResultBuffer } from "./ResultBuffer.ts"
import { makeTransports } from "./Transports.ts"

export { attemptTimeoutMillis } from "./DeliverySender.ts"

/** How long before its end a lease is renewed: several looks, should the database not answer one. */
const renewMillis = 8_000

/** What a stop waits for attempts under way; the whole process has 10 s. The rest is given back to the queue. */
const defaultDrainMillis = 8_000

/** How results are tried again that could not be written: 3 s in all, for a database that restarts or fails over. */
const retrySchedule = { schedule: Schedule.exponential("100 millis"), times: 5 }

/** `run` starts what a stop waits for. */
const makeContext = Effect.fnUntraced(function*(run: DelivererContext["run"]) {
  const transports = makeTransports()
  const formats = makeFormats()
  const context: DelivererContext = {
    holder: yield* uuidV4,
    clock: yield* Clock.Clock,
    random: yield* Random.Random,
    services: yield* Effect.context<never>(),
    scope: yield* Effect.scope,
    settings: yield* Settings,
    transports,
    formats,
    send: makeSender(yield* Secrets, transports, formats, yield* Traces),
    queues: new EndpointQueues(),
    schedule: MutableRef.make(initialSchedule),
    wake: yield* Latch.make(),
    run,
    results: new ResultBuffer(),
    dueSpan: yield* makeDueSpan,
    health: yield* makeHealthWriter
  }
  return context
})

/** A result as the queues of endpoints take it. */
const finishedOf = ({ result: { delivery, dueInMillis }, wasSent }: QueuedResult): FinishedDelivery => ({
  delivery,
  wasSent,
  isReleased: dueInMillis === 0
})

/** Results are written, or never will be: their places are free, and what they made room for may be claimed. */
const onWritten = (deliverer: DelivererContext, batch: ReadonlyArray<QueuedResult>): void => {
  const { queues } = deliverer
  const nowMillis = monotonicNow(deliverer)
  const targets: Array<ClaimTarget> = []
  for (const each of batch) {
    const { delivery: { endpoint: { endpointId, merchantId } }, dueInMillis } = each.result
    const target = { endpointId, merchantId }
    if (queues.markWritten(finishedOf(each)) !== undefined) targets.push(target)
    // By the database's clock it is due as long after the writing, which is over.
    if (dueInMillis !== null && dueInMillis > 0) {
      reschedule(deliverer, { _tag: "TargetDelayed", target, atMillis: nowMillis + dueInMillis + 1 })
    }
  }
  if (targets.length > 0) reschedule(deliverer, { _tag: "TargetsFreed", targets })
  deliverer.wake.openUnsafe()
}

/** What is claimed along with results, of `endpoints` and of those that need more by then; undefined: nothing. */
const claimOf = (
  { holder, queues }: DelivererContext,
  endpoints: ReadonlyArray<EndpointKey>,
  ended: ReadonlyArray<FinishedDelivery>,
  span: DueSpan
): ClaimRequest | undefined => {
  const free = queues.freeSlots(ended)
  const wanted = free.slots === 0 ? [] : queues.wanted(endpoints, ended)
  return wanted.length === 0 ? undefined : { holder, endpoints: wanted, free, span }
}

/** Writes a batch, again without the claim that failed with it, until it is written or given up. */
const writeAgain = (
  deliverer: DelivererContext,
  batch: ReadonlyArray<QueuedResult>,
  request: Parameters<typeof exchange>[0]
) =>
  exchange({ ...request, claim: undefined }).pipe(
    Effect.retry(retrySchedule),
    Effect.catchCause((cause) =>
      Effect.logError("webhook results not written, their deliveries are tried again when a lease is over", cause).pipe(
        // Let go of at once, they would be claimed and sent again at once. What was answered is repeated: at least
        // once.
        Effect.andThen(Effect.forkIn(
          Effect.delay(Effect.sync(() => onWritten(deliverer, batch)), leaseSeconds * 1000),
          deliverer.scope
        )),
        Effect.as(undefined)
      )
    )
  )

/**
 * Writes the results there are, and claims of `endpoints`, and of those that results make room for, in the same call;
 * with null nothing is claimed.
 */
const exchangeOnce = Effect.fnUntraced(function*(
  deliverer: DelivererContext,
  endpoints: ReadonlyArray<EndpointKey> | null
) {
  const { dueSpan, health, queues, results, schedule } = deliverer
  // Before anything is taken out of the buffer, because it may fail.
  const span = endpoints === null ? allTime : yield* dueSpan
  const batch = results.take()
  if (endpoints !== null) reschedule(deliverer, { _tag: "TargetsTaken", targets: endpoints })
  const ended = batch.map(finishedOf)
  const claim = endpoints === null ? undefined : claimOf(deliverer, endpoints, ended, span)
  if (batch.length === 0 && claim === undefined) return
  const released = queues.leasesToRelease(ended)
  const request = { results: batch.map(({ result }) => result), released, claim }
  const wanted = claim?.endpoints ?? []
  const startedAt = monotonicNow(deliverer)
  const onFailure = (error: SqlError.SqlError) => {
    for (const target of wanted) {
      reschedule(deliverer, { _tag: "TargetDelayed", target, atMillis: startedAt + scanMillis })
    }
    return batch.length === 0 ? Effect.fail(error) : writeAgain(deliverer, batch, request)
  }
  const answer = yield* Effect.catch(exchange(request), onFailure)
  if (answer === undefined) return
  const { deliveries, reports } = answer
  // First, because what was given back may have been claimed anew.
  onWritten(deliverer, batch)
  queues.add(deliveries, startedAt + sendWithinMillis)
  reschedule(deliverer, {
    _tag: "Claimed",
    endpoints: wanted,
    found: new Set(deliveries.map(({ endpoint }) => endpoint.endpointId)),
    usedAllSlots: claim !== undefined &&
      deliveries.filter(({ endpoint }) => isQuick(endpoint)).length === claim.free.slots,
    nowMillis: startedAt
  })
  if (MutableRef.get(schedule).stops === 0) sendReady(deliverer)
  if (reports.length === 0) return
  yield* health.apply(reports, released)
  const judged = new Set(reports.map(({ endpointId }) => endpointId))
  const targets = wanted.filter(({ endpointId }) => judged.has(endpointId))
  if (targets.length > 0) reschedule(deliverer, { _tag: "TargetsFreed", targets })
})

/** Looks which endpoints wait: of some merchants, or, with null, a page of all. */
const lookOnce = Effect.fnUntraced(function*(deliverer: DelivererContext, merchants: ReadonlyArray<number> | null) {
  const { dueSpan, holder, queues, schedule } = deliverer
  const span = yield* dueSpan
  const targets = (merchants ?? []).map((merchantId) => ({ merchantId, endpointId: null }))
  reschedule(deliverer, { _tag: "TargetsTaken", targets })
  const { endpoints, next } = yield* findWaiting({
    holder,
    merchants,
    after: MutableRef.get(schedule).scan.after,
    free: queues.freeSlots(),
    full: queues.fullEndpoints(),
    span
  })
  reschedule(deliverer, { _tag: "Looked", merchants, endpoints, next, nowMillis: monotonicNow(deliverer) })
})

/** Does what is due, if anything is. Answers how long to wait: milliseconds. */
const stepOnce = Effect.fnUntraced(function*(deliverer: DelivererContext) {
  const { queues, results, schedule, transports } = deliverer
  const nowMillis = monotonicNow(deliverer)
  const current = wakeDelayed(MutableRef.get(schedule), nowMillis)
  MutableRef.set(schedule, current)
  const canSend = !transports.isEmpty()
  const plan = planClaim(current, { nowMillis, slots: queues.freeSlots().slots, canSend })
  if (plan._tag === "Look") {
    yield* lookOnce(deliverer, plan.merchants)
    return 0
  }
  const resultsInMillis = results.dueInMillis(nowMillis, queues.isIdle())
  if (plan._tag === "Wait" && resultsInMillis > 0) return Math.min(plan.millis, resultsInMillis)
  yield* exchangeOnce(deliverer, current.stops > 0 || !canSend ? null : plan._tag === "Claim" ? plan.endpoints : [])
  return 0
})

/** Writes and claims for ever. `oneExchange`: a stop waits for the call under way. */
const keepExchanging = (deliverer: DelivererContext, oneExchange: Semaphore.Semaphore) => {
  const { wake } = deliverer
  const once = Effect.suspend(() => stepOnce(deliverer)).pipe(
    Effect.uninterruptible,
    oneExchange.withPermits(1),
    Effect.catch((error) => Effect.as(Effect.logWarning("webhook claim failed, trying again", error), scanMillis))
  )
  return Effect.forever(Effect.gen(function*() {
    wake.closeUnsafe()
    const millis = yield* once
    if (millis > 0) yield* Effect.timeoutOption(wake.await, millis)
  }))
}

/** Goes on with the queues it has before their leases end, and shows what is on its way for long. */
const keepRenewing = (deliverer: DelivererContext) => {
  const { holder, queues } = deliverer
  const shownAt = MutableRef.make(0)
  const renewLeases = Effect.gen(function*() {
    const now = yield* monotonicMillis
    const slow = queues.sentBetween(MutableRef.get(shownAt) - scanMillis, now - scanMillis)
    MutableRef.set(shownAt, now)
    if (slow.length > 0) yield* markDelivering(slow)
    const leases = queues.leasesExpiringBy(now + renewMillis)
    if (leases.length === 0) return
    const extendedIds = yield* extendLeases(holder, leases)
    releaseWaiting(deliverer, queues.extendLeases(leases, extendedIds, now + sendWithinMillis))
  }).pipe(Effect.catch((error) => Effect.logWarning("webhook queues not renewed, trying again", error)))
  return Effect.repeat(renewLeases, Schedule.spaced(scanMillis))
}

/**
 * Takes attempts that are taking long out of the places of quick endpoints, which others then get. It does not call the
 * database, so that a slow one keeps nobody waiting either.
 */
const keepMovingSlow = (deliverer: DelivererContext) =>
  Effect.repeat(
    Effect.sync(() => {
      releaseWaiting(deliverer, deliverer.queues.moveSlow(monotonicNow(deliverer)))
      if (MutableRef.get(deliverer.schedule).stops === 0) sendReady(deliverer)
    }),
    Schedule.spaced(slowMillis / 4)
  )

/** A transport, for as long as the scope lives. Attempts under way still use it, so it is removed after `halt`. */
const register =
  (deliverer: DelivererContext, halt: Effect.Effect<void>) =>
  (transport: Transport): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        deliverer.transports.add(transport)
        reschedule(deliverer, { _tag: "ScanRequested" })
        deliverer.wake.openUnsafe()
      }),
      () =>
        Effect.andThen(
          halt,
          Effect.sync(() => {
            deliverer.transports.remove(transport)
            reschedule(deliverer, { _tag: "StopEnded" })
          })
        )
    )

/** What an event may be claimed of: nothing where it has no deliveries. */
const targetsOf = (event: CommittedEvent): ReadonlyArray<ClaimTarget> => {
  const { merchantId, messageEndpoints = [], pendingWebhooks, webhookEndpoints } = event
  const ofMessages = messageEndpoints.map((endpointId) => ({ merchantId, endpointId }))
  if (pendingWebhooks === 0) return ofMessages
  const ofEvent = webhookEndpoints?.map((endpointId) => ({ merchantId, endpointId })) ??
    [{ merchantId, endpointId: null }]
  return [...ofEvent, ...ofMessages]
}

interface DelivererOptions {
  /** Patience for attempts under way at a stop, in milliseconds. */
  readonly drainMillis: number
  /** False where another process sends: then only URLs are checked here. */
  readonly sends: boolean
}

const make = ({ drainMillis, sends }: DelivererOptions) =>
  Effect.gen(function*() {
    yield* Effect.forEach(Object.values(attemptCounts), (series) => initializeSeries(series), { discard: true })
    const sql = yield* SqlClient.SqlClient
    const bus = yield* EventBus
    const oneExchange = yield* Semaphore.make(1)
    const fibers = yield* FiberSet.make()
    const runFiber = yield* FiberSet.runtime(fibers)()
    const deliverer = yield* makeContext((effect) => void runFiber(effect))
    const { queues, transports } = deliverer
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    /** What was not sent goes back at once, what is on its way gets its time; then all of it is written. */
    const drain = Effect.gen(function*() {
      // What the call under way claims is given back too.
      yield* oneExchange.withPermits(1)(Effect.void)
      releaseWaiting(deliverer, queues.releaseWaiting())
      yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), drainMillis)
      yield* FiberSet.clear(fibers)
      yield* oneExchange.withPermits(1)(Effect.uninterruptible(exchangeOnce(deliverer, null)))
    }).pipe(
      withSql,
      Effect.catch((error) => Effect.logWarning("webhook results not written at the stop", error))
    )
    const halt = Effect.andThen(Effect.sync(() => reschedule(deliverer, { _tag: "StopStarted" })), drain)

    if (sends) {
      yield* Effect.forkScoped(withSql(keepExchanging(deliverer, oneExchange)))
      yield* Effect.forkScoped(withSql(keepRenewing(deliverer)))
      yield* Effect.forkScoped(keepMovingSlow(deliverer))
      yield* bus.subscribe("webhooks", (events) => Effect.sync(() => wakeTargets(deliverer, events.flatMap(targetsOf))))
    }
    yield* Effect.addFinalizer(() => halt)

    return Webhooks.of({
      register: register(deliverer, halt),
      registerFormat: deliverer.formats.register,
      checkUrl: transports.check,
      drain: halt,
      wake: (merchantId) =>
        Effect.sync(() => {
          releaseWaiting(deliverer, queues.releaseWaiting(merchantId))
          reschedule(deliverer, { _tag: "TargetsFreed", targets: [{ merchantId, endpointId: null }] })
          deliverer.wake.openUnsafe()
        })
    })
  })

/** As {@link layer}, with options of its own. */
export const layerWith = (options: Partial<DelivererOptions>): Layer.Layer<
  Webhooks,
  never,
  Settings | Secrets | Commit | EventBus | Notices | SqlClient.SqlClient
> => Layer.effect(Webhooks, make({ drainMillis: defaultDrainMillis, sends: true, ...options }))

/** Deliveries of this instance. */
export const layer = layerWith({})
