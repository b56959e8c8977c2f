/**
 * How calls and callbacks prove who sends them: as webhooks do, a time and an HMAC, here over the method and the path
 * too, so that nothing signed for one order, or one direction, is good for another. Pure.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto"

/** How old, or how far ahead, what is signed may be (modules/docs/reference/retailers.md#the-protocol): 5 min. */
export const toleranceMillis = 300_000

/** What is signed. */
export interface SignedMessage {
  /** Epoch milliseconds, as text of digits. */
  readonly timestamp: string
  readonly method: string
  /** The path below the base URL, or `/callbacks/{order_id}`. */
  readonly target: string
  /** The raw body; empty where there is none. */
  readonly body: string
}

/** A secret as it signs: the UTF-8 bytes of its text. */
export const signingKey = (secret: string): KeyObject => createSecretKey(Buffer.from(secret, "utf8"))

const macOf = (key: KeyObject, { body, method, target, timestamp }: SignedMessage): Buffer =>
  createHmac("sha256", key).update(`${timestamp}.${method}.${target}.${body}`).digest()

/**
 * Lower-case hex of HMAC-SHA256 over `<timestamp>.<method>.<target>.<body>`. No part but the last one may hold a dot,
 * so no two things have one text.
 */
export const signatureOf = (key: KeyObject, message: SignedMessage): string => macOf(key, message).toString("hex")

/** Whether a time is well formed and within {@link toleranceMillis} of now. */
export const isFresh = (timestamp: string, nowMillis: number): boolean =>
  /^\d{13}$/.test(timestamp) && Math.abs(Number.parseInt(timestamp, 10) - nowMillis) <= toleranceMillis

/** Whether any of the keys made this signature. Every key is tried, in a time that says nothing of how near it came. */
export const isSignedBy = (keys: ReadonlyArray<KeyObject>, signature: string, message: SignedMessage): boolean => {
  const signatureBytes = /^[0-9a-f]{64}$/.test(signature) ? Buffer.from(signature, "hex") : Buffer.alloc(0)
  return keys.map((key) => signatureBytes.length > 0 && timingSafeEqual(macOf(key, message), signatureBytes)).includes(
    true
  )
}
