/**
 * Writes CBOR in the canonical form that hardware wallets ask for (CIP-21; RFC 7049, 3.9): shortest numbers, known
 * lengths, keys of maps the shorter first. An item is the bytes that it is written as. Pure.
 */
import { concatBytes } from "@noble/hashes/utils.js"

const major = { unsigned: 0, bytes: 2, text: 3, array: 4, map: 5 } as const

/** Bytes that follow the first one where a number does not fit into it, and what the first one says then. */
const widths = [[1, 24], [2, 25], [4, 26], [8, 27]] as const

const head = (kind: number, value: bigint): Uint8Array => {
  if (value < 24n) return Uint8Array.of(kind << 5 | Number(value))
  const [width, information] = widths.find(([bytes]) => value < 1n << BigInt(8 * bytes)) ?? widths[3]
  const digits = BigInt.asUintN(64, value).toString(16).padStart(2 * width, "0")
  return concatBytes(Uint8Array.of(kind << 5 | information), Uint8Array.from(Buffer.from(digits, "hex")))
}

/** A number of 0 to 2^64 - 1. */
export const integer = (value: bigint): Uint8Array => head(major.unsigned, value)

export const byteString = (content: Uint8Array): Uint8Array =>
  concatBytes(head(major.bytes, BigInt(content.length)), content)

export const text = (content: string): Uint8Array => {
  const utf8 = Uint8Array.from(Buffer.from(content, "utf8"))
  return concatBytes(head(major.text, BigInt(utf8.length)), utf8)
}

export const array = (items: ReadonlyArray<Uint8Array>): Uint8Array =>
  concatBytes(head(major.array, BigInt(items.length)), ...items)

const compareKeys = (one: Uint8Array, other: Uint8Array): number =>
  one.length - other.length || Buffer.compare(one, other)

export const map = (pairs: ReadonlyArray<readonly [key: Uint8Array, value: Uint8Array]>): Uint8Array =>
  concatBytes(
    head(major.map, BigInt(pairs.length)),
    ...pairs.toSorted(([one], [other]) => compareKeys(one, other)).flat()
  )

/** What stands for an empty map of witnesses, and for a transaction whose scripts do not fail. */
export const emptyMap = Uint8Array.of(0xa0)
export const yes = Uint8Array.of(0xf5)
