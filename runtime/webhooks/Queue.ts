/** The delivery queue in the database: claims, marks, cancellations. Bookkeeping only, so it does not go through commits. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { eventIdOf } from "../../schemas/Ids.ts"
import { eventText, type StoredEvent } from "../../schemas/Event.ts"
import type { Environment } from "../../schemas/Network.ts"
import { timeWidths } from "../Rollups.ts"
import { attemptsSum } from "../Webhooks.ts"

/** In flight per endpoint, over all instances, once it has answered well; one until then (API reference, "Delivery"). */
export const maximumPerEndpoint = 4

/** In flight per instance (API reference, "Delivery"). */
export const maximumInFlight = 64

/** Of those, for endpoints whose last attempt failed: a quarter (API reference, "Delivery"). */
export const maximumFailingInFlight = maximumInFlight / 4

/** How long a claim lasts, in database time: six times what an attempt may take. */
export const leaseSeconds = 60

/** A delivery this instance holds until its lease ends. */
export interface Claimed {
  /** The row's UUID; the wire says `whd_<uuid>`. */
  readonly id: string
  readonly merchantId: number
  readonly endpointId: string
  /** Fencing token: a result counts only while the row still has it. */
  readonly token: bigint
  /** Real attempts spent before this one. */
  readonly attempts: number
  /** Milliseconds since it was queued. */
  readonly ageMillis: number
  readonly failing: boolean
  readonly event: StoredEvent
  /** The canonical text as frozen at commit, in the version the endpoint is pinned to: the same for every attempt. */
  readonly body: string
  readonly url: string
  readonly sealedSecret: string
  readonly sealedPreviousSecret: string | null
  /** Epoch seconds. */
  readonly previousSecretExpiresAt: number | null
}

/** What becomes of a claimed row. */
export interface Mark {
  readonly claimed: Claimed
  readonly status: "pending" | "retrying" | "succeeded" | "failed"
  readonly attempts: number
  /** Milliseconds until it is due again; null when it is finished. */
  readonly dueInMillis: number | null
  readonly answerStatus: number | null
  readonly error: string | null
  readonly latencyMillis: number | null
  /** What the attempt said of the endpoint; null when it said nothing. */
  readonly health: "healthy" | "failing" | null
}

interface ClaimRow {
  readonly id: string
  readonly merchant_id: number
  readonly endpoint_id: string
  readonly token: bigint
  readonly attempt: number
  readonly age_ms: bigint
  readonly failing: boolean
  readonly event_ms: bigint
  readonly event_seq: bigint
  readonly environment: Environment
  readonly type: string
  readonly request_id: string | null
  readonly idempotency_key: string | null
  readonly pending_webhooks: number
  readonly data: string
  readonly url: string
  readonly sealed_secret: string
  readonly sealed_previous_secret: string | null
  readonly previous_secret_expires_at: bigint | null
  readonly api_version: string
}

const claimedOf = (row: ClaimRow): Claimed => {
  const event: StoredEvent = {
    id: eventIdOf({ ms: row.event_ms, seq: row.event_seq }),
    type: row.type,
    environment: row.environment,
    created: Number(row.event_ms / 1000n),
    requestId: row.request_id,
    idempotencyKey: row.idempotency_key,
    data: row.data
  }
  return {
    id: row.id,
    merchantId: row.merchant_id,
    endpointId: row.endpoint_id,
    token: row.token,
    attempts: row.attempt,
    ageMillis: Number(row.age_ms),
    failing: row.failing,
    event,
    body: eventText(event, row.pending_webhooks, row.api_version),
    url: row.url,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret,
    previousSecretExpiresAt: row.previous_secret_expires_at === null ? null : Number(row.previous_secret_expires_at)
  }
}

/** Claims due deliveries of some merchants, or of all with null. */
export const claim = (request: {
  readonly merchants: ReadonlyArray<number> | null
  readonly slots: number
  readonly failingSlots: number
}): Effect.Effect<ReadonlyArray<Claimed>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const merchants = request.merchants === null ? null : [...request.merchants]
    const rows = yield* sql<ClaimRow>`
      SELECT * FROM webhook_claim_v2(${merchants}::integer[], ${request.slots}::integer,
        ${request.failingSlots}::integer, ${maximumPerEndpoint}::integer,
        ${leaseSeconds}::integer * interval '1 second')`
    return rows.map(claimedOf)
  })

