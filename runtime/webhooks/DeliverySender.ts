/** Sends one delivery: signs it, and hands it to the transport of its URL. */
import { Effect, type Exit } from "effect"
import type { Secrets } from "../Secrets.ts"
import { recordIn, type TracesShape } from "../telemetry/Traces.ts"
import type { SpanAttributes } from "../telemetry/Spans.ts"
import { formatTraceparent } from "../telemetry/TraceContext.ts"
import {
  type DeliveryAnswer,
  type MessageAttempt,
  type RenderedMessage,
  TransportFailed,
  type WebhookFormat
} from "../Webhooks.ts"
import type { ClaimedDelivery } from "./DeliveryRepo.ts"
import type { Formats } from "./Formats.ts"
import { deliveryHeaders, type SigningKey, signingKey, userAgent } from "./Signature.ts"
import type { Transports } from "./Transports.ts"

/** An answer counts within 10 s: receivers that need longer answer first and work then. */
export const attemptTimeoutMillis = 10_000

/** Signing keys in the cache, at most. */
const maximumCachedKeys = 4_096

/** Signing keys by sealed secret: opened once, not for each delivery; undefined where one cannot be opened. */
const makeSigningKeys = (secrets: Secrets["Service"]) => {
  const cachedKeys = new Map<string, SigningKey>()
  return (sealed: string): SigningKey | undefined => {
    const known = cachedKeys.get(sealed)
    if (known !== undefined) return known
    const secret = secrets.open("webhook", sealed)
    if (secret === undefined) return undefined
    if (cachedKeys.size >= maximumCachedKeys) cachedKeys.delete(cachedKeys.keys().next().value!)
    const key = signingKey(secret)
    cachedKeys.set(sealed, key)
    return key
  }
}

/** Sends a delivery. The second argument is the time of the attempt: epoch milliseconds. */
export type DeliverySender = (
  delivery: ClaimedDelivery,
  millis: number
) => Effect.Effect<DeliveryAnswer, TransportFailed>

/** What became of an attempt. A reason of a failure may name a host, so it is left out. */
const outcomeOf = (exit: Exit.Exit<DeliveryAnswer, TransportFailed>): SpanAttributes =>
  exit._tag === "Success" ? { "http.response.status_code": exit.value.status } : {}

/** The answers by which a delivery succeeded. */
const isTaken = ({ status }: DeliveryAnswer): boolean => status >= 200 && status < 300

const ourFault = (reason: string) => Effect.fail(new TransportFailed({ reason, isOurFault: true, timedOut: false }))

const deliveryIdOf = ({ id }: ClaimedDelivery): string => `whd_${id}`

/** The headers of an event; `keyOf` opens the secret before the last rotation. */
const headersOf = (
  { attempts, body, endpoint, event, id }: ClaimedDelivery,
  key: SigningKey,
  millis: number,
  keyOf: (sealed: string) => SigningKey | undefined
): Readonly<Record<string, string>> => {
  const { previousSecretExpiresAt, sealedPreviousSecret } = endpoint
  const overlap = sealedPreviousSecret !== null && millis / 1000 < (previousSecretExpiresAt ?? 0)
  return deliveryHeaders({
    deliveryId: `whd_${id}`,
    eventId: event.id,
    attempt: attempts + 1,
    eventType: event.type,
    environment: event.environment,
    millis,
    body,
    key,
    previousKey: overlap ? keyOf(sealedPreviousSecret) ?? null : null
  })
}

const messageAttemptOf = (delivery: ClaimedDelivery, key: SigningKey): MessageAttempt => ({
  deliveryId: deliveryIdOf(delivery),
  endpointId: delivery.endpoint.endpointId,
  attempt: delivery.attempts + 1,
  environment: delivery.event.environment,
  type: delivery.event.type,
  data: delivery.body,
  created: delivery.event.created,
  key: key.text
})

const formatted = (format: WebhookFormat | undefined, attempt: MessageAttempt): RenderedMessage | undefined => {
  if (format === undefined) return undefined
  const { body, headers } = format.render(attempt)
  return { body, headers: { "User-Agent": userAgent, ...headers } }
}

export const makeSender = (
  secrets: Secrets["Service"],
  transports: Transports,
  formats: Formats,
  traces: TracesShape
): DeliverySender => {
  const keyOf = makeSigningKeys(secrets)
  const rendered = (delivery: ClaimedDelivery, key: SigningKey, millis: number): RenderedMessage | undefined => {
    const { format } = delivery.endpoint
    return format === null
      ? { body: delivery.body, headers: headersOf(delivery, key, millis, keyOf) }
      : formatted(formats.find(format), messageAttemptOf(delivery, key))
  }
  return (delivery, millis) => {
    const key = keyOf(delivery.endpoint.sealedSecret)
    if (key === undefined) return ourFault("the secret cannot be opened")
    const message = rendered(delivery, key, millis)
    if (message === undefined) return ourFault(`no plugin here has the webhook format "${delivery.endpoint.format}"`)
    const { attempts, event: { environment, id: eventId, requestId, type: eventType } } = delivery
    const { merchantId, url } = delivery.endpoint
    const { headers } = message
    const attempt = attempts + 1
    const span = traces.beginDelivery({ id: eventId, requestId }, {
      "tillwire.event_id": eventId,
      "tillwire.event_type": eventType,
      "tillwire.merchant_id": merchantId,
      "tillwire.environment": environment,
      "tillwire.attempt": attempt
    })
    const sent = transports.send({
      deliveryId: deliveryIdOf(delivery),
      eventId,
      attempt,
      merchantId,
      environment,
      url,
      // No part of what is signed. An attempt that is not recorded has none: it would tell receivers not to record.
      headers: span === null ? headers : { ...headers, traceparent: formatTraceparent(span.context) },
      body: message.body,
      timeoutMillis: attemptTimeoutMillis
    })
    return recordIn(span, sent, outcomeOf, (answer) => !isTaken(answer))
  }
}
