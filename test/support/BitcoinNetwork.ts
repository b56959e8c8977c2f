/**
 * Bitcoin as a network of a family of its own: the descriptor in a tree to which it was added (`AddedNetwork.ts`). On
 * mainnet Bitcoin, on devnet testnet4 (BIP-94).
 */
import { bech32, bech32m } from "@scure/base"
import type { Environment } from "../../schemas/networks/Environment.ts"
import type { NetworkDescriptor } from "../../schemas/networks/NetworkDescriptor.ts"
import type { NetworkFamily } from "../../schemas/networks/NetworkFamily.ts"

/** What an address begins with (BIP-173). */
const prefixes: Readonly<Record<Environment, string>> = { mainnet: "bc", devnet: "tb" }

/** Bytes of a witness program by its version (BIP-141, BIP-341); of later versions 2 to 40 (BIP-350). */
const lengthFits = (version: number, length: number): boolean =>
  version === 0 ? length === 20 || length === 32 : version === 1 ? length === 32 : length >= 2 && length <= 40

/** A segregated witness address (BIP-173, BIP-350) in lower case. The older base58 addresses are not taken. */
const readSegwitAddress = (text: string, environment: Environment): string | null => {
  for (
    const [coder, isOfVersion] of [[bech32, (each: number) => each === 0], [
      bech32m,
      (each: number) => each > 0
    ]] as const
  ) {
    const decoded = coder.decodeUnsafe(text)
    if (decoded === undefined || decoded.prefix !== prefixes[environment]) continue
    const [version = 17, ...words] = decoded.words
    const program = coder.fromWordsUnsafe(words)
    if (version <= 16 && isOfVersion(version) && program && lengthFits(version, program.length)) {
      return text.toLowerCase()
    }
  }
  return null
}

const bitcoinFamily: NetworkFamily<"bitcoin", never> = {
  name: "bitcoin",
  // BIP-21. A transaction has no field that exchanges ask for.
  paymentUriScheme: "bitcoin",
  hasMemo: false,
  tokenType: null,
  readAddress: readSegwitAddress,
  accountKey: (address) => address,
  ownerKeys: () => [],
  addressKeys: (address) => [address],
  isWallet: () => true,
  contractKey: () => null,
  tokenAddress: () => null,
  tokenKey: (text) => text,
  isCaseSensitive: false,
  readTransactionHash: (text) => /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : null,
  transactionHashForm: "64 hex digits, without 0x",
  hashPrefix: ""
}

export const bitcoin: NetworkDescriptor<"bitcoin", typeof bitcoinFamily> = {
  name: "bitcoin",
  family: bitcoinFamily,
  label: "Bitcoin",
  paymentListRank: 110,
  // One bitcoin is 1e8 satoshi (BIP-176).
  coin: {
    symbol: "BTC",
    names: { mainnet: "Bitcoin", devnet: "Bitcoin (testnet4)" },
    decimals: 8,
    asset: "bitcoin",
    requiresMemo: false
  },
  // Six blocks are what Bitcoin Core shows as confirmed; 100 are what it asks for before a mined coin may be spent.
  standardDepth: { blocks: 6, finalized: false },
  finalBlocks: 100,
  transactionUrl: {
    mainnet: (txHash) => `https://mempool.space/tx/${txHash}`,
    devnet: (txHash) => `https://mempool.space/testnet4/tx/${txHash}`
  },
  refundFeeUsdMillis: 2_000,
  payoutStablecoins: [],
  // Blocks come every 10 min, at no fixed pace.
  pollMillis: 15_000,
  standstillSeconds: 7_200,
  blockMillis: 600_000,
  transferFee: { unit: "coin", coin: 1_500n, token: 1_500n }
}
