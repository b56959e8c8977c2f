/** Webhook delivery: durable rows made by the commit, claimed with leases, signed, sent, marked. */
import { Context, type Effect, Schema, type Scope } from "effect"
import type { KeyObject } from "node:crypto"
import type { PublicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"

/** Whose endpoint it is: a transport may take some URLs of some merchants only. */
export interface EndpointOwner {
  readonly merchantId: number
  /** Null: both. */
  readonly environment: Environment | null
}

/** One attempt as a transport sends it: the bytes are final. */
export interface DeliveryRequest extends EndpointOwner {
  /** `whd_<uuid>`. */
  readonly deliveryId: string
  /** `evt_…`. */
  readonly eventId: string
  /** From 1. */
  readonly attempt: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMillis: number
}

/** What the receiver of a delivery answered. */
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
  isOurFault: Schema.Boolean,
  /** The receiver was too slow: to be connected, or to answer in full. Never of a fault of ours. */
  timedOut: Schema.Boolean
}) {}

/** A URL that a transport does not deliver to, and why: a sentence for the merchant. */
export class UrlRefused extends Schema.TaggedError<UrlRefused>()("UrlRefused", { reason: Schema.String }) {}

/** A way for deliveries to leave. Which URLs it takes is its own to say. */
export interface Transport {
  readonly name: string
  /** URL schemes it serves, e.g. `["https:", "http:"]`. No two transports share one. */
  readonly schemes: ReadonlyArray<string>
  /** Judges a URL that a merchant wants deliveries at, as far as can be told now. */
  readonly check: (url: string, owner: EndpointOwner) => Effect.Effect<void, UrlRefused>
  /**
   * Sends once: success is an answer of any status. Refuses whatever {@link check} refuses now, as the receiver's
   * failure. An interrupt ends it at once.
   */
  readonly send: (request: DeliveryRequest) => Effect.Effect<DeliveryAnswer, TransportFailed>
}

/** A message on its way to an endpoint, as its format makes the body and headers of one attempt from it. */
export interface MessageAttempt {
  /** `whd_<uuid>`: the same in every attempt. */
  readonly deliveryId: string
  readonly endpointId: string
  /** From 1. */
  readonly attempt: number
  readonly environment: Environment
  /** Of the `WebhookMessage` of the commit. */
  readonly type: string
  readonly data: string
  /** Epoch seconds of the commit. */
  readonly created: number
  /** The endpoint's secret as UTF-8 bytes, for an HMAC. */
  readonly key: KeyObject
}

/** What a receiver is sent: the bytes of the body are those that `headers` sign. */
export interface RenderedMessage {
  readonly body: string
  /** All but `User-Agent`. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * How endpoints are told that read something else than events: in bodies, headers and signatures of their own. Rows of
 * `webhook_endpoints` name it, `WebhookMessage`s of commits (`runtime/Commit.ts`) are for it. Queue, order, retries,
 * breaker, transports and their guards are those of all deliveries.
 */
export interface WebhookFormat {
  /** Unique; its endpoints and messages name it. */
  readonly name: string
  /**
   * The body and headers of one attempt. Pure and total: the same attempt has the same bytes, whichever instance sends
   * it. A defect counts as a fault of ours and spends no attempt.
   */
  readonly render: (attempt: MessageAttempt) => RenderedMessage
}

/**
 * The sum of attempts that were spent, by the six hours and the quarter of an hour in which they ended: kept by the
 * statement that writes down how they ended. Keys are `commerce:` or `standard:`, as the event is of commerce or not,
 * and `succeeded` or `failed`; amounts are 0.
 */
export const attemptsSum = "webhooks.attempts"

/** Deliveries of events. Transports register here. */
export class Webhooks extends Context.Service<Webhooks, {
  readonly register: (transport: Transport) => Effect.Effect<void, never, Scope.Scope>
  /**
   * A format, for as long as the scope lives. What waits for an endpoint of a format that no plugin has registered
   * spends no attempt: it waits for one, for 72 h at most.
   */
  readonly registerFormat: (format: WebhookFormat) => Effect.Effect<void, never, Scope.Scope>
  /** `WEBHOOK_URL_INVALID` unless the transport of the URL's scheme delivers there for this owner. */
  readonly checkUrl: (url: string, owner: EndpointOwner) => Effect.Effect<void, PublicError>
  /**
   * Says that an endpoint of a merchant was changed, or deliveries were queued outside of a commit: what was claimed
   * for the merchant and not sent is given back, and claimed anew at once.
   */
  readonly wake: (merchantId: number) => Effect.Effect<void>
  /**
   * Sends nothing more: what waits goes back to the queue, attempts under way get 8 s, and then it is written what
   * became of each. For a stop, which others go on from; there is no way back.
   */
  readonly drain: Effect.Effect<void>
}>()("tillwire/runtime/Webhooks") {}
