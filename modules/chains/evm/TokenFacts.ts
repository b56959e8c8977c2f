/**
 * What a contract says of the token it claims to be. Anybody can make a contract and choose what it answers, so nothing
 * of it is believed: texts are cut and stripped of what does not show, and an answer of another form is none. Pure.
 */
import type { ContractToken } from "../../../runtime/Chains.ts"

/** `symbol()`, `decimals()` and `balanceOf(address)` (EIP-20). */
export const symbolSelector = "0x95d89b41"
export const decimalsSelector = "0x313ce567"
export const balanceSelector = "0x70a08231"

/** Characters of a symbol that are kept: the longest in token lists have 20. */
export const maximumSymbolLength = 32

/** 255 is the most that `uint8` holds, which EIP-20 says decimals are. */
const maximumDecimals = 255n

/**
 * Controls, formats such as the marks of direction, lone surrogates, private and unassigned characters; and white
 * space.
 */
const invisible = /[\p{C}\p{Z}\s]+/gu

const wordBytes = 32

const bytesOf = (answer: string): Buffer | null =>
  /^0x([0-9a-f]{2})*$/i.test(answer) ? Buffer.from(answer.slice(2), "hex") : null

const lengthAt = (bytes: Buffer, offset: number): number | null => {
  const word = bytes.subarray(offset, offset + wordBytes)
  if (word.length < wordBytes) return null
  const value = BigInt(`0x${word.toString("hex")}`)
  return value <= BigInt(bytes.length) ? Number(value) : null
}

/** The bytes of an ABI-encoded `string`; of one word, as old tokens answer, all up to the first zero. */
const textBytes = (bytes: Buffer): Buffer | null => {
  if (bytes.length === wordBytes) {
    const end = bytes.indexOf(0)
    return end === -1 ? bytes : bytes.subarray(0, end)
  }
  const offset = lengthAt(bytes, 0)
  const length = offset === null ? null : lengthAt(bytes, offset)
  if (offset === null || length === null) return null
  const text = bytes.subarray(offset + wordBytes, offset + wordBytes + length)
  return text.length === length ? text : null
}

/** The answer to `symbol()`; null where it is no text or nothing of it shows. */
export const readSymbol = (answer: string): string | null => {
  const bytes = bytesOf(answer)
  const text = bytes === null ? null : textBytes(bytes)
  if (text === null) return null
  // Four bytes are the most that a character has: the rest cannot be of those that are kept.
  const visible = new TextDecoder().decode(text.subarray(0, 8 * maximumSymbolLength)).replace(invisible, " ").trim()
  const cut = [...visible].slice(0, maximumSymbolLength).join("")
  return cut === "" ? null : cut
}

/** The answer to `decimals()`, 0 to 255; null where it is anything else. */
export const readDecimals = (answer: string): number | null => {
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) return null
  const value = BigInt(answer)
  return value <= maximumDecimals ? Number(value) : null
}

export const contractToken = (symbol: string, decimals: string): ContractToken => ({
  symbol: readSymbol(symbol),
  decimals: readDecimals(decimals)
})
