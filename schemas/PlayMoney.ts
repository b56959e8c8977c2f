/**
 * What play money comes from and what of it arrives by mistake, as each family of networks spells them. A family that
 * has no play money is not in these tables.
 */
import { base58, bech32 } from "@scure/base"
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { descriptorOf, familyOf, type Network } from "./Network.ts"
import { tokenAddress } from "./Token.ts"
import { tonAddressText } from "./TonAddress.ts"

/** Byte of which the sender's addresses are made. */
const senderByte = 0x51

/** Byte of which the addresses of the token are made. */
const tokenByte = 0xde

const repeat = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte)

const hex = (byte: number, length: number): string => bytesToHex(repeat(byte, length))

/** A base address of a test network: its header is zero, the two parts are hashes of 28 bytes (CIP-19). */
export const cardanoTestAddress = (paymentPart: Uint8Array, stakePart: Uint8Array): string =>
  bech32.encode("addr_test", bech32.toWords(Uint8Array.of(0, ...paymentPart, ...stakePart)), false)

/** Bytes of a hash of a key in a Cardano address (CIP-19), and of a policy's id. */
export const cardanoHashLength = 28

/** By family. */
type Spellings<A> = Readonly<Record<string, A | undefined>>

const senders: Spellings<string> = {
  evm: `0x${hex(senderByte, 20)}`,
  solana: base58.encode(repeat(senderByte, 32)),
  ton: tonAddressText({ workchain: 0, hash: repeat(senderByte, 32) }, { bounceable: false, testOnly: true }),
  sui: `0x${hex(senderByte, 32)}`,
  cardano: cardanoTestAddress(repeat(senderByte, cardanoHashLength), repeat(senderByte, cardanoHashLength))
}

/**
 * The wallet that play money comes from; null: the network's family has none. Nobody has its key, so no block explorer
 * knows a transfer of it.
 */
export const playMoneySender = (network: Network): string | null => senders[familyOf(network)] ?? null

const symbol = "UNLISTED"

const tokenAddresses: Spellings<string> = {
  evm: `0x${hex(tokenByte, 20)}`,
  solana: base58.encode(repeat(tokenByte, 32)),
  ton: tonAddressText({ workchain: 0, hash: repeat(tokenByte, 32) }, { bounceable: true, testOnly: true }),
  sui: `0x${hex(tokenByte, 32)}::unlisted::${symbol}`,
  cardano: `${hex(tokenByte, cardanoHashLength)}${bytesToHex(utf8ToBytes(symbol))}`
}

/** A token that no catalogue lists, and what its contract says of itself. */
export interface UnlistedPlayToken {
  readonly address: string
  readonly symbol: string
  readonly decimals: number
}

/** What arrives by mistake; null: the network's family has no such token. */
export const unlistedPlayToken = (network: Network): UnlistedPlayToken | null => {
  const address = tokenAddress(network, tokenAddresses[familyOf(network)] ?? "")
  return address === null ? null : { address, symbol, decimals: 18 }
}

/** Where it is not hex. A signature on Solana has twice as many bytes as a hash. */
const hashTexts: Spellings<(digits: string) => string> = {
  solana: (digits) => base58.encode(hexToBytes(`${digits}${digits}`)),
  sui: (digits) => base58.encode(hexToBytes(digits))
}

/**
 * A transaction or a block of play money as the network's family names them. `digits`: 64 in hex that only it has;
 * names of one length are in their order.
 */
export const playMoneyHash = (network: Network, digits: string): string =>
  hashTexts[familyOf(network)]?.(digits) ?? `${descriptorOf(network).family.hashPrefix}${digits}`
