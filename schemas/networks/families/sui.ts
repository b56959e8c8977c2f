/** Sui. An address is 32 bytes in hex; a coin type is `<package>::<module>::<name>`. */
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readBase58Hash } from "../TransactionHash.ts"

/**
 * In full: Sui's tools shorten the addresses of its own packages and objects, and no wallet has one of these. They are
 * those below 2^16 (docs.sui.io, "Object and Package Versioning": 0x1 to 0x403, and 0xdee9); no hash of a key is.
 */
const readSuiAddress = (text: string): string | null =>
  /^0x[0-9a-fA-F]{64}$/.test(text) && !/^0x0{60}/.test(text) ? text.toLowerCase() : null

/** Names are letters, digits and `_` (the Move reference), at most 128. */
const coinTypePattern = /^0x([0-9a-fA-F]{1,64})::(\w{1,128})::(\w{1,128})$/

/**
 * A coin type with its package in full, as nodes write it: `0x2::sui::SUI` and its padded form are one. The names of
 * the module and the type are what they are in either case. A type with parameters is no token's.
 */
const coinTypeAddress = (text: string): string | null => {
  const [, digits, moduleName, typeName] = coinTypePattern.exec(text) ?? []
  return digits === undefined ? null : `0x${digits.toLowerCase().padStart(64, "0")}::${moduleName}::${typeName}`
}

export const suiFamily: NetworkFamily<"sui", "sui"> = {
  name: "sui",
  // No settled standard; see `suiPaymentUri`.
  paymentUriScheme: "sui",
  hasMemo: false,
  tokenType: "sui",
  readAddress: readSuiAddress,
  accountKey: (address) => address,
  ownerKeys: () => [],
  addressKeys: (address) => [address],
  isWallet: () => true,
  // The package that the type is of.
  contractKey: (address) => coinTypeAddress(address)?.split("::")[0] ?? null,
  tokenAddress: coinTypeAddress,
  tokenKey: (text) => coinTypeAddress(text) ?? text,
  isCaseSensitive: true,
  readTransactionHash: (text) => readBase58Hash(text, 32),
  transactionHashForm: "its digest, 32 bytes in base58",
  hashPrefix: ""
}
