/**
 * Sends what commits queued. Rows are the truth: a commit wakes the claim at once, a scan every second finds what a
 * wake-up missed, and a lease that ends gives a dead instance's work to the next. Nothing waits in memory alone.
 */
import { Cause, Clock, Effect, FiberSet, Latch, Layer, Metric, Random, Schedule, type Scope, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { Commit } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import { Secrets } from "../Secrets.ts"
import { Settings, type SettingsValue } from "../Settings.ts"
import { type DeliveryAnswer, type Transport, TransportFailed, Webhooks } from "../Webhooks.ts"
import {
  type AttemptOutcome, attemptOutcome, maximumAttempts, nextAttempt, type Outcome, retryAfterMillis, type RetrySettings
} from "./RetryPolicy.ts"
import { makeEndpointQueues } from "./EndpointQueues.ts"
import {
  claim, type ClaimedDelivery, type DeliveryResult, extendLeases, sendWithinMillis, markDelivering
} from "./DeliveryRepo.ts"
import { makeResultWriter } from "./ResultWriter.ts"
import { deliveryHeaders, type SigningKey, signingKey } from "./Signature.ts"
import { makeTransports } from "./Transports.ts"
import { monotonicMillis } from "../Clock.ts"
import { initializeSeries } from "../Telemetry.ts"

/** An answer counts within 10 s (modules/docs/reference/webhooks.md#delivery). */
export const attemptTimeoutMillis = 10_000

/** The scan that needs no wake-up: at most this long until a row is found that nobody told us of. */
const scanMillis = 1_000

/** How long before its end a lease is renewed: several looks, should the database not answer one. */
const renewMillis = 8_000

/** Longest pause between claims that find nothing though commits keep waking them; the first one never waits. */
const longestPauseMillis = 20

/** Secrets remembered as they sign, at most. */
const maximumOpened = 4_096

const attempts = Metric.counter("webhook_deliveries_total", { description: "Webhook attempts", incremental: true })

/** What came of each attempt: `succeeded`, `retrying`, `failed`, or `pending` where the fault was ours. */
const counts = {
  succeeded: Metric.withAttributes(attempts, { outcome: "succeeded" }),
  retrying: Metric.withAttributes(attempts, { outcome: "retrying" }),
  failed: Metric.withAttributes(attempts, { outcome: "failed" }),
  pending: Metric.withAttributes(attempts, { outcome: "pending" })
} as const

/** What a stop waits for attempts under way; the whole process has 10 s. The rest is given back to the queue. */
const defaultDrainMillis = 8_000

/** Characters of a failure's text that are kept. */
const errorLength = 500

/** Text as the database takes it: one that it refused would keep every result beside it from being written. */
const storable = (text: string): string => text.replaceAll("\u0000", "").toWellFormed()

/** Defaults per environment (modules/docs/reference/webhooks.md#retries); a setting replaces them for both. */
const retrySettings = (settings: SettingsValue["webhooks"], mainnet: boolean): RetrySettings => ({
  baseMillis: (settings.retryBaseSeconds ?? (mainnet ? 60 : 2)) * 1000,
  factor: settings.retryFactor ?? 8
})

const outcomeOfAnswer = (answer: DeliveryAnswer, nowMillis: number): Outcome => ({
  _tag: "Answered",
  status: answer.status,
  retryAfterMillis: retryAfterMillis(answer.retryAfter, nowMillis),
  body: answer.body
})

const outcomeOfFailure = (failure: TransportFailed): Outcome =>
  failure.isOurFault
    ? { _tag: "OwnFault", reason: failure.reason }
    : { _tag: "Unanswered", reason: failure.reason, timedOut: failure.timedOut }

const make = (drainMillis: number) => Effect.gen(function*() {
  yield* Effect.forEach(Object.values(counts), (series) => initializeSeries(series), { discard: true })
  const settings = yield* Settings
  const secrets = yield* Secrets
  const bus = yield* EventBus
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const context = yield* Effect.context<never>()
  const holder = randomUUID()

  const transports = makeTransports()
  const queues = makeEndpointQueues()
  const woken = new Set<number>()
  /** Whom the claim under way is for, and all claims since the writer of results began: they may have missed an endpoint. */
  let claiming: ReadonlyArray<number | "all"> | undefined
  let passedOver: Set<number | "all"> = new Set()
  const wake = yield* Latch.make()
  let scanAt = 0
  /** Stops under way, of transports or of all: nothing is claimed meanwhile. */
  let stops = 0

  const results = yield* makeResultWriter({
    isIdle: queues.isQuiet,
    onWriteStart: () => { passedOver = new Set(claiming ?? []) },
    leasesToRelease: queues.emptiedBy,
    onWritten: (ended) => {
      for (const each of ended) {
        const needsRefill = queues.written(each)
        if (needsRefill !== undefined) woken.add(needsRefill)
        if (passedOver.has(each.delivery.merchantId) || passedOver.has("all")) woken.add(each.delivery.merchantId)
      }
      pump()
      wake.openUnsafe()
    }
  })

  const opened = new Map<string, SigningKey>()
  /** A sealed secret as it signs: opened once, not for each delivery. */
  const keyOf = (sealed: string): SigningKey | undefined => {
    const known = opened.get(sealed)
    if (known !== undefined) return known
    const secret = secrets.open("webhook", sealed)
    if (secret === undefined) return undefined
    if (opened.size >= maximumOpened) opened.delete(opened.keys().next().value!)
    const key = signingKey(secret)
    opened.set(sealed, key)
    return key
  }

  const send = (claimed: ClaimedDelivery, millis: number) => {
    const key = keyOf(claimed.sealedSecret)
    if (key === undefined) {
      return Effect.fail(new TransportFailed({ reason: "the secret cannot be opened", isOurFault: true, timedOut: false }))
    }
    const overlap = claimed.sealedPreviousSecret !== null && millis / 1000 < (claimed.previousSecretExpiresAt ?? 0)
    const { attempts, body, event: { environment, id: eventId, type: eventType }, merchantId, url } = claimed
    const deliveryId = `whd_${claimed.id}`
    const attempt = attempts + 1
    const previousKey = overlap ? keyOf(claimed.sealedPreviousSecret!) ?? null : null
    const headers = deliveryHeaders({
      deliveryId, eventId, attempt, eventType, environment, millis, body, key, previousKey
    })
    return transports.send({
      deliveryId, eventId, attempt, merchantId, environment, url, headers, body, timeoutMillis: attemptTimeoutMillis
    })
  }

  const markFor = (delivery: ClaimedDelivery, outcome: Outcome, latencyMillis: number, random: number) => {
    const next = nextAttempt({
      attempt: delivery.attempts + 1,
      outcome,
      settings: retrySettings(settings.webhooks, delivery.event.environment === "mainnet"),
      random,
      ageMillis: delivery.ageMillis
    })
    const waiting = next._tag === "Retrying"
    const mark: DeliveryResult = {
      delivery,
      status: waiting ? (next.attempts === 0 ? "pending" : "retrying") : next._tag === "Failed" ? "failed" : "succeeded",
      attempts: next.attempts,
      dueInMillis: waiting ? next.afterMillis : null,
      outcome: attemptOutcome(outcome),
      answerStatus: outcome._tag === "Answered" ? outcome.status : null,
      error: outcome._tag === "Answered" ? null : storable(outcome.reason.slice(0, errorLength)),
      latencyMillis,
      response: outcome._tag === "Answered" ? storable(outcome.body) : null
    }
    return { gone: next._tag === "Failed" && next.gone, mark }
  }

  /** Given back as it was claimed: not tried, nothing spent. */
  const release = (delivery: ClaimedDelivery, wasSent: boolean): void =>
    results.put({
      wasSent,
      result: {
        delivery,
        status: delivery.attempts === 0 ? "pending" : "retrying",
        attempts: delivery.attempts,
        dueInMillis: 0,
        outcome: null,
        answerStatus: null,
        error: null,
        latencyMillis: 0,
        response: null
      }
    })

  /** A row that was sent is over: its place is free, and but after a success what waits behind it is given back. */
  const onFinished = (claimed: ClaimedDelivery, outcome: AttemptOutcome | null): void => {
    for (const rest of queues.answered(claimed, outcome)) release(rest, false)
    if (outcome !== "succeeded") woken.add(claimed.merchantId)
  }

  /** Writes down how an attempt ended. Few steps: every delivery takes them. */
  const recordOutcome = (claimed: ClaimedDelivery, outcome: Outcome, startedMillis: number): Effect.Effect<void> => {
    const now = clock.currentTimeMillisUnsafe()
    const { gone, mark: result } = markFor(claimed, outcome, now - startedMillis, random.nextDoubleUnsafe())
    const finish = (): void => {
      onFinished(claimed, result.outcome)
      results.put({ result, wasSent: true })
      if (result.dueInMillis !== null) scanAt = Math.min(scanAt, now + result.dueInMillis + 1)
      pump()
    }
    counts[result.status].updateUnsafe(1, context)
    if (gone) {
      // Nothing is sent meanwhile.
      const rest = queues.answered(claimed, result.outcome)
      return Effect.andThen(
        results.disable(claimed, "gone", claimed),
        Effect.sync(() => {
          for (const each of rest) release(each, false)
          finish()
        })
      )
    }
    finish()
    if (result.status !== "failed") return Effect.void
    const reason = result.error ?? `HTTP ${result.answerStatus}`
    return Effect.logInfo(`webhook whd_${claimed.id} failed after ${result.attempts}/${maximumAttempts}: ${reason}`)
  }

  const recordDefect = (claimed: ClaimedDelivery, cause: Cause.Cause<unknown>, startedMillis: number) =>
    Effect.andThen(
      Effect.logError("a webhook transport failed in an unforeseen way", cause),
      Effect.suspend(() => recordOutcome(claimed, { _tag: "OwnFault", reason: "defect" }, startedMillis))
    )

  /** A stop gives the row back at once: what it had spent stays spent, this attempt does not count. */
  const releaseInterrupted = (claimed: ClaimedDelivery): void => {
    onFinished(claimed, null)
    release(claimed, true)
  }

  const deliver = (claimed: ClaimedDelivery) =>
    Effect.uninterruptibleMask((restore) => {
      const started = clock.currentTimeMillisUnsafe()
      return Effect.flatMap(Effect.exit(restore(Effect.suspend(() => send(claimed, started)))), (exit) => {
        if (exit._tag === "Success") {
          return recordOutcome(claimed, outcomeOfAnswer(exit.value, clock.currentTimeMillisUnsafe()), started)
        }
        if (Cause.hasInterruptsOnly(exit.cause)) return Effect.sync(() => releaseInterrupted(claimed))
        const failure = Cause.findErrorOption(exit.cause)
        return failure._tag === "Some"
          ? recordOutcome(claimed, outcomeOfFailure(failure.value), started)
          : recordDefect(claimed, exit.cause, started)
      })
    })

  const fibers = yield* FiberSet.make()
  const run = yield* FiberSet.runtime(fibers)()

  /** Sends what may be sent now. */
  const pump = (): void => {
    const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    for (let claimed = queues.next(now); claimed !== undefined; claimed = queues.next(now)) {
      if (queues.isLate(claimed, now)) releaseInterrupted(claimed)
      else run(deliver(claimed))
    }
  }

  const oneClaim = yield* Semaphore.make(1)

  /** What was not sent goes back at once, what is on its way gets its time; then all of it is written. */
  const drain = oneClaim.withPermits(1)(Effect.suspend(() => {
    for (const claimed of queues.giveUp()) release(claimed, false)
    return FiberSet.awaitEmpty(fibers).pipe(
      Effect.timeoutOption(drainMillis),
      Effect.andThen(FiberSet.clear(fibers)),
      Effect.andThen(results.flush)
    )
  }))

  let emptyClaims = 0

  /** One claim: of everyone when a scan is due, else of the merchants that woke us. Returns how long to wait. */
  const step = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const slots = queues.room()
    const scan = now >= scanAt
    if (stops > 0 || transports.isEmpty() || (!scan && woken.size === 0)) return Math.max(1, scanAt - now)
    // Results free the room, and wake.
    if (slots === 0) return scanMillis
    const merchants = scan ? null : [...woken]
    woken.clear()
    if (scan) scanAt = now + scanMillis
    claiming = merchants ?? ["all"]
    for (const each of claiming) passedOver.add(each)
    const askedAt = yield* monotonicMillis
    const claimed = yield* Effect.ensuring(
      claim({ holder, merchants, slots, failingSlots: queues.failingRoom(), ...queues.holdings(merchants) }),
      Effect.sync(() => { claiming = undefined })
    )
    emptyClaims = claimed.length > 0 || scan ? 0 : emptyClaims + 1
    // All room went: others may be waiting whom nobody will wake again, so the next claim scans.
    if (claimed.length === slots) scanAt = 0
    queues.add(claimed, merchants, askedAt + sendWithinMillis)
    if (stops === 0) pump()
    return 0
  }).pipe(
    Effect.uninterruptible,
    oneClaim.withPermits(1),
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.catch((error) => Effect.as(Effect.logWarning("webhook claim failed, trying again", error), scanMillis))
  )

  const loop = Effect.gen(function*() {
    wake.closeUnsafe()
    const millis = yield* step
    if (millis > 0) yield* Effect.timeoutOption(wake.await, millis)
    // Commits for endpoints that take nothing now would ask again with every flush, in vain.
    else if (emptyClaims > 1) yield* Effect.sleep(Math.min(longestPauseMillis, 2 ** emptyClaims))
  })

  /** Extends its leases before they end, and shows what is on its way for long. */
  let renewedAt = 0
  const renewLeases = Effect.gen(function*() {
    const now = yield* monotonicMillis
    const slow = queues.sentBetween(renewedAt - scanMillis, now - scanMillis)
    renewedAt = now
    if (slow.length > 0) yield* markDelivering(slow)
    const asked = queues.expiringBy(now + renewMillis)
    if (asked.length === 0) return
    const kept = yield* extendLeases(holder, asked)
    for (const claimed of queues.renew(asked, kept, now + sendWithinMillis)) release(claimed, false)
  }).pipe(
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.catch((error) => Effect.logWarning("webhook leases were not renewed, trying again", error))
  )

  yield* Effect.forkScoped(Effect.forever(loop))
  yield* Effect.forkScoped(Effect.repeat(renewLeases, Schedule.spaced(scanMillis)))
  yield* bus.subscribe("webhooks", (events) =>
    Effect.sync(() => {
      for (const { merchantId, pendingWebhooks } of events) if (pendingWebhooks > 0) woken.add(merchantId)
      if (woken.size > 0) wake.openUnsafe()
    }))

  const halt = Effect.andThen(Effect.sync(() => { stops++ }), drain)
  yield* Effect.addFinalizer(() => halt)

  const register = (transport: Transport): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        transports.add(transport)
        scanAt = 0
        wake.openUnsafe()
      }),
      // Attempts under way still use the transport: it must outlive them.
      () =>
        Effect.andThen(halt, Effect.sync(() => {
          transports.remove(transport)
          stops--
        }))
    )

  return Webhooks.of({
    register,
    checkUrl: transports.check,
    drain: halt,
    wake: (merchantId) =>
      Effect.sync(() => {
        for (const claimed of queues.giveUp(merchantId)) release(claimed, false)
        woken.add(merchantId)
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
