/** One delivery from its sending to its result. Few steps: every delivery takes them. */
import { Cause, type Clock, type Context, Effect, type Latch, Metric, MutableRef, type Random } from "effect"
import type { Settings } from "../Settings.ts"
import { type AttemptOutcome, maximumAttempts, type Outcome } from "./RetryPolicy.ts"
import { type ClaimSchedule, type ScheduleEvent, step } from "./ClaimSchedule.ts"
import { attemptResult, outcomeOfAnswer, outcomeOfFailure, releaseResult } from "./DeliveryResults.ts"
import type { DeliverySender } from "./DeliverySender.ts"
import type { EndpointQueues } from "./EndpointQueues.ts"
import type { ClaimedDelivery } from "./DeliveryRepo.ts"
import type { makeResultWriter } from "./ResultWriter.ts"
import type { Transports } from "./Transports.ts"

const attempts = Metric.counter("webhook_deliveries_total", { description: "Webhook attempts", incremental: true })

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
  readonly settings: Settings["Service"]
  readonly transports: Transports
  readonly send: DeliverySender
  readonly queues: EndpointQueues
  readonly results: Effect.Success<ReturnType<typeof makeResultWriter>>
  /** Changed by {@link reschedule} only. */
  readonly schedule: MutableRef.MutableRef<ClaimSchedule>
  /** Opens when a claim may find something. */
  readonly wake: Latch.Latch
  /** Starts a delivery that a stop waits for. */
  readonly run: (effect: Effect.Effect<void>) => void
}

/** Takes an event into the schedule of claims. */
export const reschedule = ({ schedule }: Pick<DelivererContext, "schedule">, event: ScheduleEvent): void => {
  MutableRef.set(schedule, step(MutableRef.get(schedule), event))
}

/** Released as it was claimed: not tried, nothing spent. */
const putBack = ({ results }: DelivererContext, delivery: ClaimedDelivery, wasSent: boolean): void =>
  results.put({ wasSent, result: releaseResult(delivery) })

/** Gives rows back that were not sent. */
export const releaseWaiting = (deliverer: DelivererContext, rows: ReadonlyArray<ClaimedDelivery>): void => {
  for (const delivery of rows) putBack(deliverer, delivery, false)
}

/** A row that was sent is over: its place is free, and but after a success what waits behind it is given back. */
const onFinished = (deliverer: DelivererContext, delivery: ClaimedDelivery, outcome: AttemptOutcome | null): void => {
  releaseWaiting(deliverer, deliverer.queues.finish(delivery, outcome))
  if (outcome !== "succeeded") reschedule(deliverer, { _tag: "MerchantsWoken", merchantIds: [delivery.merchantId] })
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
  const { clock, queues, random, results, services, settings } = deliverer
  const now = clock.currentTimeMillisUnsafe()
  const { isGone, result } = attemptResult(delivery, outcome, {
    latencyMillis: now - startedMillis,
    random: random.nextDoubleUnsafe(),
    settings: settings.webhooks
  })
  const finish = (): void => {
    onFinished(deliverer, delivery, result.outcome)
    results.put({ result, wasSent: true })
    if (result.dueInMillis !== null) {
      reschedule(deliverer, { _tag: "RetryScheduled", atMillis: now + result.dueInMillis + 1 })
    }
    sendReady(deliverer)
  }
  attemptCounts[result.status].updateUnsafe(1, services)
  if (isGone) {
    // Nothing is sent meanwhile.
    const rest = queues.finish(delivery, result.outcome)
    return Effect.andThen(
      results.disable(delivery, "gone", delivery),
      Effect.sync(() => {
        releaseWaiting(deliverer, rest)
        finish()
      })
    )
  }
  finish()
  if (result.status !== "failed") return Effect.void
  const reason = result.error ?? `HTTP ${result.answerStatus}`
  return Effect.logInfo(`webhook whd_${delivery.id} failed after ${result.attempts}/${maximumAttempts}: ${reason}`)
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
  const { clock, queues, run } = deliverer
  const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  for (let delivery = queues.next(now); delivery !== undefined; delivery = queues.next(now)) {
    if (queues.isLate(delivery, now)) release(deliverer, delivery)
    else run(deliver(deliverer, delivery))
  }
}
