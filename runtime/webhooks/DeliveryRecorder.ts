/** One delivery from its sending to its result. Few steps: every delivery takes them. */
import {
  Cause,
  type Clock,
  type Context,
  Effect,
  type Latch,
  Metric,
  MutableRef,
  type Random,
  type Scope
} from "effect"
import type { Settings } from "../Settings.ts"
import { type AttemptOutcome, type Outcome } from "./RetryPolicy.ts"
import { type ClaimSchedule, type ClaimTarget, type ScheduleEvent, step } from "./ClaimSchedule.ts"
import { attemptLimitOf, attemptResult, outcomeOfAnswer, outcomeOfFailure, releaseResult } from "./DeliveryResults.ts"
import type { DeliverySender } from "./DeliverySender.ts"
import type { makeDueSpan } from "./DueSpan.ts"
import type { EndpointQueues } from "./EndpointQueues.ts"
import type { ClaimedDelivery } from "./DeliveryRepo.ts"
import type { Formats } from "./Formats.ts"
import type { makeHealthWriter } from "./HealthWriter.ts"
import type { QueuedResult, ResultBuffer } from "./ResultBuffer.ts"
import type { Transports } from "./Transports.ts"

const attempts = Metric.counter("webhook_deliveries_total", { description: "Webhook attempts", incremental: true })

