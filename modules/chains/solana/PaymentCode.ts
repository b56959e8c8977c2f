/**
 * The code of an invoice at a wallet that many invoices share. It is the memo, which people may type, and it is in the
 * reference of the payment link, which wallets add by themselves: both lead to one match key. Pure.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { base32crockford, base58 } from "@scure/base"
import { Result } from "effect"
import type { ReceiveTarget } from "../../../runtime/Chains.ts"

/**
 * Bytes of the hash in a code. Two invoices of one wallet have the same with a probability of 3 in 100 million among a
 * million invoices (n^2 / 2^65); the store then refuses the second.
 */
const hashBytes = 8
/** Bytes of its checksum: one typing error in 65,536 is not noticed, and then no invoice has the code. */
const checksumBytes = 2
/** Characters of a code: 5 bits each. */
const codeLength = (hashBytes + checksumBytes) * 8 / 5
/** Bytes of a reference: a public key's. */
const referenceLength = 32

const checksumOf = (hash: Uint8Array): Uint8Array =>
  sha256(concatBytes(utf8ToBytes("tillwire solana code"), hash)).subarray(0, checksumBytes)

const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, place) => byte === other[place])

/** Of the invoice's id and the wallet alone, so that no counter can give one out twice. */
export const codeOf = (wallet: string, invoiceId: string): string => {
  const hash = sha256(utf8ToBytes(`tillwire solana invoice\n${wallet}\n${invoiceId}`)).subarray(0, hashBytes)
  return base32crockford.encode(concatBytes(hash, checksumOf(hash)))
}

/** A code as it was typed, in its one spelling; null: it is none, or its checksum is wrong. */
const readCode = (text: string): string | null => {
  if (text.length !== codeLength) return null
  const bytes = Result.getOrUndefined(Result.try(() => base32crockford.decode(text)))
  if (bytes === undefined) return null
  const hash = bytes.subarray(0, hashBytes)
  return isEqual(bytes.subarray(hashBytes), checksumOf(hash)) ? base32crockford.encode(bytes) : null
}

/** Characters of a memo that are looked at: the memo program takes no more than a transaction holds (1,232 bytes). */
const memoLimit = 1_232

/**
 * The codes in a memo: the memo itself, spaces and hyphens aside, or words of it. Letters of either case, and `O`, `I`,
 * `L` for the digits that they look like (Crockford's base 32).
 */
export const codesInMemo = (memo: string): ReadonlyArray<string> => {
  const text = memo.slice(0, memoLimit)
  const candidates = [
    text.replace(/[\s-]/g, ""),
    ...text.split(/[^0-9A-Za-z-]+/).map((word) => word.replaceAll("-", ""))
  ]
  return [...new Set(candidates.flatMap((candidate) => readCode(candidate) ?? []))]
}

/** What fills a reference up to the length of a key: of no other wallet, and nothing that anybody holds a key to. */
const fillOf = (wallet: string, code: Uint8Array): Uint8Array =>
  sha256(concatBytes(utf8ToBytes(`tillwire solana reference\n${wallet}\n`), code))
    .subarray(0, referenceLength - code.length)

/** The key that a payment link has the transaction name: it holds the code. */
export const referenceOf = (wallet: string, code: string): string => {
  const bytes = base32crockford.decode(code)
  return base58.encode(concatBytes(bytes, fillOf(wallet, bytes)))
}

/** The code that a key of a transaction holds; null: it is no reference of this wallet. */
export const codeInReference = (wallet: string, key: string): string | null => {
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(key)))
  if (bytes?.length !== referenceLength) return null
  const code = bytes.subarray(0, hashBytes + checksumBytes)
  const hash = code.subarray(0, hashBytes)
  if (!isEqual(code.subarray(hashBytes), checksumOf(hash))) return null
  return isEqual(bytes.subarray(code.length), fillOf(wallet, code)) ? base32crockford.encode(code) : null
}

/** Match key of an invoice at a shared wallet. */
export const matchKeyOf = (wallet: string, code: string): string => `${wallet}:${code}`

/** What the payor of an invoice is asked to send to. */
export const sharedTargetOf = (wallet: string, invoiceId: string): ReceiveTarget => {
  const code = codeOf(wallet, invoiceId)
  return { address: wallet, matchKey: matchKeyOf(wallet, code), memo: code }
}
