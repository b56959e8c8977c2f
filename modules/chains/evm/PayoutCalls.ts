/**
 * What a wallet sends to pay a part of a batch, or to collect: the calls of contracts, in the form of the ABI, and the
 * hashes by which the chain names the part. Pure.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import type { BatchPart, CollectPart, PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { numberWord, word, wordBytes } from "./AbiWords.ts"
import { collectData, nativeCoin } from "./CollectCall.ts"
import { collector, payer, selectors } from "./Contracts.ts"

/** A call of a contract, or coins for an account. */
export interface Call {
  readonly to: string
  readonly value: bigint
  /** `0x` and hexadecimal digits. */
  readonly data: string
}

/** The first 4 bytes of calls of a token (EIP-20). */
export const tokenSelectors = {
  transfer: "0xa9059cbb",
  approve: "0x095ea7b3",
  allowance: "0xdd62ed3e"
} as const

const keccak = (bytes: Uint8Array): string => `0x${bytesToHex(keccak_256(bytes))}`

/**
 * The name that the Payer keeps a part under, for ever: keccak256 of `tillwire:batch:<uuid>:<part>`. It is the same for
 * each export of the part, so that two exports of one part are never both paid.
 */
export const partReference = ({ batchId, part }: Pick<BatchPart, "batchId" | "part">): string =>
  keccak(utf8ToBytes(`tillwire:batch:${batchId.replace(/^bat_/, "")}:${part}`))

/**
 * The name of one export among wallets: the same calls have the same one. Wallets refuse an id that they know, also of
 * calls that came too late, so another export of the part needs another.
 */
export const exportName = (part: Pick<BatchPart, "batchId" | "part">, calls: ReadonlyArray<Call>): string =>
  keccak(utf8ToBytes(JSON.stringify([partReference(part), calls.map(({ data, to, value }) => [to, `${value}`, data])])))

/** Words before the lines in `pay`: payer, chain, batch, time, and where the lines begin. */
const payHeadWords = 5

const lineWords = ({ amount, destination, tokenAddress }: PayoutLine): string =>
  word(tokenAddress ?? nativeCoin) + word(destination) + numberWord(amount)

const linesWords = (lines: ReadonlyArray<PayoutLine>): string =>
  numberWord(lines.length) + lines.map(lineWords).join("")

/** `content` in the log `Paid` of the Payer: keccak256(abi.encode(validUntil, lines)). */
export const contentHash = (validUntil: number, lines: ReadonlyArray<PayoutLine>): string =>
  keccak(hexToBytes(numberWord(validUntil) + numberWord(2 * wordBytes) + linesWords(lines)))

/** The sum of the lines of each token, in the order of their first lines; null: the native coin. */
export const sumsByToken = (lines: ReadonlyArray<PayoutLine>): ReadonlyMap<string | null, bigint> => {
  const sums = new Map<string | null, bigint>()
  for (const { amount, tokenAddress } of lines) sums.set(tokenAddress, (sums.get(tokenAddress) ?? 0n) + amount)
  return sums
}

/** A line as the Payer was given it. */
export interface PaidLine {
  /** Null: the native coin. */
  readonly tokenAddress: string | null
  readonly to: string
  readonly amount: bigint
}

const wordDigits = 2 * wordBytes

const readLine = (words: string): PaidLine => {
  const [token, to, amount] = [0, 1, 2].map((place) => words.slice(place * wordDigits, (place + 1) * wordDigits))
  const address = (text: string) => toChecksumAddress(`0x${text.slice(-40)}`)
  return {
    tokenAddress: BigInt(`0x${token}`) === 0n ? null : address(token!),
    to: address(to!),
    amount: BigInt(`0x${amount}`)
  }
}

/** Words of a line: its token, its receiver and its amount. */
const lineWordCount = 3

/**
 * The lines that `pay` was given, from the data of a transaction, or of one that carries the call for a wallet which is
 * a contract. `content`: what the Payer has logged of them, which proves them. Null: they are not in the data.
 */
export const readPaidLines = (data: string, content: string): ReadonlyArray<PaidLine> | null => {
  const digits = data.slice(2).toLowerCase()
  const selector = selectors.pay.slice(2)
  for (let at = digits.indexOf(selector); at !== -1; at = digits.indexOf(selector, at + 1)) {
    const words = digits.slice(at + selector.length)
    const wordAt = (place: number) => words.slice(place * wordDigits, (place + 1) * wordDigits)
    const count = BigInt(`0x0${wordAt(payHeadWords)}`)
    if (count * BigInt(lineWordCount * wordDigits) > BigInt(words.length)) continue
    const size = lineWordCount * wordDigits
    const lines = words.slice((payHeadWords + 1) * wordDigits).slice(0, Number(count) * size)
    if (keccak(hexToBytes(wordAt(3) + numberWord(2 * wordBytes) + numberWord(count) + lines)) !== content) continue
    return Array.from({ length: Number(count) }, (_, place) => readLine(lines.slice(place * size, (place + 1) * size)))
  }
  return null
}

const approveCall = (token: string, amount: bigint): Call => ({
  to: token,
  value: 0n,
  data: tokenSelectors.approve + word(payer.address) + numberWord(amount)
})

/** What an export of a payout is made of. */
export interface PayTerms {
  readonly chainId: number
  /** Epoch seconds. */
  readonly validUntil: number
  /** What the Payer may take of the wallet's tokens now, by token. */
  readonly allowances: ReadonlyMap<string, bigint>
}

export const payCall = (part: PayoutPart, { chainId, validUntil }: Omit<PayTerms, "allowances">): Call => ({
  to: payer.address,
  value: sumsByToken(part.lines).get(null) ?? 0n,
  data: selectors.pay + word(part.from) + numberWord(chainId) + word(partReference(part)) + numberWord(validUntil) +
    numberWord(payHeadWords * wordBytes) + linesWords(part.lines)
})

/**
 * The calls of the wallet, in this order: the approval of each token's sum, then the payment. An existing allowance is
 * set to 0 first, because some tokens, such as USDT on Ethereum, refuse to change one that is not 0.
 */
export const payoutCalls = (part: PayoutPart, terms: PayTerms): ReadonlyArray<Call> => [
  ...[...sumsByToken(part.lines)].flatMap(([token, sum]) => {
    if (token === null) return []
    const reset = (terms.allowances.get(token) ?? 0n) > 0n ? [approveCall(token, 0n)] : []
    return [...reset, approveCall(token, sum)]
  }),
  payCall(part, terms)
]

/** The call by which the wallet would pay a line itself, without the Payer. */
export const transferCall = ({ amount, destination, tokenAddress }: PayoutLine): Call =>
  tokenAddress === null ? { to: destination, value: amount, data: "0x" } : {
    to: tokenAddress,
    value: 0n,
    data: tokenSelectors.transfer + word(destination) + numberWord(amount)
  }

const distinct = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(values)]

/** How many addresses a call of a part empties. */
export const addressCount = ({ lines }: CollectPart): number => distinct(lines.map(({ salt }) => salt)).length

/** One call that anybody may send: every address of the part is emptied of every token of the part. */
export const collectCall = ({ lines, payee }: CollectPart): Call => ({
  to: collector.address,
  value: 0n,
  data: collectData(
    payee,
    distinct(lines.map(({ tokenAddress }) => tokenAddress ?? nativeCoin)),
    distinct(lines.map(({ salt }) => salt))
  )
})
