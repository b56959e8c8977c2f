/** Sui. What is in a checkpoint is final. */
import { suiFamily } from "./families/sui.ts"
import type { NetworkDescriptor } from "./NetworkDescriptor.ts"

export const sui: NetworkDescriptor<"sui", typeof suiFamily> = {
  name: "sui",
  family: suiFamily,
  label: "Sui",
  paymentListRank: 80,
  // Coin type 0x2::sui::SUI (docs.sui.io).
  coin: {
    symbol: "SUI",
    names: { mainnet: "Sui", devnet: "Sui (testnet)" },
    decimals: 9,
    asset: "sui",
    requiresMemo: false
  },
  standardDepth: { blocks: 1, finalized: false },
  finalBlocks: 1,
  // A checkpoint comes about four times a second (docs.sui.io).
  pollMillis: 2_000,
  standstillSeconds: 30,
  blockMillis: 250,
  // Estimates, and no measurement: of a transfer with its storage.
  transferFee: { unit: "coin", coin: 2_000_000n, token: 4_000_000n },
  transactionUrl: {
    mainnet: (txHash) => `https://suiscan.xyz/mainnet/tx/${txHash}`,
    devnet: null
  },
  refundFeeUsdMillis: 20,
  payoutStablecoins: ["USDC", "USDT"]
}
