/** Solana. A slot that is `confirmed` is very seldom dropped; it is `finalized` about 32 slots later. */
import type { NetworkDescriptor } from "./NetworkDescriptor.ts"

export const solana: NetworkDescriptor<"solana", "solana"> = {
  name: "solana",
  family: "solana",
  label: "Solana",
  paymentListRank: 20,
  // Source of the decimals: lamports, 1e-9 SOL, in `@solana/kit`.
  coin: {
    symbol: "SOL",
    names: { mainnet: "Solana", devnet: "Solana (devnet)" },
    decimals: 9,
    asset: "solana",
    requiresMemo: false
  },
  standardDepth: { blocks: 1, finalized: false },
  finalBlocks: 32,
  transactionUrl: {
    mainnet: (txHash) => `https://explorer.solana.com/tx/${txHash}`,
    devnet: null
  },
  refundFeeUsdMillis: 50,
  payoutStablecoins: ["USDC", "USDT"]
}
