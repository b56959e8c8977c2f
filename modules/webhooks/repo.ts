/**
 * The SQL of endpoints as they are managed, and of their deliveries. Deliveries are bookkeeping, so a repeat by hand is
 * written here and not by a commit. A database fault is a defect.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { IdempotentReplay, type ReplyWrite, type Write } from "../../runtime/Commit.ts"
import { preferIndexScans } from "../../runtime/store/IndexPlans.ts"
import { replayLockSpace } from "../../runtime/store/Locks.ts"
import type { EndpointRow } from "../../runtime/webhooks/Endpoints.ts"
import { cancelWaiting } from "../../runtime/webhooks/DeliveryRepo.ts"
import { eventIdOf, type EventPosition } from "../../schemas/Ids.ts"
import type { DeliveryStatus } from "../../schemas/Webhook.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type DeliveriesPage, maximumCounted, maximumExamined, maximumReplayed, type ReplayRange } from "./rules.ts"

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

/** A delivery. Timestamps are epoch seconds. */
export interface Delivery {
  /** UUID; the wire says `whd_<uuid>`. */
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly type: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly nextAttemptAt: number | null
  readonly answerStatus: number | null
  readonly error: string | null
  readonly latencyMillis: number | null
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** One request that was sent. */
export interface Attempt {
  readonly number: number
  readonly outcome: "succeeded" | "failed" | "timed_out"
  readonly status: number | null
  readonly error: string | null
  readonly latencyMillis: number
  readonly response: string | null
  /** Epoch seconds. */
  readonly endedAt: number
}

/** What a replay queued, and the first event of its range that it did not come to. */
export interface Replay {
  readonly queued: number
  readonly next: EventPosition | undefined
}

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

/** The endpoint whose deliveries are asked for, as far as it decides which of them are shown. */
export type EndpointScope = Pick<EndpointRow, "commerceOnly" | "environment" | "id" | "merchantId">

interface DeliveryRow {
  readonly id: string
  readonly endpoint_id: string
  readonly event_ms: bigint
  readonly event_seq: bigint
  readonly type: string
  readonly status: DeliveryStatus
  readonly attempt: number
  readonly next_attempt_at: number | null
  readonly last_status: number | null
  readonly last_error: string | null
  readonly last_latency_ms: number | null
  readonly created_at: number
  readonly finished_at: number | null
}

const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  eventId: eventIdOf({ ms: row.event_ms, seq: row.event_seq }),
  type: row.type,
  status: row.status,
  attempts: row.attempt,
  nextAttemptAt: row.next_attempt_at,
  answerStatus: row.last_status,
  error: row.last_error,
  latencyMillis: row.last_latency_ms,
  createdAt: row.created_at,
  finishedAt: row.finished_at
})

/**
 * Deleted endpoints of a merchant whose rows are kept: every commit and claim looks at the rows of a merchant, so
 * that one who makes and deletes endpoints all day must not slow them down.
 */
export const maximumDeleted = 100

/** The end of a lease is not a time at which anything is sent: only what waits has a next attempt. */
const deliveryColumns = `d.id, d.endpoint_id, d.event_ms, d.event_seq, e.type, d.status, d.attempt, d.last_status,
  d.last_error, d.last_latency_ms, floor(extract(epoch FROM d.created_at))::float8 AS created_at,
  CASE WHEN d.status IN ('pending', 'retrying') THEN floor(extract(epoch FROM d.due_at))::float8 END AS next_attempt_at,
  floor(extract(epoch FROM d.finished_at))::float8 AS finished_at`

const eventJoin = "e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq"

/** Deliveries that are not at their end. */
const openStatuses = "'pending', 'delivering', 'retrying'"

/**
 * Queues events of a range, at most {@link maximumReplayed}, oldest first. `examined` bounds what is read: of what
 * failed by its own index, of events by their key. Deliveries are looked up by their event: `|| ''` hides the endpoint
 * from the planner, which without statistics read all of an endpoint's deliveries for each. A test event belongs to the
 * endpoint it was made for and to no other. Parameters: merchant, endpoint, environment (null: both), commerce only,
 * from ms, from seq, before ms, types.
 */
