/**
 * Addresses of wallets as people send them: read only where the network's own form and checksum are right. All that is
 * read is ASCII, so no homograph, bidirectional or invisible character survives.
 */
import { base58, bech32 } from "@scure/base"
import { Result } from "effect"
import { readEvmAddress } from "./EvmAddress.ts"
import { type Environment, type Family, familyOf, type Network } from "./Network.ts"
import { readTonAddress, tonAddressText } from "./TonAddress.ts"

/** Characters of an address, at most: the longest form is a Cardano base address of 108. */
export const maximumAddressLength = 128

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0)

/** 32 bytes in base58; not the system program, whose bytes are all zero. */
const readSolana = (text: string): string | null => {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return null
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(text)))
  return bytes?.length !== 32 || isZero(bytes) ? null : text
}

/** A raw address has no flags: it is shown as one that does not bounce, as wallets are paid. */
const readTon = (text: string, environment: Environment): string | null => {
  const address = readTonAddress(text)
  if (address === null || isZero(address.hash)) return null
  const flags = address.flags ?? { bounceable: false, testOnly: environment === "devnet" }
  return flags.testOnly && environment === "mainnet" ? null : tonAddressText(address, flags)
}

const readSui = (text: string): string | null =>
  /^0x[0-9a-fA-F]{64}$/.test(text) && !/^0x0+$/.test(text) ? text.toLowerCase() : null

/** What a Shelley address begins with, by environment (CIP-5), and the network it names in its header (CIP-19). */
const cardanoNetworks: Readonly<Record<Environment, { readonly prefix: string; readonly id: number }>> = {
  mainnet: { prefix: "addr", id: 1 },
  devnet: { prefix: "addr_test", id: 0 }
}

/** Highest header type of an address that can be paid: 0 to 7; above are stake and Byron addresses (CIP-19). */
const cardanoPayableTypes = 7

/** Bytes by header type: a payment part of 28, and a stake part of 28, a pointer of at least 3, or none (CIP-19). */
const cardanoLengthFits = (type: number, length: number): boolean =>
  type <= 3 ? length === 57 : type <= 5 ? length >= 32 && length <= 47 : length === 29

const readCardano = (text: string, environment: Environment): string | null => {
  const decoded = bech32.decodeUnsafe(text, maximumAddressLength)
  if (decoded === undefined) return null
  const { id, prefix } = cardanoNetworks[environment]
  const bytes = bech32.fromWordsUnsafe(decoded.words)
  if (decoded.prefix !== prefix || !bytes) return null
  const header = bytes[0] ?? 0xff
  const fits = header >> 4 <= cardanoPayableTypes && (header & 0xf) === id &&
    cardanoLengthFits(header >> 4, bytes.length)
  return fits ? text.toLowerCase() : null
}

const readers: Readonly<Record<Family, (text: string, environment: Environment) => string | null>> = {
  evm: readEvmAddress,
  solana: readSolana,
  ton: readTon,
  sui: readSui,
  cardano: readCardano
}

/**
 * An address of `network` in the one form it is kept in; null when it is none, is of the other environment where the
 * form tells, or is one that nobody can own. EVM: EIP-55 where the case is mixed. Solana: 32 bytes. TON: raw, or
 * friendly with its CRC. Sui: 32 bytes in full. Cardano: a Shelley payment address; Byron's old ones are not taken.
 *
 * @example
 * readAddress("base", "mainnet", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
 * // => "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
 */
export const readAddress = (network: Network, environment: Environment, text: string): string | null =>
  text.length > maximumAddressLength ? null : readers[familyOf(network)](text, environment)