/** Upper bounds in seconds: to the 10 s after which an attempt has failed. */
const attemptDurations = Metric.histogram("webhook_attempt_duration_seconds", {
  description: "Seconds from the beginning of a webhook attempt to its answer, or to its failure",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** What came of each attempt: `succeeded`, `retrying`, `failed`, or `pending` where the fault was ours. */
export const attemptCounts = {
  succeeded: Metric.withAttributes(attempts, { outcome: "succeeded" }),
  retrying: Metric.withAttributes(attempts, { outcome: "retrying" }),
  failed: Metric.withAttributes(attempts, { outcome: "failed" }),
  pending: Metric.withAttributes(attempts, { outcome: "pending" })
} as const

/** What the parts of the deliverer share. */
export interface DelivererContext {
  readonly holder: string
  readonly clock: Clock.Clock
  readonly random: (typeof Random.Random)["Service"]
  /** For metrics that are counted outside of effects. */
  readonly services: Context.Context<never>
  /** That of the deliverer. */
  readonly scope: Scope.Scope
  readonly settings: Settings["Service"]
  readonly transports: Transports
  readonly formats: Formats
  readonly send: DeliverySender
  readonly queues: EndpointQueues
  readonly results: ResultBuffer
  /** Where all that is due lies. */
  readonly dueSpan: Effect.Success<typeof makeDueSpan>
  readonly health: Effect.Success<typeof makeHealthWriter>
  /** Changed by {@link reschedule} only. */
  readonly schedule: MutableRef.MutableRef<ClaimSchedule>
  /** Opens when a claim may find something, or results may be due. */
  readonly wake: Latch.Latch
  /** Starts a delivery that a stop waits for. */
  readonly run: (effect: Effect.Effect<void>) => void
}

/** Takes an event into the schedule of claims. */
export const reschedule = ({ schedule }: Pick<DelivererContext, "schedule">, event: ScheduleEvent): void => {
  MutableRef.set(schedule, step(MutableRef.get(schedule), event))
}

/** Monotonic milliseconds, as queues and schedule count. */
export const monotonicNow = ({ clock }: Pick<DelivererContext, "clock">): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Rows of `targets` may wait: claims of those that can take some, once a full one has room. */
export const wakeTargets = (deliverer: DelivererContext, targets: ReadonlyArray<ClaimTarget>): void => {
  const claimable = targets.filter(({ endpointId }) => endpointId === null || deliverer.queues.canClaim(endpointId))
  if (claimable.length === 0) return
  reschedule(deliverer, { _tag: "TargetsWoken", targets: claimable, nowMillis: monotonicNow(deliverer) })
  deliverer.wake.openUnsafe()
}

/** Has a result written soon. */
const putResult = (deliverer: DelivererContext, result: QueuedResult): void => {
  const { queues, results, wake } = deliverer
  if (results.put(result, monotonicNow(deliverer)) || queues.isIdle()) wake.openUnsafe()
}

/** Released as it was claimed: not tried, nothing spent. */
const putBack = (deliverer: DelivererContext, delivery: ClaimedDelivery, wasSent: boolean): void =>
  putResult(deliverer, { wasSent, result: releaseResult(delivery) })

/** Gives rows back that were not sent. */
export const releaseWaiting = (deliverer: DelivererContext, rows: ReadonlyArray<ClaimedDelivery>): void => {
  for (const delivery of rows) putBack(deliverer, delivery, false)
}

/** A row that was sent is over: its place is free, and but after a success what waits behind it is given back. */
const onFinished = (deliverer: DelivererContext, delivery: ClaimedDelivery, outcome: AttemptOutcome | null): void => {
  releaseWaiting(deliverer, deliverer.queues.finish(delivery, outcome, monotonicNow(deliverer)))
  if (outcome !== "succeeded") wakeTargets(deliverer, [delivery.endpoint])
}

/** A stop gives the row back at once: what it had spent stays spent, this attempt does not count. */
const release = (deliverer: DelivererContext, delivery: ClaimedDelivery): void => {
  onFinished(deliverer, delivery, null)
  putBack(deliverer, delivery, true)
}

/** Writes down how an attempt finished. */
const recordOutcome = (
  deliverer: DelivererContext,
  delivery: ClaimedDelivery,
  outcome: Outcome,
  startedMillis: number
): Effect.Effect<void> => {
  const { clock, health, queues, random, services, settings } = deliverer
  const now = clock.currentTimeMillisUnsafe()
  const { isGone, result } = attemptResult(delivery, outcome, {
    latencyMillis: now - startedMillis,
    random: random.nextDoubleUnsafe(),
    settings: settings.webhooks
  })
  const finish = (): void => {
    onFinished(deliverer, delivery, result.outcome)
    putResult(deliverer, { result, wasSent: true })
    sendReady(deliverer)
  }
  attemptCounts[result.status].updateUnsafe(1, services)
  attemptDurations.updateUnsafe((now - startedMillis) / 1_000, services)
  if (isGone) {
    // Nothing is sent meanwhile.
    const rest = queues.finish(delivery, result.outcome, monotonicNow(deliverer))
    return Effect.andThen(
      health.disable(delivery.endpoint, "gone", delivery),
      Effect.sync(() => {
        releaseWaiting(deliverer, rest)
        finish()
      })
    )
  }
  finish()
  if (result.status !== "failed") return Effect.void
  const reason = result.error ?? `HTTP ${result.answerStatus}`
  return Effect.logInfo(
    `webhook whd_${delivery.id} failed after ${result.attempts}/${attemptLimitOf(delivery)}: ${reason}`
  )
}

const recordDefect = (
  deliverer: DelivererContext,
  delivery: ClaimedDelivery,
  cause: Cause.Cause<unknown>,
  startedMillis: number
) =>
  Effect.andThen(
    Effect.logError("a webhook transport failed in an unforeseen way", cause),
    Effect.suspend(() => recordOutcome(deliverer, delivery, { _tag: "OwnFault", reason: "defect" }, startedMillis))
  )

const deliver = (deliverer: DelivererContext, delivery: ClaimedDelivery): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const { clock, send } = deliverer
    const startedMillis = clock.currentTimeMillisUnsafe()
    return Effect.flatMap(Effect.exit(restore(Effect.suspend(() => send(delivery, startedMillis)))), (exit) => {
      if (exit._tag === "Success") {
        return recordOutcome(
          deliverer,
          delivery,
          outcomeOfAnswer(exit.value, clock.currentTimeMillisUnsafe()),
          startedMillis
        )
      }
      if (Cause.hasInterruptsOnly(exit.cause)) return Effect.sync(() => release(deliverer, delivery))
      const failure = Cause.findErrorOption(exit.cause)
      return failure._tag === "Some"
        ? recordOutcome(deliverer, delivery, outcomeOfFailure(failure.value), startedMillis)
        : recordDefect(deliverer, delivery, exit.cause, startedMillis)
    })
  })

/** Sends what may be sent now. */
export const sendReady = (deliverer: DelivererContext): void => {
  const { queues, run } = deliverer
  const now = monotonicNow(deliverer)
  for (let delivery = queues.next(now); delivery !== undefined; delivery = queues.next(now)) {
    if (queues.isLate(delivery, now)) release(deliverer, delivery)
    else run(deliver(deliverer, delivery))
  }
}
