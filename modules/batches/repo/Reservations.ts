/** What exports that can still be executed keep from the merchant's other exports. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BatchState } from "../machine.ts"

export const makeReservations = (sql: SqlClient.SqlClient) => ({
  /**
   * Coins and outputs that the merchant's exports of a network spend which can still be executed, and of lists the
   * payments that they wait for; with the version of their counter, as of one moment.
   */
  reservations: (
    { environment, merchantId, network }: Pick<BatchState, "environment" | "merchantId" | "network">
  ): Effect.Effect<{ readonly inputs: ReadonlySet<string>; readonly version: number }> =>
    sql<{ inputs: ReadonlyArray<string>; version: bigint }>`SELECT coalesce((
        SELECT json_agg(input) FROM batches, json_array_elements(parts) AS part,
          json_array_elements_text(part -> 'export' -> 'inputs') AS input
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND network = ${network}
          AND due_at IS NOT NULL AND (part ->> 'isWatched')::boolean
          AND (part -> 'export' ->> 'format' <> 'csv' OR part ->> 'status' IN ('out', 'seen'))
      ), '[]') AS inputs, coalesce((
        SELECT version FROM reservation_counters
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND network = ${network}
      ), 0) AS version`.pipe(
      Effect.orDie,
      Effect.map(([row]) => ({ inputs: new Set(row!.inputs), version: Number(row!.version) }))
    )
})
