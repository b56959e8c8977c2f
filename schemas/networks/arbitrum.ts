/**
 * Arbitrum One, a rollup on Ethereum. Blocks come every 0.25 s, and only where there are transactions (Nitro
 * sequencer); they are final with the block of Ethereum that holds their batch, about 20 minutes.
 */
import { ether } from "./ethereum.ts"
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee } from "./NetworkDescriptor.ts"

export const arbitrum: EvmNetworkDescriptor<"arbitrum"> = {
  name: "arbitrum",
  family: evmFamily,
  label: "Arbitrum",
  paymentListRank: 30,
  coin: ether("Arbitrum Sepolia"),
  standardDepth: { blocks: 40, finalized: false },
  finalBlocks: 4_800,
  transactionUrl: {
    mainnet: (txHash) => `https://arbiscan.io/tx/${txHash}`,
    devnet: (txHash) => `https://sepolia.arbiscan.io/tx/${txHash}`
  },
  refundFeeUsdMillis: 50,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 42_161, devnet: 421_614 },
  pollMillis: 1_000,
  standstillSeconds: 60,
  blockMillis: 250,
  transferFee: evmTransferFee,
  publicRpcUrls: {
    mainnet: ["https://arb1.arbitrum.io/rpc"],
    devnet: ["https://sepolia-rollup.arbitrum.io/rpc"]
  }
}
