/**
 * Addresses of wallets as people send them: read only where the network's own form and checksum are right. All that is
 * read is ASCII, so no homograph, bidirectional or invisible character survives.
 */
import { base58, base64, base64url, bech32 } from "@scure/base"
import { Result } from "effect"
import { readEvmAddress } from "./EvmAddress.ts"
import { type Environment, type Family, familyOf, type Network } from "./Network.ts"

/** Characters of an address, at most: the longest form is a Cardano base address of 108. */
export const maximumAddressLength = 128

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0)

const readEvm = (text: string): string | null => {
  const address = readEvmAddress(text)
  return address === null || /^0x0{40}$/.test(address) ? null : address
}

/** 32 bytes in base58; not the system program, whose bytes are all zero. */
const readSolana = (text: string): string | null => {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return null
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(text)))
  return bytes?.length !== 32 || isZero(bytes) ? null : text
}

/** CRC-16 of TON's friendly addresses: polynomial 0x1021, from zero (TEP-2). */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}

/** First byte of a friendly TON address (TEP-2): bounceable or not, and a bit for addresses of test networks only. */
const tonTags = { bounceable: 0x11, nonBounceable: 0x51, testOnly: 0x80 } as const

/** Workchains that exist: 0, and the masterchain as a byte. */
const tonWorkchains: ReadonlyArray<number> = [0, 0xff]

const tonHashBytes = 32

const friendlyTon = (tag: number, workchain: number, hash: Uint8Array): string => {
  const named = Uint8Array.of(tag, workchain, ...hash)
  const crc = crc16(named)
  return base64url.encode(Uint8Array.of(...named, crc >> 8, crc & 0xff))
}

const readFriendlyTon = (text: string, environment: Environment): string | null => {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/")
  const bytes = Result.getOrUndefined(Result.try(() => base64.decode(standard)))
  if (bytes === undefined) return null
  const [tag = 0, workchain = 1] = bytes
  const hash = bytes.slice(2, 2 + tonHashBytes)
  const kind = tag & ~tonTags.testOnly
  if (kind !== tonTags.bounceable && kind !== tonTags.nonBounceable) return null
  if (kind !== tag && environment === "mainnet") return null
  if (!tonWorkchains.includes(workchain) || isZero(hash)) return null
  const address = friendlyTon(tag, workchain, hash)
  return base64.encode(bytes) === address.replaceAll("-", "+").replaceAll("_", "/") ? address : null
}

/** A raw address has no checksum and no flags: it is shown as one that does not bounce, as wallets are paid. */
const readRawTon = (text: string, environment: Environment): string | null => {
  const [, workchain = "", digits = ""] = /^(0|-1):([0-9a-fA-F]{64})$/.exec(text) ?? []
  const hash = Uint8Array.from(Buffer.from(digits, "hex"))
  if (hash.length !== tonHashBytes || isZero(hash)) return null
  const tag = tonTags.nonBounceable | (environment === "devnet" ? tonTags.testOnly : 0)
  return friendlyTon(tag, workchain === "-1" ? 0xff : 0, hash)
}

const readTon = (text: string, environment: Environment): string | null =>
  /^[A-Za-z0-9_/+-]{48}$/.test(text) ? readFriendlyTon(text, environment) : readRawTon(text, environment)

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
  const found = bech32.decodeUnsafe(text, maximumAddressLength)
  if (found === undefined) return null
  const { id, prefix } = cardanoNetworks[environment]
  const bytes = bech32.fromWordsUnsafe(found.words)
  if (found.prefix !== prefix || !bytes) return null
  const header = bytes[0] ?? 0xff
  const fits = header >> 4 <= cardanoPayableTypes && (header & 0xf) === id &&
    cardanoLengthFits(header >> 4, bytes.length)
  return fits ? text.toLowerCase() : null
}

const readers: Readonly<Record<Family, (text: string, environment: Environment) => string | null>> = {
  evm: readEvm,
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
