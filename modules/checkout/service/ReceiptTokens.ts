/** The token of a receipt's link: a hash of the invoice's id under a key of its own. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { DerivedKey } from "../../../runtime/Secrets.ts"

/** Bytes of the hash in a token: 192 bits, which nobody guesses. */
const hashBytes = 24

/** The id of the key, then the hash. */
const tokenPattern = /^[A-Za-z0-9_-]{34}$/

const hashUnder = ({ key }: DerivedKey, invoiceId: string): Buffer =>
  createHmac("sha256", key).update(invoiceId).digest().subarray(0, hashBytes)

/** The token of an invoice's receipt: the same each time, so that a link that was copied twice is one link. */
export const receiptTokenOf = (key: DerivedKey, invoiceId: string): string =>
  Buffer.concat([Buffer.of(key.id), hashUnder(key, invoiceId)]).toString("base64url")

/** Whether a token opens the receipt of an invoice; `keys` are of the receipts' own label. */
export const opensReceipt = (keys: ReadonlyArray<DerivedKey>, invoiceId: string, token: string): boolean => {
  if (!tokenPattern.test(token)) return false
  const bytes = Buffer.from(token, "base64url")
  const key = keys.find(({ id }) => id === bytes[0])
  return key !== undefined && timingSafeEqual(bytes.subarray(1), hashUnder(key, invoiceId))
}
