/**
 * Base, a rollup on Ethereum. Blocks come every 2 s (OP Stack, `block_time`), and are final with the block of Ethereum
 * that holds their batch: 20 to 30 minutes.
 */
import { ether } from "./ethereum.ts"
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee, opStackDataFeeOracle } from "./NetworkDescriptor.ts"

export const base: EvmNetworkDescriptor<"base"> = {
  name: "base",
  family: evmFamily,
  label: "Base",
  paymentListRank: 10,
  coin: ether("Base Sepolia"),
  standardDepth: { blocks: 10, finalized: false },
  finalBlocks: 900,
  transactionUrl: {
    mainnet: (txHash) => `https://basescan.org/tx/${txHash}`,
    devnet: (txHash) => `https://sepolia.basescan.org/tx/${txHash}`
  },
  refundFeeUsdMillis: 20,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 8_453, devnet: 84_532 },
  pollMillis: 1_000,
  standstillSeconds: 30,
  blockMillis: 2_000,
  transferFee: evmTransferFee,
  dataFeeOracle: opStackDataFeeOracle,
  publicRpcUrls: {
    mainnet: ["https://mainnet.base.org"],
    devnet: ["https://sepolia.base.org"]
  }
}
