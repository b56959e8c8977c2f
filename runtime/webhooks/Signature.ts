/**
 * How a delivery is signed: two schemes over one body and one secret (API reference, "Delivery"). Pure.
 *
 * `X-Service-*` reads the secret as the literal string; Standard Webhooks reads it as the bytes behind `whsec_`.
 */
import { createHmac } from "node:crypto"
import type { Environment } from "../../schemas/Network.ts"

/** What every secret starts with; the rest is base64. */
export const secretPrefix = "whsec_"

/** Random bytes of a secret (API reference, "Delivery"). */
export const secretBytes = 32

/** The secret as shown once to the merchant: `whsec_` and 32 random bytes in base64. */
export const secretOf = (random: Uint8Array): string => secretPrefix + Buffer.from(random).toString("base64")

/** Lower-case hex of HMAC-SHA256 over `<millis>.<body>`, keyed by the UTF-8 bytes of the whole secret string. */
export const serviceSignature = (secret: string, millis: number, body: string): string =>
  createHmac("sha256", secret).update(`${millis}.`).update(body).digest("hex")

/** `v1,<base64>` of HMAC-SHA256 over `<id>.<seconds>.<body>`, keyed by the decoded part after `whsec_`. */
export const standardSignature = (secret: string, eventId: string, seconds: number, body: string): string =>
  `v1,${
    createHmac("sha256", Buffer.from(secret.slice(secretPrefix.length), "base64"))
      .update(`${eventId}.${seconds}.`).update(body).digest("base64")
  }`

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
  readonly secret: string
  /** The secret before the last rotation while its overlap lasts, else null. */
  readonly previousSecret: string | null
}

/** The headers of an attempt, complete; {@link serviceSignature} stands alone in its header, never in a list. */
export const deliveryHeaders = (attempt: Attempt): Readonly<Record<string, string>> => {
  const { body, eventId, millis, previousSecret, secret } = attempt
  const seconds = Math.floor(millis / 1000)
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  return {
    "Content-Type": "application/json",
    "User-Agent": "Service-Webhooks/1",
    "X-Service-Event": attempt.eventType,
    "X-Service-Event-ID": eventId,
    "X-Service-Timestamp": String(millis),
    "X-Service-Signature": serviceSignature(secret, millis, body),
    ...(previousSecret === null
      ? {}
      : { "X-Service-Signature-Previous": serviceSignature(previousSecret, millis, body) }),
    "X-Service-Network-Environment": attempt.environment,
    "X-Service-Delivery-ID": attempt.deliveryId,
    "X-Service-Attempt": String(attempt.attempt),
    "webhook-id": eventId,
    "webhook-timestamp": String(seconds),
    "webhook-signature": secrets.map((each) => standardSignature(each, eventId, seconds, body)).join(" ")
  }
}
