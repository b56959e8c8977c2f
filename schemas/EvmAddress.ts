/** Addresses of the EVM family: one spelling each (EIP-55). */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/**
 * The checksummed form of a 20-byte address in any case (EIP-55).
 *
 * @example
 * toChecksumAddress("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266") // => "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
 */
export const toChecksumAddress = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, place) => hash[place]! >= "8" ? digit.toUpperCase() : digit).join("")}`
}

/**
 * The checksummed form of an address as people write it; null when it is none. Digits all of one case carry no
 * checksum; mixed ones do, and a wrong one is no address. Nor is zero, which nobody owns.
 */
export const readEvmAddress = (text: string): string | null => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text) || /^0x0+$/.test(text)) return null
  const address = toChecksumAddress(text)
  const digits = text.slice(2)
  const hasNoChecksum = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return hasNoChecksum || text === address ? address : null
}

/** The address of an account: the end of the hash of its public key. `point`: 65 bytes, uncompressed. */
export const evmAddressOf = (point: Uint8Array): string =>
  toChecksumAddress(`0x${bytesToHex(keccak_256(point.slice(1)).slice(12))}`)
