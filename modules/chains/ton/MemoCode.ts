/**
 * Memos: the text that tells the invoices of one wallet apart. Eleven characters of a hash of the invoice's id and one
 * that checks them, in the alphabet of Crockford's base 32, which has no letters that look like digits.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const base = alphabet.length

/**
 * Characters of the hash: 55 bits. Of a million invoices of one wallet two have the same with a probability of 1 to
 * 70,000, and the second of them is then refused an address.
 */
const hashLength = 11

/** Characters of a memo. */
export const memoLength = hashLength + 1

/** A comment in which a memo is looked for, in characters: more than any exchange or wallet puts around one. */
export const searchedLength = 256

/** Luhn's algorithm modulo 32: notices every wrong character, and all but one swap of neighbours. */
const checkCharacterOf = (characters: string): string => {
  let sum = 0
  for (const [place, character] of [...characters].toReversed().entries()) {
    const addend = alphabet.indexOf(character) * (place % 2 === 0 ? 2 : 1)
    sum += Math.floor(addend / base) + addend % base
  }
  return alphabet[(base - sum % base) % base]!
}

/**
 * The memo of an invoice: of its id alone, so that deployments that share a wallet and restored backups never give one
 * out for two invoices.
 *
 * @example
 * memoCodeOf("inv_0198c0de-0000-7000-8000-000000000001") // => 12 characters like "7F3K9QTM2XVP"
 */
export const memoCodeOf = (invoiceId: string): string => {
  const digest = sha256(utf8ToBytes(`ton memo\n${invoiceId}`))
  let bits = 0n
  for (const byte of digest.subarray(0, 8)) bits = bits << 8n | BigInt(byte)
  let characters = ""
  for (let place = 0; place < hashLength; place++) {
    characters += alphabet[Number(bits & 31n)]!
    bits >>= 5n
  }
  return characters + checkCharacterOf(characters)
}

/** A memo as people type it, in its one spelling; null when its characters do not belong together. */
export const readMemoCode = (text: string): string | null => {
  const code = text.toUpperCase().replaceAll("O", "0").replaceAll(/[IL]/g, "1").replaceAll(/[\s\-_.]/g, "")
  if (code.length !== memoLength || [...code].some((character) => !alphabet.includes(character))) return null
  return checkCharacterOf(code.slice(0, hashLength)) === code[hashLength] ? code : null
}

/** Memos that a comment may hold: the whole of it, or one of its words. */
export const memoCodesIn = (comment: string): ReadonlyArray<string> => {
  const text = comment.slice(0, searchedLength)
  const codes = [text, ...text.split(/[^0-9A-Za-z-]+/)].map(readMemoCode)
  return [...new Set(codes.filter((code) => code !== null))]
}
