/** What is written of a delivery after an attempt, or when it is released without one. Pure. */
import type { SettingsValue } from "../Settings.ts"
import type { DeliveryAnswer, TransportFailed } from "../Webhooks.ts"
import {
  attemptOutcome,
  maximumAttempts,
  nextAttempt,
  type Outcome,
  retryAfterMillis,
  type RetrySettings
} from "./RetryPolicy.ts"
import type { ClaimedDelivery, DeliveryResult } from "./DeliveryRepo.ts"

/** Characters of a failure's text that are kept. */
const errorLength = 500

/** Text as the database takes it: one that it refused would keep every result beside it from being written. */
const storable = (text: string): string => text.replaceAll("\u0000", "").toWellFormed()

/** Defaults per environment: 60 s on mainnet, 2 s on devnet, eightfold each time; a setting replaces them for both. */
const retrySettings = (settings: SettingsValue["webhooks"], isMainnet: boolean): RetrySettings => ({
  baseMillis: (settings.retryBaseSeconds ?? (isMainnet ? 60 : 2)) * 1000,
  factor: settings.retryFactor ?? 8
})

/** An answer as an outcome. `nowMillis`: epoch, for a `Retry-After` that is a date. */
export const outcomeOfAnswer = (answer: DeliveryAnswer, nowMillis: number): Outcome => ({
  _tag: "Answered",
  status: answer.status,
  retryAfterMillis: retryAfterMillis(answer.retryAfter, nowMillis),
  body: answer.body
})

/** A failure as an outcome. */
export const outcomeOfFailure = (failure: TransportFailed): Outcome =>
  failure.isOurFault
    ? { _tag: "OwnFault", reason: failure.reason }
    : { _tag: "Unanswered", reason: failure.reason, timedOut: failure.timedOut }

/** HTTP requests that a delivery may cost. */
export const attemptLimitOf = ({ endpoint }: ClaimedDelivery): number => endpoint.isSingleAttempt ? 1 : maximumAttempts

/** What is written of an attempt, and whether its endpoint said that it is gone. `random`: in [0, 1). */
export const attemptResult = (
  delivery: ClaimedDelivery,
  outcome: Outcome,
  { latencyMillis, random, settings }: {
    readonly latencyMillis: number
    readonly random: number
    readonly settings: SettingsValue["webhooks"]
  }
): { readonly isGone: boolean; readonly result: DeliveryResult } => {
  const next = nextAttempt({
    attempt: delivery.attempts + 1,
    attemptLimit: attemptLimitOf(delivery),
    outcome,
    settings: retrySettings(settings, delivery.event.environment === "mainnet"),
    random,
    ageMillis: delivery.ageMillis
  })
  const isWaiting = next._tag === "Retrying"
  const waitingStatus = next.attempts === 0 ? "pending" : "retrying"
  const result: DeliveryResult = {
    delivery,
    status: isWaiting ? waitingStatus : next._tag === "Failed" ? "failed" : "succeeded",
    attempts: next.attempts,
    dueInMillis: isWaiting ? next.afterMillis : null,
    outcome: attemptOutcome(outcome),
    answerStatus: outcome._tag === "Answered" ? outcome.status : null,
    error: outcome._tag === "Answered" ? null : storable(outcome.reason.slice(0, errorLength)),
    latencyMillis,
    response: outcome._tag === "Answered" ? storable(outcome.body) : null
  }
  return { isGone: next._tag === "Failed" && next.gone, result }
}

/** What is written of a delivery that is released as it was claimed: not tried, nothing spent. */
export const releaseResult = (delivery: ClaimedDelivery): DeliveryResult => ({
  delivery,
  status: delivery.attempts === 0 ? "pending" : "retrying",
  attempts: delivery.attempts,
  dueInMillis: 0,
  outcome: null,
  answerStatus: null,
  error: null,
  latencyMillis: 0,
  response: null
})
