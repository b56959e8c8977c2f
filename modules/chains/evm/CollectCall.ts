/** What is sent to the Collector, in the form of the ABI. */
import { selectors } from "./Contracts.ts"

/** In place of a token's address: the native coin. */
export const nativeCoin = `0x${"0".repeat(40)}`

/** 32 bytes of the ABI, in hexadecimal digits. */
const wordDigits = 64
const wordBytes = 32

const word = (hex: string): string => hex.toLowerCase().padStart(wordDigits, "0")

const numberWord = (value: number): string => word(value.toString(16))

const list = (values: ReadonlyArray<string>): string =>
  numberWord(values.length) + values.map((value) => word(value.slice(2))).join("")

/** Words before the two lists: the payee, and where each list begins. */
const headWords = 3

/**
 * The data of `collect(payee, tokens, salts)`, as a node takes it.
 *
 * @example
 * collectData(payee, [nativeCoin, usdc], [salt])
 */
export const collectData = (
  payee: string,
  tokens: ReadonlyArray<string>,
  salts: ReadonlyArray<string>
): string => {
  const tokensAt = headWords * wordBytes
  const saltsAt = tokensAt + (1 + tokens.length) * wordBytes
  const head = word(payee.slice(2)) + numberWord(tokensAt) + numberWord(saltsAt)
  return selectors.collect + head + list(tokens) + list(salts)
}
