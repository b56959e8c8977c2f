/**
 * Avalanche's C-Chain. Blocks come about every 2 s, and only where there are transactions (ACP-176, ACP-226). A block
 * that is accepted is final.
 */
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee } from "./NetworkDescriptor.ts"

export const avalanche: EvmNetworkDescriptor<"avalanche"> = {
  name: "avalanche",
  family: evmFamily,
  label: "Avalanche",
  paymentListRank: 60,
  coin: {
    symbol: "AVAX",
    names: { mainnet: "Avalanche", devnet: "Avalanche (Fuji)" },
    decimals: 18,
    asset: "avalanche-2",
    requiresMemo: false
  },
  standardDepth: { blocks: 1, finalized: false },
  finalBlocks: 1,
  transactionUrl: {
    mainnet: (txHash) => `https://snowtrace.io/tx/${txHash}`,
    devnet: (txHash) => `https://testnet.snowtrace.io/tx/${txHash}`
  },
  refundFeeUsdMillis: 50,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 43_114, devnet: 43_113 },
  pollMillis: 1_000,
  standstillSeconds: 60,
  blockMillis: 2_000,
  transferFee: evmTransferFee,
  publicRpcUrls: {
    mainnet: ["https://api.avax.network/ext/bc/C/rpc"],
    devnet: ["https://api.avax-test.network/ext/bc/C/rpc"]
  }
}
