/** What is sent to the Collector, in the form of the ABI. */
import { numberWord, word, wordBytes } from "./AbiWords.ts"
import { selectors } from "./Contracts.ts"

/** In place of a token's address: the native coin. */
export const nativeCoin = `0x${"0".repeat(40)}`

const list = (values: ReadonlyArray<string>): string => numberWord(values.length) + values.map(word).join("")

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
  const head = word(payee) + numberWord(tokensAt) + numberWord(saltsAt)
  return selectors.collect + head + list(tokens) + list(salts)
}