const replayStatement = (onlyFailed: boolean): string => `
  WITH examined AS MATERIALIZED (${
  onlyFailed
    ? `SELECT d.event_ms AS ms, d.event_seq AS seq FROM webhook_deliveries d
      WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.status IN ('failed', 'canceled')
        AND (d.event_ms, d.event_seq) >= ($5::bigint, $6::bigint) AND d.event_ms < $7::bigint
      ORDER BY d.event_ms, d.event_seq`
    : `SELECT e.ms, e.seq FROM events e
      WHERE e.merchant_id = $1 AND (e.ms, e.seq) >= ($5::bigint, $6::bigint) AND e.ms < $7::bigint
      ORDER BY e.ms, e.seq`
} LIMIT ${maximumExamined + 1}
  ), looked_at AS (
    SELECT DISTINCT ms, seq FROM (SELECT ms, seq FROM examined ORDER BY ms, seq LIMIT ${maximumExamined}) x
  ), found AS MATERIALIZED (
    SELECT l.ms, l.seq FROM looked_at l JOIN events e ON e.merchant_id = $1 AND e.ms = l.ms AND e.seq = l.seq
    CROSS JOIN LATERAL (
      SELECT count(*) AS sent, count(*) FILTER (WHERE o.status IN (${
  onlyFailed ? `${openStatuses}, 'succeeded'` : openStatuses
})) AS blocking
      FROM webhook_deliveries o
      WHERE o.merchant_id = $1 AND o.event_ms = l.ms AND o.event_seq = l.seq AND o.endpoint_id || '' = $2
    ) own
    WHERE e.type = ANY ($8::text[]) AND ($3::text IS NULL OR e.environment = $3)
      AND (e.commerce OR NOT $4::boolean OR e.type = 'test.ping')
      AND own.blocking = 0 AND (e.type <> 'test.ping' OR own.sent > 0)
    ORDER BY l.ms, l.seq LIMIT ${maximumReplayed + 1}
  ), queued AS (
    INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
    SELECT $1, $2, ms, seq FROM found ORDER BY ms, seq LIMIT ${maximumReplayed} RETURNING 1
  )
  SELECT (SELECT count(*) FROM queued)::integer AS queued, n.ms, n.seq
  FROM (SELECT) AS once LEFT JOIN LATERAL (
    (SELECT ms, seq FROM found ORDER BY ms, seq LIMIT 1 OFFSET ${maximumReplayed})
    UNION ALL (SELECT ms, seq FROM examined ORDER BY ms, seq LIMIT 1 OFFSET ${maximumExamined})
    ORDER BY ms, seq LIMIT 1
  ) n ON true`

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  /** Among 1,000,000 deliveries a page takes 4 ms and a replay of 10,000 0.3 s, 5 s and more without it (measured). */
  const useIndexes = Effect.provideService(preferIndexScans, SqlClient.SqlClient, sql)

  const endpoints = (merchantId: number, id: string | null): Effect.Effect<ReadonlyArray<ManagedEndpoint>> =>
    sql<ManagedEndpoint>`
      SELECT w.id, w.merchant_id AS "merchantId", w.version::float8 AS version, w.environment,
        w.commerce_only AS "commerceOnly", w.url, w.status, w.filters, w.ordered, w.api_version AS "apiVersion",
        w.description, w.sealed_secret AS "sealedSecret", w.sealed_previous_secret AS "sealedPreviousSecret",
        w.previous_secret_expires_at::float8 AS "previousSecretExpiresAt", w.disabled_reason AS "disabledReason",
        w.created_at::float8 AS "createdAt", w.updated_at::float8 AS "updatedAt",
        coalesce(l.consecutive_failures, 0) AS "consecutiveFailures"
      FROM webhook_endpoints w
      LEFT JOIN webhook_lanes l ON l.merchant_id = w.merchant_id AND l.endpoint_id = w.id
      WHERE w.merchant_id = ${merchantId} AND w.status <> 'deleted' ${
      id === null ? sql.literal("") : sql`AND w.id = ${id}`
    }
      ORDER BY w.created_at DESC, w.id DESC`.pipe(Effect.orDie)

  /** Runs `act` and keeps the reply it made in one transaction: a repeat of the call finds either both or nothing. */
  const withReply = <A>(
    merchantId: number,
    act: Effect.Effect<A, SqlError.SqlError>,
    reply: (result: A) => ReplyWrite | undefined
  ): Effect.Effect<A, IdempotentReplay> =>
    sql.withTransaction(Effect.gen(function*() {
      const result = yield* act
      const write = reply(result)
      if (write === undefined) return result
      const { environment, fingerprint, scope, sealedBody, status } = write
      const [first] = yield* sql`
        INSERT INTO idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
        VALUES (${merchantId}, ${environment}, ${scope}, ${fingerprint}, ${status}, ${sealedBody})
        ON CONFLICT DO NOTHING RETURNING 1`
      if (first !== undefined) return result
      const [winner] = yield* sql<{ fingerprint: string; status: number; sealedBody: string }>`
        SELECT fingerprint, status, sealed_body AS "sealedBody" FROM idempotency
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND scope = ${scope}`
      return yield* new IdempotentReplay(winner!)
    })).pipe(Effect.catchTag("SqlError", (error) => Effect.die(error)))

  /**
   * Deliveries of an endpoint whose event is of an environment that the endpoint hears of: it may have been another
   * one. `by` says what finds them: a look-up by id or event must not read all that an endpoint has, which a plan made
   * for a small table does (see above).
   */
  const visibleDeliveries = ({ environment, id, merchantId }: EndpointScope, by: "endpoint" | "key") =>
    sql`
    d.merchant_id = ${merchantId} AND ${
      sql.literal(by === "endpoint" ? "d.endpoint_id" : "d.endpoint_id || ''")
    } = ${id}
    AND (${environment}::text IS NULL OR e.environment = ${environment})`

  return {
    count: (merchantId: number): Effect.Effect<EndpointCount> =>
      sql<{ version: bigint; endpoints: number }>`
        SELECT version, endpoints FROM webhook_counts WHERE merchant_id = ${merchantId}`.pipe(
        Effect.map(([row]) => ({ merchantId, version: Number(row?.version ?? 0n), endpoints: row?.endpoints ?? 0 })),
        Effect.orDie
      ),
    /** Undefined for one that is not there, and for a deleted one. */
    endpoint: (merchantId: number, id: string): Effect.Effect<ManagedEndpoint | undefined> =>
      Effect.map(endpoints(merchantId, id), ([found]) => found),
    /** Newest first. */
    endpoints: (merchantId: number) => endpoints(merchantId, null),
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
      ),
    /** The endpoint a delivery went to; undefined where there is no such delivery, or the endpoint was deleted. */
    endpointOf: (merchantId: number, deliveryId: string): Effect.Effect<ManagedEndpoint | undefined> =>
      sql<{ endpoint_id: string }>`
        SELECT endpoint_id FROM webhook_deliveries WHERE merchant_id = ${merchantId} AND id = ${deliveryId}::uuid`.pipe(
        Effect.orDie,
        Effect.flatMap(([found]) =>
          found === undefined
            ? Effect.undefined
            : Effect.map(endpoints(merchantId, found.endpoint_id), ([endpoint]) => endpoint)
        )
      ),
    delivery: (endpoint: EndpointScope, id: string): Effect.Effect<Delivery | undefined> =>
      sql<DeliveryRow>`SELECT ${sql.literal(deliveryColumns)}
        FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
        WHERE ${visibleDeliveries(endpoint, "key")} AND d.id = ${id}::uuid`.pipe(
        Effect.map(([row]) => row && deliveryOf(row)),
        Effect.orDie
      ),
    /** What an event became for one endpoint, the newest of several. */
    deliveryOf: ({ id, merchantId }: EndpointScope, { ms, seq }: EventPosition): Effect.Effect<string | undefined> =>
      sql<{ id: string }>`SELECT id FROM webhook_deliveries
        WHERE merchant_id = ${merchantId} AND event_ms = ${ms} AND event_seq = ${seq} AND endpoint_id || '' = ${id}
        ORDER BY created_at DESC, id DESC LIMIT 1`.pipe(
        Effect.map(([row]) => row?.id),
        Effect.orDie
      ),
    /** In the order they were made. */
    attempts: (merchantId: number, deliveryId: string): Effect.Effect<ReadonlyArray<Attempt>> =>
      sql<Attempt>`SELECT attempt AS number, outcome, status, error, latency_ms AS "latencyMillis", response,
          floor(extract(epoch FROM ended_at))::float8 AS "endedAt"
        FROM webhook_attempts WHERE merchant_id = ${merchantId} AND delivery_id = ${deliveryId}::uuid
        ORDER BY attempt`.pipe(Effect.orDie),
    /** Newest first, and whether there are more beyond; undefined when the cursor is no delivery of the endpoint. */
    page: Effect.fnUntraced(
      function*(endpoint: EndpointScope, page: DeliveriesPage) {
        yield* useIndexes
        const newer = page.direction === "newer"
        // As text: a moment that went through JavaScript would have lost its microseconds.
        const [at] = page.cursor === undefined ? [] : yield* sql<{ created_at: string }>`
        SELECT d.created_at::text FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
        WHERE ${visibleDeliveries(endpoint, "key")} AND d.id = ${page.cursor}::uuid`
        if (page.cursor !== undefined && at === undefined) return undefined
        // Types that no event has: the walk would end with the last delivery there is.
        if (page.types?.length === 0) return { deliveries: [], hasMore: false }
        const conditions = [
          visibleDeliveries(endpoint, page.event === undefined ? "endpoint" : "key"),
          ...at === undefined ? [] : [
            sql`(d.created_at, d.id) ${
              sql.literal(newer ? ">" : "<")
            } (${at.created_at}::timestamptz, ${page.cursor}::uuid)`
          ],
          // In the text: the indexes of what failed and of what is in flight are found by it.
          ...page.status === undefined ? [] : [sql`d.status = ${sql.literal(`'${page.status}'`)}`],
          ...page.event === undefined ? [] : [sql`d.event_ms = ${page.event.ms} AND d.event_seq = ${page.event.seq}`],
          ...page.createdFrom === undefined ? [] : [sql`d.created_at >= to_timestamp(${page.createdFrom}::float8)`],
          ...page.types === undefined ? [] : [sql`e.type = ANY (${[...page.types]}::text[])`]
        ]
        const order = sql.literal(newer ? "ASC" : "DESC")
        const rows = yield* sql<DeliveryRow>`SELECT ${sql.literal(deliveryColumns)}
        FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)} WHERE ${sql.and(conditions)}
        ORDER BY d.created_at ${order}, d.id ${order} LIMIT ${page.limit + 1}`
        const found = rows.slice(0, page.limit).map(deliveryOf)
        return { deliveries: newer ? found.reverse() : found, hasMore: rows.length > page.limit }
      },
      sql.withTransaction,
      Effect.orDie
    ),
    /** A new delivery of the same event; undefined where the old one is not shown. */
    redeliver: (
      endpoint: EndpointScope,
      id: string,
      reply: (result: Delivery | undefined) => ReplyWrite | undefined
    ): Effect.Effect<Delivery | undefined, IdempotentReplay> =>
      withReply(
        endpoint.merchantId,
        sql<DeliveryRow>`
          WITH e AS (
            SELECT e.* FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
            WHERE ${visibleDeliveries(endpoint, "key")} AND d.id = ${id}::uuid
          ), d AS (
            INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
            SELECT merchant_id, ${endpoint.id}, ms, seq FROM e RETURNING *
          ) SELECT ${sql.literal(deliveryColumns)} FROM d, e`.pipe(Effect.map(([row]) => row && deliveryOf(row))),
        reply
      ),
    /** Failing endpoints in the order of merchant and id, one more than the page to know whether there are more. */
    failingEndpoints: ({ after, limit, merchantId }: FailurePage): Effect.Effect<ReadonlyArray<EndpointFailure>> =>
      Effect.andThen(
        useIndexes,
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
      ).pipe(sql.withTransaction, Effect.orDie),
    /** Queues events of a range again. Two replays of one endpoint follow each other, so they queue no event twice. */
    replay: (
      { commerceOnly, environment, id, merchantId }: EndpointScope,
      range: ReplayRange,
      reply: (result: Replay) => ReplyWrite | undefined
    ): Effect.Effect<Replay, IdempotentReplay> =>
      withReply(
        merchantId,
        Effect.gen(function*() {
          yield* sql`SELECT pg_advisory_xact_lock(${replayLockSpace}, hashtext(${id}))`
          yield* useIndexes
          const [made] = yield* sql.unsafe<{ queued: number; ms: bigint | null; seq: bigint | null }>(
            replayStatement(range.onlyFailed),
            [
              merchantId,
              id,
              environment,
              commerceOnly,
              String(range.from.ms),
              String(range.from.seq),
              String(range.beforeMillis),
              [...range.types]
            ]
          )
          const { ms, queued, seq } = made!
          return { queued, next: ms === null || seq === null ? undefined : { ms, seq } }
        }),
        reply
      )
  }
})
