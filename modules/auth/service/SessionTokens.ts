/** The token and the signature of a payment session: made for an invoice, and read back into it, without a look-up. */
import { timingSafeEqual } from "node:crypto"
import { hmacUnder } from "../../../runtime/Hmac.ts"
import type { DerivedKey } from "../../../runtime/Secrets.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"

/** Bytes of the keyed hash in a session token: 128 bits. */
const tokenMacBytes = 16
const uuidBytes = 16

const tokenPattern = /^pst_[A-Za-z0-9_-]{44}$/
/** The end of a signature whose session may view and pay, and change nothing that its payor said. */
const viewOnlySuffix = ".view"

const signaturePattern = /^[0-9a-f]{64}\.\d{1,15}(\.view)?$/

/** A key that sessions are made under. */
export interface SessionKey {
  /** As of its {@link DerivedKey}. */
  readonly id: number
  /** {@link hmacUnder} it. */
  readonly hmac: ReturnType<typeof hmacUnder>
}

export const sessionKey = ({ id, key }: DerivedKey): SessionKey => ({ id, hmac: hmacUnder(key) })

const equal = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** Two hex digits a byte. */
const hexDigits = (bytes: number): number => 2 * bytes

const tokenUnder = ({ hmac, id }: SessionKey, invoiceId: string): string => {
  const payload = id.toString(16).padStart(hexDigits(1), "0") + invoiceId.replaceAll("-", "")
  const mac = hmac(payload, "hex").slice(0, hexDigits(tokenMacBytes))
  return `pst_${Buffer.from(payload + mac, "hex").toString("base64url")}`
}

/** `ending`: the time, and what the session may do. */
const signatureUnder = ({ hmac }: SessionKey, sessionToken: string, invoiceId: string, ending: string): string =>
  `${hmac(`${sessionToken}.${invoiceId}.${ending}`, "utf8")}.${ending}`

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
export const mintSession = (
  key: SessionKey,
  invoiceId: string,
  nowMillis: number,
  isViewOnly = false
): PayorSession => {
  const sessionToken = tokenUnder(key, invoiceId)
  const ending = `${nowMillis}${isViewOnly ? viewOnlySuffix : ""}`
  return { sessionToken, signature: signatureUnder(key, sessionToken, invoiceId, ending) }
}

/** Whether a session that {@link readSession} opened may only view and pay. */
export const isViewOnly = ({ signature }: Pick<PayorSession, "signature">): boolean =>
  signature.endsWith(viewOnlySuffix)

/**
 * The invoice that a pair opens under one of `keys`; undefined for any other pair. Costs no look-up and, past the form,
 * the same time whatever differs. The token's own hash is not computed again: the signature is over the whole token,
 * and nothing but a token of ours is ever signed.
 */
export const readSession = (
  keys: ReadonlyArray<SessionKey>,
  { sessionToken, signature }: PayorSession
): InvoiceId | undefined => {
  if (!tokenPattern.test(sessionToken) || !signaturePattern.test(signature)) return undefined
  const bytes = Buffer.from(sessionToken.slice(4), "base64url")
  const invoiceId = uuidOf(bytes.subarray(1, 1 + uuidBytes))
  const ending = signature.slice(signature.indexOf(".") + 1)
  const isValid = keys.some((key) => {
    if (key.id !== bytes[0]) return false
    const expected = signatureUnder(key, sessionToken, invoiceId, ending)
    return equal(Buffer.from(signature), Buffer.from(expected))
  })
  return isValid ? InvoiceId.make(invoiceId) : undefined
}
