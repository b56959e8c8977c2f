/** Which transfers belong to a line of a batch, or to a refund: they pay it, or an exception of it tells them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BatchState, TransferClaim } from "../machine.ts"

export const makeProofs = (sql: SqlClient.SqlClient) => ({
  /** Which transfers of these transactions belong to something. */
  proofs: (
    { environment, network }: Pick<BatchState, "environment" | "network">,
    txHashes: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<TransferClaim>> =>
    sql<{ tx_hash: string; transfer_index: bigint; batch_id: string | null; line: number | null }>`
      SELECT tx_hash, transfer_index, batch_id, line FROM payout_proofs
      WHERE network = ${network} AND environment = ${environment} AND tx_hash = ANY(${[...txHashes]}::text[])`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): TransferClaim => ({
          txHash: row.tx_hash,
          index: Number(row.transfer_index),
          line: row.batch_id === null || row.line === null ? null : { batchId: row.batch_id, line: row.line }
        }))
      )
    )
})
