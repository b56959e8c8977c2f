/**
 * BNB Smart Chain. Blocks come every 0.75 s (BEP-524). The finality mark of BEP-126 is two blocks behind the head;
 * where validators do not vote there is none, and 15 blocks stand in for it.
 */
import { evmFamily } from "./families/evm.ts"
import { type EvmNetworkDescriptor, evmTransferFee } from "./NetworkDescriptor.ts"

export const bsc: EvmNetworkDescriptor<"bsc"> = {
  name: "bsc",
  family: evmFamily,
  label: "BNB Chain",
  paymentListRank: 50,
  coin: {
    symbol: "BNB",
    names: { mainnet: "BNB", devnet: "BNB (BSC Testnet)" },
    decimals: 18,
    asset: "binancecoin",
    requiresMemo: false
  },
  standardDepth: { blocks: 15, finalized: true },
  finalBlocks: 15,
  transactionUrl: {
    mainnet: (txHash) => `https://bscscan.com/tx/${txHash}`,
    devnet: (txHash) => `https://testnet.bscscan.com/tx/${txHash}`
  },
  refundFeeUsdMillis: 500,
  // Most dollars there are held in USDT.
  payoutStablecoins: ["USDT", "USDC"],
  chainIds: { mainnet: 56, devnet: 97 },
  pollMillis: 1_000,
  standstillSeconds: 30,
  blockMillis: 750,
  transferFee: evmTransferFee,
  publicRpcUrls: {
    mainnet: ["https://bsc-dataseed.bnbchain.org"],
    devnet: ["https://bsc-testnet-dataseed.bnbchain.org"]
  }
}
