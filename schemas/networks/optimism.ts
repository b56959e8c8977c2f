/**
 * OP Mainnet, a rollup on Ethereum. Blocks come every 2 s (OP Stack, `block_time`), and are final with the block of
 * Ethereum that holds their batch: 20 to 30 minutes.
 */
import { ether } from "./ethereum.ts"
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee, opStackDataFeeOracle } from "./NetworkDescriptor.ts"

export const optimism: EvmNetworkDescriptor<"optimism"> = {
  name: "optimism",
  family: evmFamily,
  label: "Optimism",
  paymentListRank: 40,
  coin: ether("OP Sepolia"),
  standardDepth: { blocks: 10, finalized: false },
  finalBlocks: 900,
  transactionUrl: {
    mainnet: (txHash) => `https://optimistic.etherscan.io/tx/${txHash}`,
    devnet: (txHash) => `https://sepolia-optimism.etherscan.io/tx/${txHash}`
  },
  refundFeeUsdMillis: 50,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 10, devnet: 11_155_420 },
  pollMillis: 1_000,
  standstillSeconds: 30,
  blockMillis: 2_000,
  transferFee: evmTransferFee,
  dataFeeOracle: opStackDataFeeOracle,
  publicRpcUrls: {
    mainnet: ["https://mainnet.optimism.io"],
    devnet: ["https://sepolia.optimism.io"]
  }
}
