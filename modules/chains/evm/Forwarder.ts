/**
 * Receiving addresses that can pay one account only: forwarders, whose addresses the Collector computes by CREATE2
 * (EIP-1014) from the payee and a salt. Here they are computed without a node.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { collector, forwarderHash } from "./Contracts.ts"

/** Bytes of a seed. */
export const seedBytes = 32

/**
 * Indexes behind the next one that a recovery still looks at, all of them empty, before it ends: whoever recovers may
 * have an older document than the last address that was given out.
 */
export const recoveryGap = 1_000

const bytesOf = (hex: string): Uint8Array => hexToBytes(hex.slice(2))

const collectorBytes = bytesOf(collector.address)

/** What CREATE2 hashes, but for the salt between the two. */
const create2Prefix = concatBytes(Uint8Array.of(0xff), collectorBytes)
const create2Suffix = bytesOf(forwarderHash)

/** An address, or a number, as the ABI writes it. */
const wordBytes = 32

const indexWord = (index: number): Uint8Array => {
  const word = new Uint8Array(wordBytes)
  new DataView(word.buffer).setBigUint64(wordBytes - 8, BigInt(index))
  return word
}

/** The salt that `collect` is given for the address with this index: keccak256 of the seed and the index. */
export const forwarderSalt = (seed: Uint8Array, index: number): string => `0x${bytesToHex(saltBytes(seed, index))}`

const saltBytes = (seed: Uint8Array, index: number): Uint8Array => keccak_256(concatBytes(seed, indexWord(index)))

/** The address that pays to `payee`, from the salt that `collect` is given (EIP-55). */
export const forwarderAddress = (payee: string, salt: string): string => addressFrom(payeeWord(payee), bytesOf(salt))

const payeeWord = (payee: string): Uint8Array => concatBytes(new Uint8Array(12), bytesOf(payee))

const addressFrom = (payeeWord: Uint8Array, salt: Uint8Array): string => {
  const ownSalt = keccak_256(concatBytes(payeeWord, salt))
  const hash = keccak_256(concatBytes(create2Prefix, ownSalt, create2Suffix))
  return toChecksumAddress(`0x${bytesToHex(hash.subarray(12))}`)
}

/** Addresses of one payee and one seed, by index. */
export interface Forwarders {
  /** The same for the same Collector, payee and seed, and for no others. It is no way back to the seed. */
  readonly fingerprint: string
  readonly salt: (index: number) => string
  readonly address: (index: number) => string
}

/** The addresses that pay to `payee`. `seed`: 32 random bytes, without which nobody finds the addresses again. */
export const forwarders = (payee: string, seed: Uint8Array): Forwarders => {
  if (seed.length !== seedBytes) throw new RangeError(`a seed has ${seedBytes} bytes, not ${seed.length}`)
  const word = payeeWord(payee)
  return {
    fingerprint: bytesToHex(sha256(concatBytes(utf8ToBytes("forwarder\n"), collectorBytes, bytesOf(payee), seed))),
    salt: (index) => forwarderSalt(seed, index),
    address: (index) => addressFrom(word, saltBytes(seed, index))
  }
}

/** A receiving address with what `collect` needs to empty it. */
export interface ForwarderAddress {
  readonly index: number
  readonly salt: string
  readonly address: string
}

/** `count` addresses from the index `start` on: what a recovery reads the balances of. */
export const forwarderList = (
  { address, salt }: Forwarders,
  start: number,
  count: number
): ReadonlyArray<ForwarderAddress> =>
  Array.from({ length: count }, (_, place) => {
    const index = start + place
    return { index, salt: salt(index), address: address(index) }
  })

/**
 * The code that the chain shows at an address that was collected once: 50 bytes, the same for all. They obey the
 * Collector and stop for everybody else.
 */
export const forwarderCode = `0x3373${
  bytesToHex(collectorBytes)
}14601b57005b3d3d604036038060403d373d6020353d355af16000f3`

/** The code that creates it; its keccak256 is `forwarderHash`. */
export const forwarderInitCode = `0x60328060093d393df3${forwarderCode.slice(2)}`
