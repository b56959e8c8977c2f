/** Sends one delivery: signs it, and hands it to the transport of its URL. */
import { Effect } from "effect"
import type { Secrets } from "../Secrets.ts"
import { type DeliveryAnswer, TransportFailed } from "../Webhooks.ts"
import type { ClaimedDelivery } from "./DeliveryRepo.ts"
import { deliveryHeaders, type SigningKey, signingKey } from "./Signature.ts"
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

export const makeSender = (secrets: Secrets["Service"], transports: Transports): DeliverySender => {
  const keyOf = makeSigningKeys(secrets)
  return (delivery, millis) => {
    const key = keyOf(delivery.endpoint.sealedSecret)
    if (key === undefined) {
      return Effect.fail(
        new TransportFailed({ reason: "the secret cannot be opened", isOurFault: true, timedOut: false })
      )
    }
    const { attempts, body, event: { environment, id: eventId, type: eventType } } = delivery
    const { merchantId, previousSecretExpiresAt, sealedPreviousSecret, url } = delivery.endpoint
    const overlap = sealedPreviousSecret !== null && millis / 1000 < (previousSecretExpiresAt ?? 0)
    const deliveryId = `whd_${delivery.id}`
    const attempt = attempts + 1
    const previousKey = overlap ? keyOf(sealedPreviousSecret) ?? null : null
    const headers = deliveryHeaders({
      deliveryId,
      eventId,
      attempt,
      eventType,
      environment,
      millis,
      body,
      key,
      previousKey
    })
    return transports.send({
      deliveryId,
      eventId,
      attempt,
      merchantId,
      environment,
      url,
      headers,
      body,
      timeoutMillis: attemptTimeoutMillis
    })
  }
}
