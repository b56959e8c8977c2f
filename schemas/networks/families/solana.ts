/** Solana. An address of a wallet or a mint is 32 bytes in base58, which has one spelling and no checksum. */
import { base32crockford, base58 } from "@scure/base"
import { Result } from "effect"
import { isOnCurve, referenceCodeBytes } from "../../SolanaAddress.ts"
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readBase58Hash } from "../TransactionHash.ts"

/** Not the system program, whose bytes are all zero. */
const readSolanaAddress = (text: string): string | null => {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return null
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(text)))
  return bytes?.length !== 32 || bytes.every((byte) => byte === 0) ? null : text
}

const codeKey = (code: string): string => `code ${code}`

/** What an address is looked up by if it is the reference of a payment link: the code in it is its invoice's memo. */
const referenceKeys = (address: string): ReadonlyArray<string> => {
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(address)))
  return bytes === undefined ? [] : [codeKey(base32crockford.encode(bytes.subarray(0, referenceCodeBytes)))]
}

export const solanaFamily: NetworkFamily<"solana", "spl"> = {
  name: "solana",
  // Solana Pay 1.1; the memo program (SPL).
  paymentUriScheme: "solana",
  hasMemo: true,
  tokenType: "spl",
  readAddress: readSolanaAddress,
  accountKey: (address) => address,
  ownerKeys: ({ address, memo }) => memo === null ? [] : [address, codeKey(memo)],
  addressKeys: (address) => [address, ...referenceKeys(address)],
  burnAddresses: ["1nc1nerator11111111111111111111111111111111", "11111111111111111111111111111111"],
  // Token accounts that wallets make are derived by a program, and so is every other account that no key signs for.
  isWallet: (address) => isOnCurve(base58.decode(address)),
  contractKey: readSolanaAddress,
  tokenAddress: readSolanaAddress,
  tokenKey: (text) => text,
  isCaseSensitive: true,
  readTransactionHash: (text) => readBase58Hash(text, 64),
  transactionHashForm: "its signature, 64 bytes in base58",
  hashPrefix: ""
}
