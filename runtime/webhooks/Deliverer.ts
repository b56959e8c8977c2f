/**
 * Sends what commits queued. Rows are the truth: a commit wakes the claim at once, a scan every second finds what a
 * wake-up missed, and a lease that ends gives a dead instance's work to the next. Nothing waits in memory alone.
 *
 *   ClaimSchedule      when the next claim is made, and of which deliveries (pure)
 *   EndpointQueues     the deliveries that were claimed, by endpoint, and which of them may be sent now
 *   DeliverySender     signs and sends one attempt
 *   DeliveryRecorder   takes the outcome of each attempt; DeliveryResults says which rows it makes (pure)
 *   ResultWriter       commits those rows
 */
import { Clock, Effect, FiberSet, Latch, Layer, MutableRef, Random, Schedule, type Scope, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { monotonicMillis } from "../Clock.ts"
import type { Commit } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { initializeSeries } from "../Telemetry.ts"
import { type Transport, Webhooks } from "../Webhooks.ts"
import { initialSchedule, pauseMillis, planClaim, scanMillis } from "./ClaimSchedule.ts"
import { attemptCounts, type DelivererContext, releaseWaiting, reschedule, sendReady } from "./DeliveryRecorder.ts"
import { makeSender } from "./DeliverySender.ts"
import { EndpointQueues, type FinishedDelivery } from "./EndpointQueues.ts"
import { claim, extendLeases, markDelivering, sendWithinMillis } from "./DeliveryRepo.ts"
import { makeResultWriter } from "./ResultWriter.ts"
import { makeTransports } from "./Transports.ts"

export { attemptTimeoutMillis } from "./DeliverySender.ts"

/** How long before its end a lease is renewed: several looks, should the database not answer one. */
const renewMillis = 8_000

/** What a stop waits for attempts under way; the whole process has 10 s. The rest is given back to the queue. */
const defaultDrainMillis = 8_000

/** Results were written: their merchants may have more to send. */
const onWritten = (deliverer: DelivererContext, finished: ReadonlyArray<FinishedDelivery>): void => {
  const needsRefill: Array<number> = []
  for (const each of finished) {
    const merchantId = deliverer.queues.markWritten(each)
    if (merchantId !== undefined) needsRefill.push(merchantId)
  }
  const written = finished.map(({ delivery }) => delivery.merchantId)
  reschedule(deliverer, { _tag: "ResultsWritten", written, needsRefill })
  sendReady(deliverer)
  deliverer.wake.openUnsafe()
}

/** `run` starts what a stop waits for. */
const makeContext = Effect.fnUntraced(function*(run: DelivererContext["run"]) {
  const transports = makeTransports()
  const queues = new EndpointQueues()
  const context: DelivererContext = {
    holder: randomUUID(),
    clock: yield* Clock.Clock,
    random: yield* Random.Random,
    services: yield* Effect.context<never>(),
    settings: yield* Settings,
    transports,
    send: makeSender(yield* Secrets, transports),
    queues,
    schedule: MutableRef.make(initialSchedule),
    wake: yield* Latch.make(),
    run,
    results: yield* makeResultWriter({
      isIdle: () => queues.isIdle(),
      onWriteStart: () => reschedule(context, { _tag: "WritingStarted" }),
      leasesToRelease: (results) => queues.leasesToRelease(results),
      onWritten: (finished) => onWritten(context, finished)
    })
  }
  return context
})

/** One claim, if it is time. Answers how long to wait: milliseconds. */
const claimNext = Effect.fnUntraced(function*(deliverer: DelivererContext) {
  const { holder, queues, schedule, transports } = deliverer
  const nowMillis = yield* Clock.currentTimeMillis
  const slots = queues.freeSlots()
  const plan = planClaim(MutableRef.get(schedule), { nowMillis, slots, canSend: !transports.isEmpty() })
  if (plan._tag === "Wait") return plan.millis
  const { merchants } = plan
  reschedule(deliverer, { _tag: "ClaimStarted", merchants, nowMillis })
  const claimStartedAt = yield* monotonicMillis
  const deliveries = yield* Effect.ensuring(
    claim({ holder, merchants, slots, failingSlots: queues.freeFailingSlots(), ...queues.heldDeliveries(merchants) }),
    Effect.sync(() => reschedule(deliverer, { _tag: "ClaimEnded" }))
  )
  reschedule(deliverer, { _tag: "RowsClaimed", found: deliveries.length, slots, isScan: merchants === null })
  queues.add(deliveries, merchants, claimStartedAt + sendWithinMillis)
  const { stops } = MutableRef.get(schedule)
  if (stops === 0) sendReady(deliverer)
  return 0
})

/** Claims for ever. `oneClaim`: a stop waits for the claim under way. */
const keepClaiming = (deliverer: DelivererContext, oneClaim: Semaphore.Semaphore) => {
  const { schedule, wake } = deliverer
  const claimOnce = Effect.suspend(() => claimNext(deliverer)).pipe(
    Effect.uninterruptible,
    oneClaim.withPermits(1),
    Effect.catch((error) => Effect.as(Effect.logWarning("webhook claim failed, trying again", error), scanMillis))
  )
  return Effect.forever(Effect.gen(function*() {
    wake.closeUnsafe()
    const millis = yield* claimOnce
    if (millis > 0) return yield* Effect.asVoid(Effect.timeoutOption(wake.await, millis))
    const pause = pauseMillis(MutableRef.get(schedule))
    if (pause > 0) yield* Effect.sleep(pause)
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

const make = (drainMillis: number) =>
  Effect.gen(function*() {
    yield* Effect.forEach(Object.values(attemptCounts), (series) => initializeSeries(series), { discard: true })
    const sql = yield* SqlClient.SqlClient
    const bus = yield* EventBus
    const oneClaim = yield* Semaphore.make(1)
    const fibers = yield* FiberSet.make()
    const runFiber = yield* FiberSet.runtime(fibers)()
    const deliverer = yield* makeContext((effect) => void runFiber(effect))
    const { queues, transports, wake } = deliverer

    /** What was not sent goes back at once, what is on its way gets its time; then all of it is written. */
    const drain = oneClaim.withPermits(1)(Effect.suspend(() => {
      releaseWaiting(deliverer, queues.releaseWaiting())
      return FiberSet.awaitEmpty(fibers).pipe(
        Effect.timeoutOption(drainMillis),
        Effect.andThen(FiberSet.clear(fibers)),
        Effect.andThen(deliverer.results.flush)
      )
    }))
    const halt = Effect.andThen(Effect.sync(() => reschedule(deliverer, { _tag: "StopStarted" })), drain)

    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    yield* Effect.forkScoped(withSql(keepClaiming(deliverer, oneClaim)))
    yield* Effect.forkScoped(withSql(keepRenewing(deliverer)))
    yield* bus.subscribe("webhooks", (events) =>
      Effect.sync(() => {
        const merchantIds = events.filter(({ pendingWebhooks }) => pendingWebhooks > 0)
          .map(({ merchantId }) => merchantId)
        reschedule(deliverer, { _tag: "MerchantsWoken", merchantIds })
        if (MutableRef.get(deliverer.schedule).woken.size > 0) wake.openUnsafe()
      }))
    yield* Effect.addFinalizer(() => halt)

    return Webhooks.of({
      register: register(deliverer, halt),
      checkUrl: transports.check,
      drain: halt,
      wake: (merchantId) =>
        Effect.sync(() => {
          releaseWaiting(deliverer, queues.releaseWaiting(merchantId))
          reschedule(deliverer, { _tag: "MerchantsWoken", merchantIds: [merchantId] })
          wake.openUnsafe()
        })
    })
  })

/** As {@link layer}, with its own patience for attempts under way at a stop, in milliseconds. */
export const layerWith = (options: { readonly drainMillis: number }): Layer.Layer<
  Webhooks,
  never,
  Settings | Secrets | Commit | EventBus | SqlClient.SqlClient
> => Layer.effect(Webhooks, make(options.drainMillis))

/** Deliveries of this instance. */
export const layer = layerWith({ drainMillis: defaultDrainMillis })
