/** The token and the signature of a payment session: made for an invoice, and read back into it, without a look-up. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { DerivedKey } from "../../../runtime/Secrets.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"

/** Bytes of the keyed hash in a session token: 128 bits. */
const tokenMacBytes = 16
const uuidBytes = 16

const tokenPattern = /^pst_[A-Za-z0-9_-]{44}$/
const signaturePattern = /^[0-9a-f]{64}\.\d{1,15}$/

const hmac = ({ key }: DerivedKey, data: Uint8Array | string): Buffer => createHmac("sha256", key).update(data).digest()

const equal = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

const tokenUnder = (key: DerivedKey, invoiceId: string): string => {
  const payload = Buffer.concat([Buffer.of(key.id), Buffer.from(invoiceId.replaceAll("-", ""), "hex")])
  return `pst_${Buffer.concat([payload, hmac(key, payload).subarray(0, tokenMacBytes)]).toString("base64url")}`
}

const signatureUnder = (key: DerivedKey, sessionToken: string, invoiceId: string, millis: string): string =>
  `${hmac(key, `${sessionToken}.${invoiceId}.${millis}`).toString("hex")}.${millis}`

const uuidOf = (bytes: Buffer): string => {
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The pair that opens an invoice's payment page. */
export interface PayorSession {
  readonly sessionToken: string
  readonly signature: string
}

/** The pair for an invoice. The same arguments give the same pair. */
export const mintSession = (key: DerivedKey, invoiceId: string, nowMillis: number): PayorSession => {
  const sessionToken = tokenUnder(key, invoiceId)
  return { sessionToken, signature: signatureUnder(key, sessionToken, invoiceId, String(nowMillis)) }
}

/**
 * The invoice that a pair opens under one of `keys`; undefined for any other pair. Costs no look-up and, past the form,
 * the same time whatever differs. The token's own hash is not computed again: the signature is over the whole token,
 * and nothing but a token of ours is ever signed.
 */
export const readSession = (
  keys: ReadonlyArray<DerivedKey>,
  { sessionToken, signature }: PayorSession
): InvoiceId | undefined => {
  if (!tokenPattern.test(sessionToken) || !signaturePattern.test(signature)) return undefined
  const bytes = Buffer.from(sessionToken.slice(4), "base64url")
  const invoiceId = uuidOf(bytes.subarray(1, 1 + uuidBytes))
  const millis = signature.slice(signature.indexOf(".") + 1)
  const isValid = keys.some((key) => {
    if (key.id !== bytes[0]) return false
    const expected = signatureUnder(key, sessionToken, invoiceId, millis)
    return equal(Buffer.from(signature), Buffer.from(expected))
  })
  return isValid ? InvoiceId.make(invoiceId) : undefined
}
