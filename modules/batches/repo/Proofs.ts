/** Which transfers belong to a line of a batch, or to a refund: they pay it, or an exception of it tells them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BatchState, TransferClaim } from "../machine.ts"

export const makeProofs = (sql: SqlClient.SqlClient) => ({
  /** Indexes of the transfers of a transaction that lines of any merchant's batches show as theirs. */
  shownTransfers: (
    { environment, network, txHash }: Pick<BatchState, "environment" | "network"> & { readonly txHash: string }
  ): Effect.Effect<ReadonlySet<number>> =>
    sql<{ transfer_index: bigint }>`SELECT l.transfer_index FROM batch_lines l
      JOIN batches b ON b.merchant_id = l.merchant_id AND b.id = l.batch_id
      WHERE l.tx_hash = ${txHash} AND l.transfer_index IS NOT NULL
        AND b.network = ${network} AND b.environment = ${environment}`.pipe(
      Effect.orDie,
      Effect.map((rows) => new Set(rows.map((row) => Number(row.transfer_index))))
    ),
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
