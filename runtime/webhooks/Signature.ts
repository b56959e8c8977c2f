/**
 * How a delivery is signed: two schemes over one body and one secret (modules/docs/reference/webhooks.md#signatures).
 * Pure.
 *
 * `X-Service-*` reads the secret as the literal string; Standard Webhooks reads it as the bytes behind `whsec_`.
 */
import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import type { Environment } from "../../schemas/Network.ts"

/** What every secret starts with; the rest is base64. */
export const secretPrefix = "whsec_"

/** Random bytes of a secret (modules/docs/reference/webhooks.md#secrets). */
export const secretBytes = 32

/** The secret as shown once to the merchant: `whsec_` and 32 random bytes in base64. */
export const secretOf = (random: Uint8Array): string => secretPrefix + Buffer.from(random).toString("base64")

/**
 * A secret as it signs: made once, because node:crypto takes five times as long over bytes as over a key (measured).
 */
export interface SigningKey {
  /** The UTF-8 bytes of the whole secret string. */
  readonly text: KeyObject
  /** The decoded part after `whsec_`. */
  readonly decoded: KeyObject
}

/** The key of a secret as the merchant has it. */
export const signingKey = (secret: string): SigningKey => ({
  text: createSecretKey(Buffer.from(secret, "utf8")),
  decoded: createSecretKey(Buffer.from(secret.slice(secretPrefix.length), "base64"))
})

/** Lower-case hex of HMAC-SHA256 over `<millis>.<body>`, keyed by the whole secret as text. */
export const serviceSignature = ({ text }: SigningKey, millis: number, body: string): string =>
  createHmac("sha256", text).update(`${millis}.${body}`).digest("hex")

/** `v1,<base64>` of HMAC-SHA256 over `<id>.<seconds>.<body>`, keyed by the decoded part after `whsec_`. */
export const standardSignature = ({ decoded }: SigningKey, eventId: string, seconds: number, body: string): string =>
  `v1,${createHmac("sha256", decoded).update(`${eventId}.${seconds}.${body}`).digest("base64")}`

/** How receivers tell this service from others. */
export const userAgent = "Service-Webhooks/1"

/** One attempt, as its headers tell it. */
export interface Attempt {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly environment: Environment
  /** 1 to 4. */
  readonly attempt: number
  /** Epoch milliseconds of this attempt; the signatures are as fresh as this. */
  readonly millis: number
  /** The canonical event text: the same in every attempt. */
  readonly body: string
  readonly key: SigningKey
  /** That of the secret before the last rotation while its overlap lasts, else null. */
  readonly previousKey: SigningKey | null
}

/** The headers of an attempt, complete; {@link serviceSignature} stands alone in its header, never in a list. */
export const deliveryHeaders = (attempt: Attempt): Readonly<Record<string, string>> => {
  const { body, eventId, key, millis, previousKey } = attempt
  const seconds = Math.floor(millis / 1000)
  const standard = standardSignature(key, eventId, seconds, body)
  return {
    "Content-Type": "application/json",
    "User-Agent": userAgent,
    "X-Service-Event": attempt.eventType,
    "X-Service-Event-ID": eventId,
    "X-Service-Timestamp": String(millis),
    "X-Service-Signature": serviceSignature(key, millis, body),
    ...(previousKey === null ? {} : { "X-Service-Signature-Previous": serviceSignature(previousKey, millis, body) }),
    "X-Service-Network-Environment": attempt.environment,
    "X-Service-Delivery-ID": attempt.deliveryId,
    "X-Service-Attempt": String(attempt.attempt),
    "webhook-id": eventId,
    "webhook-timestamp": String(seconds),
    "webhook-signature": previousKey === null
      ? standard
      : `${standard} ${standardSignature(previousKey, eventId, seconds, body)}`
  }
}
