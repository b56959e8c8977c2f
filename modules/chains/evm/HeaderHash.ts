/**
 * Whether a block's header is the one that its hash names: what a node shows of a header can be checked without another
 * node.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"

/** A header as a node shows it, field by field. */
export type RawHeader = Readonly<Record<string, unknown>>

/** Fields of every header, in the order in which they are hashed (Ethereum Yellow Paper, section 4.3). */
const firstFields = [
  "parentHash",
  "sha3Uncles",
  "miner",
  "stateRoot",
  "transactionsRoot",
  "receiptsRoot",
  "logsBloom",
  "difficulty",
  "number",
  "gasLimit",
  "gasUsed",
  "timestamp",
  "extraData",
  "mixHash",
  "nonce"
]
/** Fields that forks added behind them, in their order: EIP-1559, EIP-4895, EIP-4844 (two), EIP-4788, EIP-7685. */
const ethereumFields = [
  "baseFeePerGas",
  "withdrawalsRoot",
  "blobGasUsed",
  "excessBlobGas",
  "parentBeaconBlockRoot",
  "requestsHash"
]
/** The same of Avalanche's C-Chain (coreth, `core/types`). */
const avalancheFields = [
  "extDataHash",
  "baseFeePerGas",
  "extDataGasUsed",
  "blockGasCost",
  "blobGasUsed",
  "excessBlobGas",
  "parentBeaconBlockRoot"
]
/** Numbers, which are hashed without leading zeros. */
const quantities = new Set([
  "difficulty",
  "number",
  "gasLimit",
  "gasUsed",
  "timestamp",
  "baseFeePerGas",
  "blobGasUsed",
  "excessBlobGas",
  "extDataGasUsed",
  "blockGasCost"
])

/** Fields that may be part of a header, so that a reader of blocks keeps them. */
export const hashedFields: ReadonlyArray<string> = [
  ...new Set([...firstFields, ...ethereumFields, ...avalancheFields])
]

const bytesOf = (name: string, value: string): Uint8Array => {
  const digits = value.slice(2)
  const significant = quantities.has(name) ? digits.replace(/^0+/, "") : digits
  return hexToBytes(significant.length % 2 === 0 ? significant : `0${significant}`)
}

/** The length of an item in the recursive length prefix (Ethereum Yellow Paper, appendix B). */
const lengthPrefix = (length: number, offset: number): Uint8Array => {
  if (length < 56) return Uint8Array.of(offset + length)
  const size = length.toString(16)
  const bytes = hexToBytes(size.length % 2 === 0 ? size : `0${size}`)
  return concatBytes(Uint8Array.of(offset + 55 + bytes.length), bytes)
}

const encodedItem = (item: Uint8Array): Uint8Array =>
  item.length === 1 && item[0]! < 0x80 ? item : concatBytes(lengthPrefix(item.length, 0x80), item)

const hashOf = (header: RawHeader, fields: ReadonlyArray<string>): string => {
  const items = concatBytes(...fields.map((name) => encodedItem(bytesOf(name, header[name] as string))))
  return `0x${bytesToHex(keccak_256(concatBytes(lengthPrefix(items.length, 0xc0), items)))}`
}

/**
 * Whether the header's fields hash to its own hash. True proves every field that a header has on Ethereum; false proves
 * nothing, for networks add fields of their own.
 */
export const isProvenHeader = (header: RawHeader): boolean => {
  const isHex = (name: string) => typeof header[name] === "string" && /^0x[0-9a-f]*$/i.test(header[name])
  if (!isHex("hash") || !firstFields.every(isHex)) return false
  const hash = (header["hash"] as string).toLowerCase()
  return [ethereumFields, avalancheFields].some((later) => {
    const present = later.filter(isHex)
    // A node may name fields that its chain does not hash yet: they are the last.
    return Array.from({ length: present.length + 1 }, (_, omitted) => present.slice(0, present.length - omitted))
      .some((fields) => hashOf(header, [...firstFields, ...fields]) === hash)
  })
}
