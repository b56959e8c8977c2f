/** Deliveries of an endpoint as its owner sees them, and their attempts. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { indexScanSettings, preferIndexScans } from "../../../runtime/store/IndexPlans.ts"
import { eventIdOf, type EventPosition } from "../../../schemas/Ids.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { millisOfId } from "../../../runtime/webhooks/DeliveryId.ts"
import type { DeliveryStatus } from "../../../schemas/Webhook.ts"
import type { DeliveriesPage } from "../rules.ts"
import { type EndpointScope, type ManagedEndpoint, readEndpoints } from "./EndpointQueries.ts"

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

export interface DeliveryRow {
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

export const deliveryOf = (row: DeliveryRow): Delivery => ({
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

/** The end of a lease is not a time at which anything is sent: only what waits has a next attempt. */
export const deliveryColumns =
  `d.id, d.endpoint_id, d.event_ms, d.event_seq, e.type, d.status, d.attempt, d.last_status,
  d.last_error, d.last_latency_ms, floor(extract(epoch FROM d.created_at))::float8 AS created_at,
  CASE WHEN d.status IN ('pending', 'retrying') THEN floor(extract(epoch FROM d.due_at))::float8 END AS next_attempt_at,
  floor(extract(epoch FROM d.finished_at))::float8 AS finished_at`

export const eventJoin = "e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq"

/** Among 1,000,000 deliveries a page takes 4 ms and a replay of 10,000 0.3 s, 5 s and more without it (measured). */
export const useIndexes = (sql: SqlClient.SqlClient) =>
  Effect.provideService(preferIndexScans, SqlClient.SqlClient, sql)

/**
 * Deliveries of an endpoint whose event is of an environment that the endpoint hears of: it may have been another
 * one. `by` says what finds them: a look-up by id or event must not read all that an endpoint has, which a plan made
 * for a small table does (see above).
 */
export const visibleDeliveries = (
  sql: SqlClient.SqlClient,
  { environment, id, merchantId }: EndpointScope,
  by: "endpoint" | "key"
) =>
  sql`
  d.merchant_id = ${merchantId} AND ${sql.literal(by === "endpoint" ? "d.endpoint_id" : "d.endpoint_id || ''")} = ${id}
  AND (${environment}::text IS NULL OR e.environment = ${environment})`

/** The delivery `d` with an id, which mostly says in which partition it is. */
export const hasId = (sql: SqlClient.SqlClient, id: string) => {
  const millis = millisOfId(id)
  return millis === undefined ? sql`d.id = ${id}::uuid` : sql`d.id = ${id}::uuid
    AND d.created_at >= to_timestamp(${millis}::float8 / 1000) AND d.created_at < to_timestamp(${
    millis + 1
  }::float8 / 1000)`
}

/**
 * Newest first, and whether there are more beyond; undefined when the cursor is no delivery of the endpoint. `admit`
 * says whether the endpoint that has the id, if any, may be looked at.
 */
const readPage = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(
    function*(
      { id, merchantId }: Pick<EndpointScope, "id" | "merchantId">,
      page: DeliveriesPage,
      admit: (found: ManagedEndpoint | undefined) => Effect.Effect<EndpointScope, PublicError>
    ) {
      // What useIndexes sets, by the statement that reads the endpoint.
      const [stored] = yield* readEndpoints(sql, merchantId, id, sql`, ${indexScanSettings(sql)}`)
      const endpoint = yield* admit(stored)
      const newer = page.direction === "newer"
      // As text: a moment that went through JavaScript would have lost its microseconds.
      const [at] = page.cursor === undefined ? [] : yield* sql<{ created_at: string }>`
        SELECT d.created_at::text FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
        WHERE ${visibleDeliveries(sql, endpoint, "key")} AND ${hasId(sql, page.cursor)}`
      if (page.cursor !== undefined && at === undefined) return undefined
      // Types that no event has: the walk would end with the last delivery there is.
      if (page.types?.length === 0) return { deliveries: [], hasMore: false }
      const conditions = [
        visibleDeliveries(sql, endpoint, page.event === undefined ? "endpoint" : "key"),
        ...at === undefined ? [] : [
          sql`(d.created_at, d.id) ${
            sql.literal(newer ? ">" : "<")
          } (${at.created_at}::timestamptz, ${page.cursor}::uuid)`,
          sql`d.created_at ${sql.literal(newer ? ">=" : "<=")} ${at.created_at}::timestamptz`
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
    Effect.catchTag("SqlError", (error) => Effect.die(error))
  )

export const deliveryQueries = (sql: SqlClient.SqlClient) => ({
  /** The endpoint a delivery went to; undefined where there is no such delivery, or the endpoint was deleted. */
  endpointOf: (merchantId: number, deliveryId: string): Effect.Effect<ManagedEndpoint | undefined> =>
    sql<{ endpoint_id: string }>`
      SELECT d.endpoint_id FROM webhook_deliveries d WHERE d.merchant_id = ${merchantId} AND ${hasId(sql, deliveryId)}`
      .pipe(
        Effect.orDie,
        Effect.flatMap(([found]) =>
          found === undefined
            ? Effect.undefined
            : Effect.map(readEndpoints(sql, merchantId, found.endpoint_id), ([endpoint]) => endpoint)
        )
      ),
  delivery: (endpoint: EndpointScope, id: string): Effect.Effect<Delivery | undefined> =>
    sql<DeliveryRow>`SELECT ${sql.literal(deliveryColumns)}
      FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
      WHERE ${visibleDeliveries(sql, endpoint, "key")} AND ${hasId(sql, id)}`.pipe(
      Effect.map(([row]) => row && deliveryOf(row)),
      Effect.orDie
    ),
  /** What an event became for one endpoint, the newest of several. */
  deliveryOf: ({ id, merchantId }: EndpointScope, { ms, seq }: EventPosition): Effect.Effect<string | undefined> =>
    sql<{ id: string }>`SELECT d.id FROM webhook_deliveries d
      WHERE d.merchant_id = ${merchantId} AND d.event_ms = ${ms} AND d.event_seq = ${seq} AND d.endpoint_id || '' = ${id}
      ORDER BY d.created_at DESC, d.id DESC LIMIT 1`.pipe(
      Effect.map(([row]) => row?.id),
      Effect.orDie
    ),
  /** In the order they were made. */
  attempts: (merchantId: number, deliveryId: string): Effect.Effect<ReadonlyArray<Attempt>> =>
    sql<Attempt>`SELECT attempt AS number, outcome, status, error, latency_ms AS "latencyMillis", response,
        floor(extract(epoch FROM ended_at))::float8 AS "endedAt"
      FROM webhook_attempts WHERE merchant_id = ${merchantId} AND delivery_id = ${deliveryId}::uuid
      ORDER BY attempt`.pipe(Effect.orDie),
  page: readPage(sql)
})
