/**
 * Ethereum. A slot has 12 s, and a block is final after two epochs of 32 slots (consensus specification,
 * `SECONDS_PER_SLOT` and `SLOTS_PER_EPOCH`).
 */
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee, type NativeCoin } from "./NetworkDescriptor.ts"

/** The coin of Ethereum and of the networks that settle on it; `testNetwork` has its play money. */
export const ether = (testNetwork: string): NativeCoin => ({
  symbol: "ETH",
  names: { mainnet: "Ether", devnet: `Ether (${testNetwork})` },
  decimals: 18,
  asset: "ethereum",
  requiresMemo: false
})

export const ethereum: EvmNetworkDescriptor<"ethereum"> = {
  name: "ethereum",
  family: evmFamily,
  label: "Ethereum",
  paymentListRank: 100,
  coin: ether("Sepolia"),
  standardDepth: { blocks: 12, finalized: false },
  finalBlocks: 64,
  transactionUrl: {
    mainnet: (txHash) => `https://etherscan.io/tx/${txHash}`,
    devnet: (txHash) => `https://sepolia.etherscan.io/tx/${txHash}`
  },
  refundFeeUsdMillis: 2_000,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 1, devnet: 11_155_111 },
  pollMillis: 3_000,
  standstillSeconds: 120,
  blockMillis: 12_000,
  transferFee: evmTransferFee,
  publicRpcUrls: {
    mainnet: ["https://ethereum-rpc.publicnode.com"],
    devnet: ["https://ethereum-sepolia-rpc.publicnode.com"]
  }
}
