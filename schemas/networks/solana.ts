/** Solana. A slot that is `confirmed` is very seldom dropped; it is `finalized` about 32 slots later. */
import { solanaFamily } from "./families/solana.ts"
import type { NetworkDescriptor } from "./NetworkDescriptor.ts"

export const solana: NetworkDescriptor<"solana", typeof solanaFamily> = {
  name: "solana",
  family: solanaFamily,
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
  // A slot has 400 ms; public endpoints answer 100 calls in 10 s (solana.com/docs/references/clusters).
  pollMillis: 2_000,
  // A block's time is what voters agree on, and may lie some seconds beside the clock: longer than ten slots.
  standstillSeconds: 60,
  blockMillis: 400,
  // A signature takes 5,000 lamports (solana.com/docs/core/fees). Priority fees and rent are not in it.
  transferFee: { unit: "coin", coin: 5_000n, token: 5_000n },
  transactionUrl: {
    mainnet: (txHash) => `https://explorer.solana.com/tx/${txHash}`,
    // The explorer takes the cluster from the query: a prefix could not say it.
    devnet: (txHash) => `https://explorer.solana.com/tx/${txHash}?cluster=devnet`
  },
  refundFeeUsdMillis: 50,
  payoutStablecoins: ["USDC", "USDT"]
}
