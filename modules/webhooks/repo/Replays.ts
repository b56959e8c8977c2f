/**
 * Deliveries that are queued once more, one by hand or a range of events. They are bookkeeping, so they are written
 * here and not by a commit.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { IdempotentReplay, type ReplyWrite } from "../../../runtime/Commit.ts"
import type { ReplyRow } from "../../../runtime/http/Replies.ts"
import { replayLockSpace } from "../../../runtime/store/Locks.ts"
import type { EventPosition } from "../../../schemas/Ids.ts"
import { maximumExamined, maximumReplayed, type ReplayRange } from "../rules.ts"
import {
  type Delivery,
  deliveryColumns,
  deliveryOf,
  type DeliveryRow,
  eventJoin,
  hasId,
  useIndexes,
  visibleDeliveries
} from "./DeliveryQueries.ts"
import type { EndpointScope } from "./EndpointQueries.ts"

/** What a replay queued, and the first event of its range that it did not come to. */
export interface Replay {
  readonly queued: number
  readonly next: EventPosition | undefined
}

/** Deliveries that are not at their end. */
const openStatuses = "'pending', 'delivering', 'retrying'"

/**
 * Queues events of a range, at most {@link maximumReplayed}, oldest first. `examined` bounds what is read: of what
 * failed by its own index, of events by their key. `OFFSET 0` keeps the planner from walking all of one side for each
 * row of the other. Deliveries are looked up by their event: `|| ''` hides the endpoint from the planner, which without
 * statistics read all of an endpoint's deliveries for each. A test event belongs to the endpoint it was made for and to
 * no other. Parameters: merchant, endpoint, environment (null: both), commerce only, from ms, from seq, before ms,
 * types.
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
        AND e.ms >= $5::bigint
      ORDER BY e.ms, e.seq`
} LIMIT ${maximumExamined + 1}
  ), looked_at AS (
    SELECT DISTINCT ms, seq FROM (SELECT ms, seq FROM examined ORDER BY ms, seq LIMIT ${maximumExamined}) x
  ), found AS MATERIALIZED (
    SELECT l.ms, l.seq FROM looked_at l
    CROSS JOIN LATERAL (
      SELECT type, environment, commerce FROM events e
      WHERE e.merchant_id = $1 AND e.ms = l.ms AND e.seq = l.seq AND e.ms >= $5::bigint AND e.ms < $7::bigint OFFSET 0
    ) e
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

/** Runs `act` and keeps the reply it made in one transaction: a repeat of the call finds either both or nothing. */
const withReply = <A>(
  sql: SqlClient.SqlClient,
  merchantId: number,
  act: Effect.Effect<A, SqlError.SqlError>,
  reply: (result: A) => ReplyWrite | undefined
): Effect.Effect<A, IdempotentReplay> =>
  sql.withTransaction(Effect.gen(function*() {
    const result = yield* act
    const write = reply(result)
    if (write === undefined) return result
    const { environment, fingerprint, reference = null, scope, sealedBody = null, status } = write
    const [first] = yield* sql`
      INSERT INTO idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body, reference)
      VALUES (${merchantId}, ${environment}, ${scope}, ${fingerprint}, ${status}, ${sealedBody}, ${reference})
      ON CONFLICT DO NOTHING RETURNING 1`
    if (first !== undefined) return result
    const [winner] = yield* sql<ReplyRow>`
      SELECT fingerprint, status, sealed_body AS "sealedBody", reference FROM idempotency
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND scope = ${scope}`
    return yield* new IdempotentReplay(winner!)
  })).pipe(Effect.catchTag("SqlError", (error) => Effect.die(error)))

export const replayQueries = (sql: SqlClient.SqlClient) => ({
  /** A new delivery of the same event; undefined where the old one is not shown. */
  redeliver: (
    endpoint: EndpointScope,
    id: string,
    reply: (result: Delivery | undefined) => ReplyWrite | undefined
  ): Effect.Effect<Delivery | undefined, IdempotentReplay> =>
    withReply(
      sql,
      endpoint.merchantId,
      sql<DeliveryRow>`
        WITH e AS (
          SELECT e.* FROM webhook_deliveries d JOIN events e ON ${sql.literal(eventJoin)}
          WHERE ${visibleDeliveries(sql, endpoint, "key")} AND ${hasId(sql, id)}
        ), d AS (
          INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
          SELECT merchant_id, ${endpoint.id}, ms, seq FROM e RETURNING *
        ) SELECT ${sql.literal(deliveryColumns)} FROM d, e`.pipe(Effect.map(([row]) => row && deliveryOf(row))),
      reply
    ),
  /** Queues events of a range again. Two replays of one endpoint follow each other, so they queue no event twice. */
  replay: (
    { commerceOnly, environment, id, merchantId }: EndpointScope,
    range: ReplayRange,
    reply: (result: Replay) => ReplyWrite | undefined
  ): Effect.Effect<Replay, IdempotentReplay> =>
    withReply(
      sql,
      merchantId,
      Effect.gen(function*() {
        yield* sql`SELECT pg_advisory_xact_lock(${replayLockSpace}, hashtext(${id}))`
        yield* useIndexes(sql)
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
})
