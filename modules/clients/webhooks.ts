/**
 * Verifies that a delivery came from the service, unchanged and just now. Web Crypto only, so it
 * runs in Node, browsers and on the edge. Runs in merchants' programs: nothing of Effect is here.
 */
import type { Event as ServiceEvent } from "./openapi.ts"

/** A verified event. */
export type WebhookEvent = ServiceEvent

/**
 * Why a delivery is refused. `missing_header`: neither pair of signature headers is complete. `wrong_secret_kind`: none
 * of the secrets is an endpoint's secret. `body_changed`: no secret makes the signature of this body.
 * `timestamp_outside_window`: the signature is right, and too old or from a clock that is ahead.
 */
export type Reason = "missing_header" | "wrong_secret_kind" | "body_changed" | "timestamp_outside_window"

export type Result =
  | { readonly ok: true; readonly event: WebhookEvent }
  | { readonly ok: false; readonly reason: Reason; readonly message: string }

/** Headers as servers hand them over: `Headers`, or an object with names in any case. */
export type IncomingHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface VerifyOptions {
  /**
   * Seconds between the delivery's clock and yours, either way. Default 300
   * (modules/docs/reference/webhooks.md#signatures).
   */
  readonly toleranceSeconds?: number
  /** Milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number
}

/** Default of {@link VerifyOptions.toleranceSeconds}. */
const defaultToleranceSeconds = 300

/** Signatures of one header that are looked at: a rotation sends two. */
const maximumSignatures = 8

const prefix = "whsec_"

const messages: Readonly<Record<Reason, string>> = {
  missing_header: "No complete pair of signature headers: webhook-id, webhook-timestamp and webhook-signature, or "
    + "X-Service-Timestamp and X-Service-Signature. A proxy may drop them",
  wrong_secret_kind: "None of these is an endpoint's secret: those start with whsec_",
  body_changed: "No secret makes the signature of this body: give the raw body, not one that was parsed and written "
    + "again, and the secret of this endpoint",
  timestamp_outside_window: "The delivery is too old, or a clock is wrong"
}

const refuse = (reason: Reason): Result => ({ ok: false, reason, message: messages[reason] })

const readerOf = (headers: IncomingHeaders): (name: string) => string | undefined => {
  const { get } = headers
  if (typeof get === "function") return (name) => (get.call(headers, name) as string | null) ?? undefined
  const entries = Object.entries(headers as Readonly<Record<string, string | ReadonlyArray<string> | undefined>>)
  const byName = new Map(
    entries.map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : value?.[0]])
  )
  return (name) => byName.get(name)
}

type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const fromBase64 = (text: string): Bytes | undefined =>
  base64.test(text) && text !== "" ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) : undefined

const fromHex = (text: string): Bytes | undefined =>
  /^(?:[0-9a-f]{2})+$/.test(text)
    ? Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : undefined

const concatBytes = (head: string, body: Bytes): Bytes => {
  const start = encoder.encode(head)
  const whole = new Uint8Array(start.length + body.length)
  whole.set(start)
  whole.set(body, start.length)
  return whole
}

/** What one scheme claims of a delivery. */
interface SignatureClaim {
  readonly signedBytes: Bytes
  readonly signatures: ReadonlyArray<Bytes>
  /** Milliseconds since 1970, or NaN. */
  readonly timestampMillis: number
  readonly keyOf: (secret: string) => Bytes
}

const digits = (text: string): number => /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN

const present = (signatures: ReadonlyArray<Bytes | undefined>) => signatures.filter((one) => one !== undefined)

/** `webhook-*`: the key is what the secret spells in base64 after its prefix (Standard Webhooks). */
const standardClaim = (header: (name: string) => string | undefined, body: Bytes): SignatureClaim | undefined => {
  const [id, timestamp, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header)
  if (id === undefined || timestamp === undefined || signature === undefined) return undefined
  const signatureTexts = signature.split(" ").slice(0, maximumSignatures)
  return {
    signedBytes: concatBytes(`${id}.${timestamp}.`, body),
    signatures: present(signatureTexts.map((one) => one.startsWith("v1,") ? fromBase64(one.slice(3)) : undefined)),
    timestampMillis: digits(timestamp) * 1_000,
    keyOf: (secret) => fromBase64(secret.slice(prefix.length)) ?? new Uint8Array()
  }
}

/** `X-Service-*`: the key is the whole secret as text. */
const serviceClaim = (header: (name: string) => string | undefined, body: Bytes): SignatureClaim | undefined => {
  const [timestamp, signature, previous] = [
    "x-service-timestamp",
    "x-service-signature",
    "x-service-signature-previous"
  ]
    .map(header)
  if (timestamp === undefined || signature === undefined) return undefined
  return {
    signedBytes: concatBytes(`${timestamp}.`, body),
    signatures: present([signature, previous].map((one) => one === undefined ? undefined : fromHex(one))),
    timestampMillis: digits(timestamp),
    keyOf: (secret) => encoder.encode(secret)
  }
}

/** Compares in constant time: `verify` of Web Crypto does. */
const isSignedWith = async ({ keyOf, signatures, signedBytes }: SignatureClaim, secret: string): Promise<boolean> => {
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  const answers = await Promise.all(
    signatures.map((signature) => crypto.subtle.verify("HMAC", key, signature, signedBytes))
  )
  return answers.includes(true)
}

const bytesOf = (body: string | Uint8Array): Bytes | undefined => {
  if (typeof body === "string") return encoder.encode(body)
  return body instanceof Uint8Array ? Uint8Array.from(body) : undefined
}

/**
 * Whether a delivery is genuine. One of the two signature schemes with one of the secrets is enough: during a rotation
 * give the new secret and the old one. An undefined secret, of a variable that is not set, is passed over. Never throws
 * for what a delivery holds.
 *
 * @example
 * const result = await verify(rawBody, request.headers, [secret])
 * if (!result.ok) return new Response(result.reason, { status: 400 })
 */
export const verify = async (
  rawBody: string | Uint8Array,
  headers: IncomingHeaders,
  secrets: ReadonlyArray<string | undefined>,
  { now = Date.now, toleranceSeconds = defaultToleranceSeconds }: VerifyOptions = {}
): Promise<Result> => {
  const header = readerOf(headers)
  const body = bytesOf(rawBody)
  if (body === undefined) return refuse("body_changed")
  const claims = [standardClaim(header, body), serviceClaim(header, body)].filter((claim) => claim !== undefined)
  if (claims.length === 0) return refuse("missing_header")
  const usable = secrets.filter((secret) => secret !== undefined)
    .filter((secret) => secret.startsWith(prefix) && fromBase64(secret.slice(prefix.length)) !== undefined)
  if (usable.length === 0) return refuse("wrong_secret_kind")
  const matches = await Promise.all(claims.map(async (claim) => {
    const answers = await Promise.all(usable.map((secret) => isSignedWith(claim, secret)))
    return answers.includes(true) ? [claim] : []
  }))
  const validClaims = matches.flat()
  if (validClaims.length === 0) return refuse("body_changed")
  const time = now()
  if (!validClaims.some(({ timestampMillis }) => Math.abs(time - timestampMillis) <= toleranceSeconds * 1_000)) {
    return refuse("timestamp_outside_window")
  }
  return { ok: true, event: JSON.parse(new TextDecoder().decode(body)) as WebhookEvent }
}
