/** Cardano. Shelley addresses are bech32 (CIP-19); an asset is its policy and its name. */
import { bech32 } from "@scure/base"
import type { Environment } from "../Environment.ts"
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readHexHash } from "../TransactionHash.ts"

/** Characters of a base address on the test network, with room: bech32's own limit of 90 is not Cardano's (CIP-19). */
const maximumLength = 128

/** What a Shelley address begins with, by environment (CIP-5), and the network it names in its header (CIP-19). */
const addressNetworks: Readonly<Record<Environment, { readonly prefix: string; readonly id: number }>> = {
  mainnet: { prefix: "addr", id: 1 },
  devnet: { prefix: "addr_test", id: 0 }
}

/** Highest header type of an address that can be paid: 0 to 7; above are stake and Byron addresses (CIP-19). */
const payableTypes = 7

/** Bytes by header type: a payment part of 28, and a stake part of 28, a pointer of at least 3, or none (CIP-19). */
const lengthFits = (type: number, length: number): boolean =>
  type <= 3 ? length === 57 : type <= 5 ? length >= 32 && length <= 47 : length === 29

const readCardanoAddress = (text: string, environment: Environment): string | null => {
  const decoded = bech32.decodeUnsafe(text, maximumLength)
  if (decoded === undefined) return null
  const { id, prefix } = addressNetworks[environment]
  const bytes = bech32.fromWordsUnsafe(decoded.words)
  if (decoded.prefix !== prefix || !bytes) return null
  const header = bytes[0] ?? 0xff
  const fits = header >> 4 <= payableTypes && (header & 0xf) === id && lengthFits(header >> 4, bytes.length)
  return fits ? text.toLowerCase() : null
}

/** Of the digits of an address, those that are the payment credential's alone: 44 of 5 bits after the header's two. */
const credentialDigits = { from: 2, to: 46 } as const

/**
 * What an address says of who can spend from it, whatever stake part it has or has none, on either network: 220 of the
 * 224 bits of its payment credential, which have a fixed place (CIP-19). Taken from the text, because thousands are.
 */
const paymentKey = (address: string): string => {
  const digits = address.slice(address.lastIndexOf("1") + 1)
  return `payment ${digits.slice(credentialDigits.from, credentialDigits.to)}`
}

/** 28 bytes of a policy and up to 32 of a name in hex (ledger specification); explorers put a dot between them. */
const assetPattern = /^([0-9a-fA-F]{56})\.?((?:[0-9a-fA-F]{2}){0,32})$/

/** Policy and name together, in lower case, as Blockfrost writes it. */
const assetAddress = (text: string): string | null => {
  const [, policy, name] = assetPattern.exec(text) ?? []
  return policy === undefined ? null : `${policy}${name}`.toLowerCase()
}

export const cardanoFamily: NetworkFamily<"cardano", never> = {
  name: "cardano",
  // CIP-13. Metadata of a transaction is no field that exchanges ask for.
  paymentUriScheme: "web+cardano",
  hasMemo: false,
  // The API has no type for its other assets: they are listed and never taken.
  tokenType: null,
  readAddress: readCardanoAddress,
  accountKey: (address) => address,
  ownerKeys: ({ address }) => [paymentKey(address)],
  addressKeys: (address) => [address, paymentKey(address)],
  isWallet: () => true,
  contractKey: () => null,
  tokenAddress: assetAddress,
  tokenKey: (text) => assetAddress(text) ?? text,
  isCaseSensitive: false,
  readTransactionHash: (text) => readHexHash(text, ""),
  transactionHashForm: "64 hex digits, without 0x",
  hashPrefix: ""
}
