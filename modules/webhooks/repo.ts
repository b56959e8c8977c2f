/** The count row of a merchant. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"

/** `version` 0 stands for a row that does not exist yet. */
export interface EndpointCount {
  readonly merchantId: number
  readonly version: number
  readonly endpoints: number
}

export const countWrite = (count: EndpointCount): Write => ({
  table: "webhook_counts",
  row: { merchant_id: count.merchantId, version: count.version, endpoints: count.endpoints }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  count: (merchantId: number): Effect.Effect<EndpointCount> =>
    sql<{ version: bigint; endpoints: number }>`
      SELECT version, endpoints FROM webhook_counts WHERE merchant_id = ${merchantId}`.pipe(
      Effect.map(([row]) => ({ merchantId, version: Number(row?.version ?? 0n), endpoints: row?.endpoints ?? 0 })),
      Effect.orDie
    )
}))
