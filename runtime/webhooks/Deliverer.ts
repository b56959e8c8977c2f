/**
 * Sends what commits queued. Rows are the truth: a commit wakes the claim at once, a scan every second finds what a
 * wake-up missed, and a lease that ends gives a dead instance's work to the next. Nothing waits in memory alone.
 */
import { Clock, Effect, Exit, FiberSet, Latch, Layer, Metric, Random, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Commit } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import { Secrets } from "../Secrets.ts"
import { Settings, type SettingsValue } from "../Settings.ts"
import { type DeliveryAnswer, type Transport, TransportFailed, Webhooks } from "../Webhooks.ts"
import {
  attemptOutcome, maximumAttempts, nextAttempt, type Outcome, retryAfterMillis, type RetrySettings
} from "./Attempts.ts"
import { claim, type Claimed, type Mark, maximumFailingInFlight, maximumInFlight } from "./Queue.ts"
import { makeResults } from "./Results.ts"
import { deliveryHeaders } from "./Signature.ts"
import { makeTransports } from "./Transports.ts"

/** An answer counts within 10 s (API reference, "Delivery"). */
export const attemptTimeoutMillis = 10_000

/** The scan that needs no wake-up: at most this long until a row is found that nobody told us of. */
const scanMillis = 1_000

/** Longest pause between claims that find nothing though commits keep waking them; the first one never waits. */
const longestPauseMillis = 20

/** What came of each attempt: `succeeded`, `retrying`, `failed`, or `pending` where the fault was ours. */
const attempts = Metric.counter("webhook_deliveries_total", { description: "Webhook attempts", incremental: true })

/** What a stop waits for attempts under way; the whole process has 10 s. The rest is given back to the queue. */
const defaultDrainMillis = 8_000

/** Characters of a failure's text that are kept. */
const errorLength = 500

/** Defaults per environment (API reference, "Delivery"); a setting replaces them for both. */
const retrySettings = (settings: SettingsValue["webhooks"], mainnet: boolean): RetrySettings => ({
  baseMillis: (settings.retryBaseSeconds ?? (mainnet ? 60 : 2)) * 1000,
  factor: settings.retryFactor ?? 8
})

const answered = (answer: DeliveryAnswer, nowMillis: number): Outcome => ({
  _tag: "Answered",
  status: answer.status,
  retryAfterMillis: retryAfterMillis(answer.retryAfter, nowMillis),
  body: answer.body
})

const unanswered = (failure: TransportFailed): Outcome =>
  failure.own
    ? { _tag: "OwnFault", reason: failure.reason }
    : { _tag: "Unanswered", reason: failure.reason, timedOut: failure.timedOut }

