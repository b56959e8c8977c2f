/** Addresses, coin types and digests of Sui in the one spelling that is kept (docs.sui.io, "Move concepts"). Pure. */
import { base58 } from "@scure/base"
import { Result } from "effect"

/** Type of the network's own coin, as every spelling of it is kept. */
export const nativeCoinType = `0x${"2".padStart(64, "0")}::sui::SUI`

/**
 * Characters of a coin type, at most: those of real coins have about 80. One that is longer is no token of any list,
 * and whoever made it may have chosen its length.
 */
export const maximumCoinTypeLength = 512

/** 32 bytes as 64 lower-case digits: nodes leave leading zeros out where they like. */
export const canonicalAddress = (text: string): string | null => {
  const digits = /^(?:0x)?([0-9a-f]{1,64})$/i.exec(text)?.[1]
  return digits === undefined ? null : `0x${digits.toLowerCase().padStart(64, "0")}`
}

/** `address::module::name`, where the name may have types of its own in angle brackets. */
const coinTypePattern = /^0x[0-9a-f]{64}::[a-z_]\w{0,127}::[a-z_]\w{0,127}(?:<[\w:,<>]+>)?$/i

/**
 * A coin type with every address in it in full, so that `0x2::sui::SUI` and its padded form are one token; null where
 * it is none.
 */
export const canonicalCoinType = (text: string): string | null => {
  if (text.length > maximumCoinTypeLength) return null
  const padded = text.replace(/\s+/g, "").replace(
    /(^|[<,])(?:0x)?([0-9a-f]{1,64})(?=::)/gi,
    (_, before: string, digits: string) => `${before}0x${digits.toLowerCase().padStart(64, "0")}`
  )
  return coinTypePattern.test(padded) ? padded : null
}

/** Whether a text is the digest of a transaction or a checkpoint: 32 bytes in base58. */
export const isDigest = (text: string): boolean =>
  /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) &&
  Result.getOrElse(Result.try(() => base58.decode(text).length === 32), () => false)
