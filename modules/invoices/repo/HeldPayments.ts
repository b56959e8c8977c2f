/** Payments of all merchants that wait for an operator. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment, Network } from "../../../schemas/Network.ts"

/** A payment that is `manual_retry`. */
export interface HeldPayment {
  readonly paymentId: string
  readonly invoiceId: string
  readonly merchantId: number
  readonly environment: Environment
  readonly network: Network
  readonly tokenId: number | null
  /** Base units, decimal. */
  readonly units: string
  readonly txHash: string | null
  /** Epoch seconds. */
  readonly seenAt: number
}

/** Which of them: of one environment or of both (null), and those after a payment, or all (null). */
export interface HeldFilter {
  readonly environment: Environment | null
  readonly after: string | null
}

/** The oldest first. Null where `after` is no payment. A payment that does not wait any more still marks its place. */
export const readHeldPayments = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(
    function*({ after, environment }: HeldFilter, limit: number) {
      const [start] = after === null ? [] : yield* sql<{ readonly seen_at: string }>`
        SELECT seen_at::text AS seen_at FROM invoice_payments WHERE id = ${after}::uuid`
      if (after !== null && start === undefined) return null
      return yield* sql<HeldPayment>`
        SELECT id AS "paymentId", invoice_id AS "invoiceId", merchant_id AS "merchantId", environment, network,
          token_id AS "tokenId", units::text AS units, tx_hash AS "txHash", seen_at::float8 AS "seenAt"
        FROM invoice_payments
        WHERE status = 'manual_retry'
          ${environment === null ? sql`` : sql`AND environment = ${environment}`}
          ${start === undefined ? sql`` : sql`AND (seen_at, id) > (${start.seen_at}::bigint, ${after}::uuid)`}
        ORDER BY seen_at, id LIMIT ${limit}`
    },
    Effect.orDie
  )