const make = (drainMillis: number) => Effect.gen(function*() {
  const settings = yield* Settings
  const secrets = yield* Secrets
  const results = yield* makeResults
  const bus = yield* EventBus
  const sql = yield* SqlClient.SqlClient

  const transports = makeTransports()
  const woken = new Set<number>()
  const wake = yield* Latch.make()
  let inFlight = 0
  let failingInFlight = 0
  let scanAt = 0
  let stopping = false

  const scanIn = (millis: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      scanAt = Math.min(scanAt, now + millis)
      wake.openUnsafe()
    })

  const send = (claimed: Claimed) =>
    Effect.gen(function*() {
      const secret = secrets.open("webhook", claimed.sealedSecret)
      if (secret === undefined) return yield* new TransportFailed({ reason: "the secret cannot be opened", own: true, timedOut: false })
      const millis = yield* Clock.currentTimeMillis
      const overlap = claimed.sealedPreviousSecret !== null && millis / 1000 < (claimed.previousSecretExpiresAt ?? 0)
      const ids = { deliveryId: `whd_${claimed.id}`, eventId: claimed.event.id, attempt: claimed.attempts + 1 }
      return yield* transports.send({
        ...ids,
        merchantId: claimed.merchantId,
        environment: claimed.event.environment,
        url: claimed.url,
        headers: deliveryHeaders({
          ...ids,
          eventType: claimed.event.type,
          environment: claimed.event.environment,
          millis,
          body: claimed.body,
          secret,
          previousSecret: overlap ? secrets.open("webhook", claimed.sealedPreviousSecret!) ?? null : null
        }),
        body: claimed.body,
        timeoutMillis: attemptTimeoutMillis
      })
    })

  const markFor = (claimed: Claimed, outcome: Outcome, latencyMillis: number) =>
    Effect.map(Random.next, (random): { readonly mark: Mark; readonly gone: boolean } => {
      const next = nextAttempt({
        attempt: claimed.attempts + 1,
        outcome,
        settings: retrySettings(settings.webhooks, claimed.event.environment === "mainnet"),
        random,
        ageMillis: claimed.ageMillis
      })
      const waiting = next._tag === "Retrying"
      return {
        gone: next._tag === "Failed" && next.gone,
        mark: {
          claimed,
          status: waiting ? (next.attempts === 0 ? "pending" : "retrying") : next._tag === "Failed" ? "failed" : "succeeded",
          attempts: next.attempts,
          dueInMillis: waiting ? next.afterMillis : null,
          outcome: attemptOutcome(outcome),
          answerStatus: outcome._tag === "Answered" ? outcome.status : null,
          error: outcome._tag === "Answered" ? null : outcome.reason.slice(0, errorLength),
          latencyMillis,
          response: outcome._tag === "Answered" ? outcome.body : null
        }
      }
    })

  const conclude = (claimed: Claimed, outcome: Outcome, latencyMillis: number) =>
    Effect.gen(function*() {
      const { gone, mark: result } = yield* markFor(claimed, outcome, latencyMillis)
      yield* Metric.update(Metric.withAttributes(attempts, { outcome: result.status }), 1)
      if (gone) yield* results.disable(claimed.merchantId, claimed.endpointId, "gone", claimed.url)
      yield* results.settle(result)
      if (result.dueInMillis !== null) yield* scanIn(result.dueInMillis + 1)
      if (result.status === "failed") {
        const reason = result.error ?? `HTTP ${result.answerStatus}`
        yield* Effect.logInfo(`webhook whd_${claimed.id} failed after ${result.attempts}/${maximumAttempts}: ${reason}`)
      }
    })

  /** A stop gives the row back at once: what it had spent stays spent, this attempt does not count. */
  const release = (claimed: Claimed): Mark => ({
    claimed,
    status: claimed.attempts === 0 ? "pending" : "retrying",
    attempts: claimed.attempts,
    dueInMillis: 0,
    outcome: null,
    answerStatus: null,
    error: "interrupted by a stop of the service",
    latencyMillis: 0,
    response: null
  })

  const deliver = (claimed: Claimed) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const started = yield* Clock.currentTimeMillis
        const exit = yield* Effect.exit(restore(
          send(claimed).pipe(
            Effect.flatMap((answer) => Effect.map(Clock.currentTimeMillis, (now) => answered(answer, now))),
            Effect.catch((failure) => Effect.succeed(unanswered(failure))),
            Effect.catchDefect((defect) =>
              Effect.as(
                Effect.logError("a webhook transport failed in an unforeseen way", defect),
                { _tag: "OwnFault", reason: "defect" } as Outcome
              )
            )
          )
        ))
        const latency = (yield* Clock.currentTimeMillis) - started
        yield* Exit.isSuccess(exit) ? conclude(claimed, exit.value, latency) : results.settle(release(claimed))
      })
    ).pipe(Effect.ensuring(Effect.sync(() => {
      inFlight--
      if (claimed.failing) failingInFlight--
      woken.add(claimed.merchantId)
      wake.openUnsafe()
    })))

  const fibers = yield* FiberSet.make()
  let emptyClaims = 0

  /** One claim: of everyone when a scan is due, else of the merchants that woke us. Returns how long to wait. */
  const step = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const slots = maximumInFlight - inFlight
    const scan = now >= scanAt
    if (stopping || slots === 0 || transports.isEmpty() || (!scan && woken.size === 0)) {
      return Math.max(1, scanAt - now)
    }
    const merchants = scan ? null : [...woken]
    woken.clear()
    if (scan) scanAt = now + scanMillis
    const claimed = yield* claim({ merchants, slots, failingSlots: maximumFailingInFlight - failingInFlight })
    inFlight += claimed.length
    failingInFlight += claimed.filter(({ failing }) => failing).length
    emptyClaims = claimed.length > 0 || scan ? 0 : emptyClaims + 1
    // All slots went: others may be waiting whom nobody will wake again, so the next free slot scans.
    if (claimed.length === slots) scanAt = 0
    for (const each of claimed) yield* FiberSet.run(fibers, deliver(each))
    return 0
  }).pipe(
    Effect.uninterruptible,
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

  yield* Effect.forkScoped(Effect.forever(loop))
  yield* bus.subscribe("webhooks", (events) =>
    Effect.sync(() => {
      for (const { merchantId, pendingWebhooks } of events) if (pendingWebhooks > 0) woken.add(merchantId)
      if (woken.size > 0) wake.openUnsafe()
    }))

  const drain = Effect.suspend(() =>
    FiberSet.awaitEmpty(fibers).pipe(Effect.timeoutOption(drainMillis), Effect.andThen(FiberSet.clear(fibers)))
  )
  yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(() => { stopping = true }), drain))

  const register = (transport: Transport): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        transports.add(transport)
        scanAt = 0
        wake.openUnsafe()
      }),
      // Attempts under way still use the transport: it must outlive them.
      () => Effect.andThen(Effect.sync(() => transports.remove(transport)), drain)
    )

  return Webhooks.of({
    register,
    checkUrl: transports.check,
    wake: (merchantId) =>
      Effect.sync(() => {
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
