/** Webhook delivery: durable rows made by the commit, claimed with leases, signed, sent, marked. */
import { Context, type Effect, Schema, type Scope } from "effect"
import type { PublicError } from "../schemas/Errors.ts"

/** One attempt as a transport sends it: the bytes are final. */
export interface DeliveryRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMillis: number
  /** The host may be local and plain http (devnet receivers). */
  readonly allowLocal: boolean
}

export interface DeliveryAnswer {
  readonly status: number
  readonly retryAfter: string | null
  /** At most the first 4 KiB. */
  readonly body: string
}

/** No answer: refused, reset, timed out, not allowed. */
export class TransportFailed extends Schema.TaggedError<TransportFailed>()("TransportFailed", {
  reason: Schema.String,
  /** A fault of ours, not of the receiver: spends no attempt. */
  own: Schema.Boolean,
  /** The receiver was too slow: to be connected, or to answer in full. Never of a fault of ours. */
  timedOut: Schema.Boolean
}) {}

export interface Transport {
  readonly name: string
  /** URL schemes it serves, e.g. `["https:", "http:"]`. */
  readonly schemes: ReadonlyArray<string>
  readonly send: (request: DeliveryRequest) => Effect.Effect<DeliveryAnswer, TransportFailed>
}

/**
 * The sum of attempts that were spent, by the day, hour and quarter of an hour in which they ended: kept by the statement that
 * writes down how they ended. Keys are `commerce:` or `standard:`, as the event is of commerce or not, and `succeeded` or
 * `failed`; amounts are 0.
 */
export const attemptsSum = "webhooks.attempts"

export class Webhooks extends Context.Service<Webhooks, {
  readonly register: (transport: Transport) => Effect.Effect<void, never, Scope.Scope>
  /** `WEBHOOK_URL_INVALID` unless deliveries may go there: public https, or one of `webhooks.devnetReceivers`. */
  readonly checkUrl: (url: string) => Effect.Effect<void, PublicError>
  /** Says that deliveries of a merchant were queued outside of a commit: they are claimed at once. */
  readonly wake: (merchantId: number) => Effect.Effect<void>
}>()("tillwire/runtime/Webhooks") {}
