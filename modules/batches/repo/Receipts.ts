/** Tokens that addresses of a merchant's wallets have received, and may still hold. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment, Family, Network } from "../../../schemas/Network.ts"

/** An expired invoice may still be paid by a transfer on its way, so its address counts from so many seconds later. */
const afterExpirySeconds = 86_400

/** A token that an address has received whose invoice takes no more payments. */
export interface Receipt {
  readonly network: Network
  /** Null: the native coin. */
  readonly tokenAddress: string | null
  readonly address: string
  readonly fingerprint: string
  readonly walletIndex: number
  /** Base units that the journal has and no chain shows: play money. */
  readonly offChainUnits: bigint
}

export interface ReceiptFilter {
  readonly merchantId: number
  readonly environment: Environment
  /** Tokens to search for; `address` in the one spelling of its family. */
  readonly tokens: ReadonlyArray<
    { readonly network: Network; readonly family: Family; readonly address: string | null }
  >
  /** Epoch seconds, by the merchant's clock. */
  readonly now: number
}

interface ReceiptColumns {
  readonly network: Network
  readonly token_address: string | null
  readonly address: string
  readonly fingerprint: string
  readonly wallet_index: bigint
  readonly off_chain_units: string
}

export const makeReceipts = (sql: SqlClient.SqlClient) => ({
  /**
   * At most `limit`, the newest payment first. An address that a batch has emptied since its last payment is left out:
   * the balance that was collected included every transfer in the journal.
   */
  receipts: ({ environment, merchantId, now, tokens }: ReceiptFilter, limit: number) =>
    sql<ReceiptColumns>`WITH received AS (
        SELECT t.network, k.family, t.match_key, t.token_address, max(t.height) AS height, max(t.block_time) AS paid_at,
          coalesce(sum(t.amount) FILTER (WHERE t.height < 0), 0) AS off_chain_units
        FROM transfers t
        JOIN unnest(${tokens.map(({ network }) => network)}::text[], ${tokens.map(({ family }) => family)}::text[],
          ${tokens.map(({ address }) => address ?? "")}::text[]) AS k(network, family, token)
          ON t.network = k.network AND coalesce(t.token_address, '') = k.token
        WHERE t.merchant_id = ${merchantId} AND t.environment = ${environment} AND t.status <> 'reverted'
        GROUP BY t.network, k.family, t.match_key, t.token_address
      )
      SELECT r.network, r.token_address, a.address, a.fingerprint, a.wallet_index,
        r.off_chain_units::text AS off_chain_units
      FROM received r
      CROSS JOIN LATERAL (
        SELECT g.address, g.fingerprint, g.wallet_index, g.invoice_id FROM receive_targets g
        WHERE g.id = r.family || ':' || r.match_key AND g.environment = ${environment}
        UNION ALL
        SELECT w.address, w.fingerprint, w.wallet_index, NULL FROM wallet_addresses w
        WHERE w.match_key = r.match_key AND w.family = r.family
      ) a
      JOIN wallet_owners o ON o.fingerprint = a.fingerprint AND o.merchant_id = ${merchantId}
      LEFT JOIN invoices i ON i.merchant_id = ${merchantId} AND i.id = a.invoice_id::uuid
      WHERE (i.id IS NULL OR i.status IN ('paid', 'canceled') OR (i.status = 'underpaid' AND i.grace_ended)
          OR (i.status = 'expired' AND i.expires_at + ${afterExpirySeconds} <= ${now}::bigint))
        AND NOT EXISTS (
          SELECT FROM batch_lines l JOIN batches b ON b.merchant_id = l.merchant_id AND b.id = l.batch_id
          WHERE l.merchant_id = ${merchantId} AND l.source IS NOT NULL AND l.source ->> 'address' = a.address
            AND b.environment = ${environment} AND b.network = r.network AND l.status = 'paid'
            AND l.token_address IS NOT DISTINCT FROM r.token_address AND (l.source ->> 'height')::numeric >= r.height
        )
      ORDER BY r.paid_at DESC, r.network, a.address, r.token_address
      LIMIT ${limit}`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map((row): Receipt => ({
          network: row.network,
          tokenAddress: row.token_address,
          address: row.address,
          fingerprint: row.fingerprint,
          walletIndex: Number(row.wallet_index),
          offChainUnits: BigInt(row.off_chain_units)
        }))
      )
    )
})