/**
 * Writes results of rows that still carry the token of their claim, and counts the attempts they spent; later ones are
 * dropped silently by the fence. Sums are moved last of all and in key order, so that two marks never wait for each other.
 */
export const mark = (
  marks: ReadonlyArray<Mark>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = JSON.stringify(marks.map((each) => ({
      m: each.claimed.merchantId,
      w: each.claimed.endpointId,
      id: each.claimed.id,
      token: String(each.claimed.token),
      status: each.status,
      attempt: each.attempts,
      spent: each.attempts > each.claimed.attempts,
      due: each.dueInMillis,
      answer: each.answerStatus,
      error: each.error,
      latency: each.latencyMillis,
      health: each.health
    })))
    yield* sql`
      WITH marks AS MATERIALIZED (
        SELECT * FROM json_to_recordset(${rows}::json) AS r(m integer, w text, id uuid, token bigint, status text,
          attempt integer, spent boolean, due bigint, answer integer, error text, latency integer, health text)
      ), lanes AS (
        SELECT l.merchant_id, l.endpoint_id, h.health
        FROM webhook_lanes l JOIN (
          SELECT m, w, CASE WHEN bool_or(health = 'healthy') THEN 'healthy' ELSE 'failing' END AS health
          FROM marks WHERE health IS NOT NULL GROUP BY m, w
        ) h ON l.merchant_id = h.m AND l.endpoint_id = h.w AND l.health <> h.health
        ORDER BY l.merchant_id, l.endpoint_id FOR UPDATE OF l
      ), judged AS (
        UPDATE webhook_lanes l SET health = n.health FROM lanes n
        WHERE l.merchant_id = n.merchant_id AND l.endpoint_id = n.endpoint_id
      ), marked AS (
        UPDATE webhook_deliveries d SET status = r.status, attempt = r.attempt, lease_until = NULL,
          due_at = now() + r.due * interval '1 millisecond', last_status = r.answer, last_error = r.error,
          last_latency_ms = r.latency, finished_at = CASE WHEN r.due IS NULL THEN now() END
        FROM marks r WHERE d.merchant_id = r.m AND d.id = r.id AND d.token = r.token AND d.status = 'delivering'
        RETURNING d.merchant_id, d.event_ms, d.event_seq, d.status, r.spent
      ), spent AS (
        SELECT e.merchant_id, e.environment, w.width, floor(extract(epoch FROM now()) / w.width)::bigint * w.width AS bucket,
          CASE WHEN e.commerce THEN 'commerce:' ELSE 'standard:' END ||
            CASE WHEN k.status = 'succeeded' THEN 'succeeded' ELSE 'failed' END AS key, count(*) AS count
        FROM marked k
        JOIN events e ON e.merchant_id = k.merchant_id AND e.ms = k.event_ms AND e.seq = k.event_seq
        CROSS JOIN unnest(${[...timeWidths]}::integer[]) AS w(width)
        WHERE k.spent GROUP BY 1, 2, 3, 4, 5
      )
      INSERT INTO rollups AS t (merchant_id, environment, sum, width, bucket, key, count, amount, amount_paid)
        SELECT merchant_id, environment, ${attemptsSum}, width, bucket, key, count, 0, 0 FROM spent
        ORDER BY merchant_id, environment, width, bucket, key
      ON CONFLICT (merchant_id, environment, sum, width, bucket, key) DO UPDATE SET count = t.count + excluded.count`
  })

/** Cancels what waits for an endpoint, at most 10,000 rows a call; the claim cancels whatever is left. */
export const cancelWaiting = (
  merchantId: number,
  endpointId: string
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, lease_until = NULL, finished_at = now()
      FROM (SELECT id FROM webhook_deliveries
        WHERE merchant_id = ${merchantId} AND endpoint_id = ${endpointId} AND due_at IS NOT NULL
          AND status IN ('pending', 'retrying')
        ORDER BY due_at LIMIT 10000 FOR UPDATE SKIP LOCKED) c
      WHERE d.merchant_id = ${merchantId} AND d.id = c.id`
  })
