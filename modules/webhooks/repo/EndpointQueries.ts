/** Endpoints as they are managed: their rows, their count, and what is forgotten of them. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Write } from "../../../runtime/Commit.ts"
import { cancelWaiting } from "../../../runtime/webhooks/DeliveryRepo.ts"
import type { EndpointRow } from "../../../runtime/webhooks/Endpoints.ts"

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

/** An endpoint as its owner sees it. */
export interface ManagedEndpoint extends EndpointRow {
  /** Kept beside the row: an attempt must not write what merchants change. */
  readonly consecutiveFailures: number
}

/** The endpoint whose deliveries are asked for, as far as it decides which of them are shown. */
export type EndpointScope = Pick<EndpointRow, "commerceOnly" | "environment" | "id" | "merchantId">

/**
 * Deleted endpoints of a merchant whose rows are kept: every commit and claim looks at the rows of a merchant, so
 * that one who makes and deletes endpoints all day must not slow them down.
 */
export const maximumDeleted = 100

/**
 * Newest first; with an id, that one at most. Deleted ones are not among them. `more`: columns that are run with it.
 * `format`: those of a format of their own, which other modules manage; null: those of events.
 */
export const readEndpoints = (
  sql: SqlClient.SqlClient,
  merchantId: number,
  id: string | null,
  more = sql``,
  format: string | null = null
): Effect.Effect<ReadonlyArray<ManagedEndpoint>> =>
  sql<ManagedEndpoint>`
    SELECT w.id, w.merchant_id AS "merchantId", w.version::float8 AS version, w.environment,
      w.commerce_only AS "commerceOnly", w.url, w.status, w.filters, w.ordered, w.api_version AS "apiVersion",
      w.format, w.is_single_attempt AS "isSingleAttempt", w.description, w.sealed_secret AS "sealedSecret", w.sealed_previous_secret AS "sealedPreviousSecret",
      w.previous_secret_expires_at::float8 AS "previousSecretExpiresAt", w.disabled_reason AS "disabledReason",
      w.created_at::float8 AS "createdAt", w.updated_at::float8 AS "updatedAt",
      coalesce(l.consecutive_failures, 0) AS "consecutiveFailures"${more}
    FROM webhook_endpoints w
    LEFT JOIN webhook_lanes l ON l.merchant_id = w.merchant_id AND l.endpoint_id = w.id
    WHERE w.merchant_id = ${merchantId} AND w.status <> 'deleted' AND w.format IS NOT DISTINCT FROM ${format}::text ${
    id === null ? sql.literal("") : sql`AND w.id = ${id}`
  }
    ORDER BY w.created_at DESC, w.id DESC`.pipe(Effect.orDie)

export const endpointQueries = (sql: SqlClient.SqlClient) => ({
  count: (merchantId: number): Effect.Effect<EndpointCount> =>
    sql<{ version: bigint; endpoints: number }>`
      SELECT version, endpoints FROM webhook_counts WHERE merchant_id = ${merchantId}`.pipe(
      Effect.map(([row]) => ({ merchantId, version: Number(row?.version ?? 0n), endpoints: row?.endpoints ?? 0 })),
      Effect.orDie
    ),
  /** Undefined for one that is not there, and for a deleted one. */
  endpoint: (merchantId: number, id: string): Effect.Effect<ManagedEndpoint | undefined> =>
    Effect.map(readEndpoints(sql, merchantId, id), ([found]) => found),
  /** Those of a format, newest first; with an id, that one at most. */
  endpointsOf: (format: string, merchantId: number, id: string | null = null) =>
    readEndpoints(sql, merchantId, id, sql``, format),
  /** Newest first. */
  endpoints: (merchantId: number) => readEndpoints(sql, merchantId, null),
  /** Forgets how attempts to an endpoint went: its breaker is closed, and nothing counts towards disabling it. */
  resetHealth: ({ id, merchantId }: EndpointScope): Effect.Effect<void> =>
    sql`UPDATE webhook_lanes SET health = 'unknown', version = version + 1, consecutive_failures = 0,
        failing_since = NULL, open_until = NULL, openings = 0, judged_from = now()
      WHERE merchant_id = ${merchantId} AND endpoint_id = ${id}`.pipe(Effect.asVoid, Effect.orDie),
  /**
   * Cancels what waits for an endpoint, as far as one statement goes. Claims find it disabled and cancel the rest,
   * for which its breaker must let them pass.
   */
  cancelWaiting: ({ id, merchantId }: EndpointScope): Effect.Effect<void, SqlError.SqlError> =>
    Effect.andThen(
      sql`UPDATE webhook_lanes SET open_until = NULL, version = version + 1
        WHERE merchant_id = ${merchantId} AND endpoint_id = ${id} AND open_until IS NOT NULL`,
      Effect.provideService(cancelWaiting(merchantId, id), SqlClient.SqlClient, sql)
    ),
  /** Forgets all but the newest deleted endpoints of a merchant, and how attempts to them went. */
  purgeDeleted: (merchantId: number): Effect.Effect<void, SqlError.SqlError> =>
    sql`WITH old AS (
        DELETE FROM webhook_endpoints WHERE id IN (SELECT id FROM webhook_endpoints
          WHERE merchant_id = ${merchantId} AND status = 'deleted'
          ORDER BY updated_at DESC, id DESC OFFSET ${maximumDeleted}) RETURNING id
      ) DELETE FROM webhook_lanes l USING old WHERE l.merchant_id = ${merchantId} AND l.endpoint_id = old.id`.pipe(
      Effect.asVoid
    )
})
