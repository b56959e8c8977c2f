/** TON. What a block of the masterchain refers to is final. */
import { tonFamily } from "./families/ton.ts"
import type { NetworkDescriptor } from "./NetworkDescriptor.ts"

export const ton: NetworkDescriptor<"ton", typeof tonFamily> = {
  name: "ton",
  family: tonFamily,
  label: "TON",
  paymentListRank: 70,
  // Toncoin was renamed Gram in June 2026; unit, address and decimals stayed (docs.ton.org).
  coin: {
    symbol: "GRAM",
    names: { mainnet: "Gram (formerly Toncoin)", devnet: "Gram (testnet)" },
    decimals: 9,
    asset: "the-open-network",
    requiresMemo: true
  },
  standardDepth: { blocks: 1, finalized: false },
  finalBlocks: 1,
  // A block of the masterchain comes every few seconds at most (docs.ton.org); without a key toncenter answers one call
  // a second (toncenter.com).
  pollMillis: 3_000,
  // Blocks come at no fixed pace.
  standstillSeconds: 60,
  blockMillis: 5_000,
  // Estimates, and no measurement: of a transfer of the coin, and of one of a jetton.
  transferFee: { unit: "coin", coin: 5_500_000n, token: 40_000_000n },
  transactionUrl: {
    mainnet: (txHash) => `https://tonviewer.com/transaction/${txHash}`,
    devnet: null
  },
  refundFeeUsdMillis: 100,
  // Most dollars there are held in USDT.
  payoutStablecoins: ["USDT"]
}
