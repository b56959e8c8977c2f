/** Spellings of a transaction's hash that families share: each gives the one that drivers tell of, null for no hash. */
import { base58 } from "@scure/base"
import { Result } from "effect"

/** 32 bytes in hex, behind a prefix; in lower case. */
export const readHexHash = (text: string, prefix: "" | "0x"): string | null => {
  const lower = text.toLowerCase()
  return lower.startsWith(prefix) && /^[0-9a-f]{64}$/.test(lower.slice(prefix.length)) ? lower : null
}

/** The longest that 64 bytes are in base58. Decoding takes time by the square of the length. */
const maximumBase58Length = 88

/** So many bytes in base58. */
export const readBase58Hash = (text: string, length: number): string | null => {
  if (text.length > maximumBase58Length) return null
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(text)))
  return bytes?.length === length ? text : null
}
