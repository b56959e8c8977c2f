/** Cardano. Blocks come about every 20 s. No rollback is longer than 2,160 blocks, the protocol's parameter k. */
import { cardanoFamily } from "./families/cardano.ts"
import type { NetworkDescriptor } from "./NetworkDescriptor.ts"

export const cardano: NetworkDescriptor<"cardano", typeof cardanoFamily> = {
  name: "cardano",
  family: cardanoFamily,
  label: "Cardano",
  paymentListRank: 90,
  // One ADA is 1e6 lovelace (ledger specification).
  coin: {
    symbol: "ADA",
    names: { mainnet: "Cardano", devnet: "Cardano (preprod)" },
    decimals: 6,
    asset: "cardano",
    requiresMemo: false
  },
  standardDepth: { blocks: 15, finalized: false },
  finalBlocks: 2_160,
  // Blockfrost's free plan has 50,000 calls a day (blockfrost.io/pricing).
  pollMillis: 10_000,
  // Each second has a block with a chance of 5 % (Shelley genesis, `activeSlotsCoeff`): 300 s without one come less
  // than once a year, ten blocks' time every week.
  standstillSeconds: 300,
  blockMillis: 20_000,
  // 44 lovelace a byte and 155,381 beside (protocol parameters), at a size of 330 and 560 bytes that nobody measured.
  transferFee: { unit: "coin", coin: 170_000n, token: 180_000n },
  transactionUrl: {
    mainnet: (txHash) => `https://cardanoscan.io/transaction/${txHash}`,
    devnet: null
  },
  refundFeeUsdMillis: 300,
  payoutStablecoins: ["USDC", "USDT"]
}
