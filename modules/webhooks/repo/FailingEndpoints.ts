/** Endpoints that fail, as an operator looks for them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Environment } from "../../../schemas/Network.ts"
import { maximumCounted } from "../rules.ts"
import { type Attempt, useIndexes } from "./DeliveryQueries.ts"

/** An endpoint that fails, or whose breaker is not closed, as an operator sees it. Timestamps are epoch seconds. */
export interface EndpointFailure {
  readonly merchantId: number
  readonly endpointId: string
  readonly environment: Environment | null
  readonly url: string
  readonly status: "enabled" | "disabled"
  readonly disabledReason: string | null
  /** Null: the breaker is closed. */
  readonly isOpen: boolean | null
  readonly openUntil: number | null
  readonly openings: number
  readonly consecutiveFailures: number
  readonly failingSince: number | null
  /** At most {@link maximumCounted}. */
  readonly waiting: number
  readonly oldestWaitingSeconds: number | null
  readonly attemptEndedAt: number | null
  readonly attemptOutcome: Attempt["outcome"] | null
  readonly attemptStatus: number | null
  readonly attemptError: string | null
  readonly attemptLatencyMillis: number | null
}

/** Which failing endpoints: of one merchant or of all, after a place in their order. */
export interface FailurePage {
  readonly merchantId: number | null
  readonly after: { readonly merchantId: number; readonly endpointId: string }
  readonly limit: number
}

export const failingEndpointQueries = (sql: SqlClient.SqlClient) => ({
  /** Failing endpoints in the order of merchant and id, one more than the page to know whether there are more. */
  failingEndpoints: ({ after, limit, merchantId }: FailurePage): Effect.Effect<ReadonlyArray<EndpointFailure>> =>
    Effect.andThen(
      useIndexes(sql),
      sql<EndpointFailure>`
        SELECT l.merchant_id AS "merchantId", l.endpoint_id AS "endpointId", l.environment, l.url, l.status,
          l.disabled_reason AS "disabledReason", l.open_until > now() AS "isOpen",
          floor(extract(epoch FROM l.open_until))::float8 AS "openUntil", l.openings,
          l.consecutive_failures AS "consecutiveFailures",
          floor(extract(epoch FROM l.failing_since))::float8 AS "failingSince", waiting.n AS waiting,
          floor(extract(epoch FROM now() - oldest.created_at))::float8 AS "oldestWaitingSeconds",
          floor(extract(epoch FROM a.ended_at))::float8 AS "attemptEndedAt", a.outcome AS "attemptOutcome",
          a.status AS "attemptStatus", a.error AS "attemptError", a.latency_ms AS "attemptLatencyMillis"
        FROM (
          SELECT l.*, w.environment, w.url, w.status, w.disabled_reason
          FROM webhook_lanes l JOIN webhook_endpoints w ON w.id = l.endpoint_id AND w.status <> 'deleted'
          WHERE (l.health = 'failing' OR l.open_until IS NOT NULL)
            AND (l.merchant_id, l.endpoint_id) > (${after.merchantId}::integer, ${after.endpointId})
            ${merchantId === null ? sql.literal("") : sql`AND l.merchant_id = ${merchantId}`}
          ORDER BY l.merchant_id, l.endpoint_id LIMIT ${limit + 1}
        ) l
        CROSS JOIN LATERAL (SELECT count(*)::integer AS n FROM (
          SELECT 1 FROM webhook_deliveries d
          WHERE d.merchant_id = l.merchant_id AND d.endpoint_id = l.endpoint_id AND d.due_at IS NOT NULL
          LIMIT ${maximumCounted}) d) waiting
        LEFT JOIN LATERAL (SELECT d.created_at FROM webhook_deliveries d
          WHERE d.merchant_id = l.merchant_id AND d.endpoint_id = l.endpoint_id AND d.due_at IS NOT NULL
          ORDER BY d.event_ms, d.event_seq LIMIT 1) oldest ON true
        LEFT JOIN LATERAL (SELECT a.* FROM webhook_attempts a
          WHERE a.merchant_id = l.merchant_id AND a.endpoint_id = l.endpoint_id
          ORDER BY a.ended_at DESC LIMIT 1) a ON true
        ORDER BY l.merchant_id, l.endpoint_id`
    ).pipe(sql.withTransaction, Effect.orDie)
})
