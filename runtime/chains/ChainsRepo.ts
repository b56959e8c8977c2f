/** The chain tables' SQL: rows to domain values and back. Each subject has a file in `repo/`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeCursorQueries } from "./repo/Cursors.ts"
import { makeDerivationQueries } from "./repo/Derivations.ts"
import { makeTargetQueries } from "./repo/ReceiveTargets.ts"
import { makeRepairQueries } from "./repo/Repairs.ts"
import { makeBalanceQueries } from "./repo/TargetBalances.ts"
import { makeTransferQueries } from "./repo/Transfers.ts"
import { makeUnhandledQueries } from "./repo/UnhandledTransfers.ts"
import { makeRestoreQueries } from "./repo/WalletRestores.ts"
import { makeWalletQueries } from "./repo/Wallets.ts"

export { type ChainHeights, type Cursor, cursorId, cursorWrite, type RingPoint } from "./repo/Cursors.ts"
export { type Allocation, type ChainHeads, targetId, type TargetRow } from "./repo/ReceiveTargets.ts"
export { repairWrite } from "./repo/Repairs.ts"
export { type BalanceRow, balanceWrite } from "./repo/TargetBalances.ts"
export { transferId, transferWrite } from "./repo/Transfers.ts"
export type { RestoreDeclaration } from "./repo/WalletRestores.ts"
export { accountIndex, type WalletAddress, type WalletLook, walletOwnerWrite } from "./repo/Wallets.ts"

/** The queries of this folder, over one client. */
export const make = Effect.map(SqlClient.SqlClient, (sql) => ({
  ...makeCursorQueries(sql),
  ...makeTransferQueries(sql),
  ...makeUnhandledQueries(sql),
  ...makeTargetQueries(sql),
  ...makeWalletQueries(sql),
  ...makeDerivationQueries(sql),
  ...makeRestoreQueries(sql),
  ...makeBalanceQueries(sql),
  ...makeRepairQueries(sql)
}))

export type ChainsRepo = Effect.Success<typeof make>
