/**
 * The delivery queue in the database: leases, health, cancellations; `DeliveryExchange.ts` claims and writes results.
 * Bookkeeping only, so it does not go through commits. A row of `webhook_lanes` holds an endpoint's lease and health
 * (.adr/0006); its `judged_from` is `countedFromMillis` of `CircuitBreaker.ts`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { StoredEvent } from "../../schemas/Event.ts"
import type { AttemptOutcome } from "./RetryPolicy.ts"
import { type AttemptStatistics, disableAfterMillis, type EndpointHealth, windowMillis } from "./CircuitBreaker.ts"

/**
 * In flight per endpoint, over all instances, once it has answered well; one until then
 * (modules/docs/reference/webhooks.md#in-flight).
 */
export const maximumPerEndpoint = 4

/** Rows of one endpoint that an instance claims ahead, once it has answered well; of a slow one what may be in flight. */
export const maximumHeldPerEndpoint = 64

/**
 * In flight per instance for endpoints that answered well and quickly the last time; nobody else takes these places
 * (modules/docs/reference/webhooks.md#in-flight).
 */
export const maximumQuickInFlight = 64

/** In flight per instance for all other endpoints: new, slow and failing ones. */
export const maximumOtherInFlight = 256

/** Of those, for endpoints whose last attempt failed. */
export const maximumFailingInFlight = 16

/** An endpoint is slow while an attempt of it takes longer than this, and once one did, until one does not. */
export const slowMillis = 1_000

/**
 * In flight for other endpoints together with what was on its way to endpoints that became slow meanwhile. Past it, an
 * attempt keeps the place of a quick endpoint to its end.
 */
export const maximumMovedInFlight = 2 * maximumOtherInFlight

/** All that an instance has in flight. */
export const maximumInFlight = maximumQuickInFlight + maximumMovedInFlight

/**
 * How long an instance has an endpoint's deliveries for itself after it claimed some, in database time: three times
 * what an attempt may take, and no longer, because the deliveries of an instance that was killed wait that long.
 */
export const leaseSeconds = 30

/** How long after a claim its rows may be sent: an attempt that begins by then ends within the lease. */
export const sendWithinMillis = leaseSeconds * 1000 / 2

/** An endpoint as it was claimed of: what its deliveries have in common. */
export interface ClaimedEndpoint {
  readonly merchantId: number
  readonly endpointId: string
  /** Fencing token of its lease: a result counts only while the lease still has it. */
  readonly token: bigint
  /** Claims of it so far, this one included. */
  readonly claims: bigint
  /** As its last attempt was: `unknown` before the first. One whose breaker is open is failing. */
  readonly health: EndpointHealth["state"]
  /** Its last attempt took long, or one is taking long. */
  readonly isSlow: boolean
  /** One of its deliveries is sent at a time. */
  readonly single: boolean
  /** As many were claimed as might be: others may wait. */
  readonly hasMore: boolean
  readonly url: string
  /** Name of the `WebhookFormat` of what it is sent; null: events as they are. */
  readonly format: string | null
  /** What it does not take at the first attempt is not sent again. */
  readonly isSingleAttempt: boolean
  readonly sealedSecret: string
  readonly sealedPreviousSecret: string | null
  /** Epoch seconds. */
  readonly previousSecretExpiresAt: number | null
}

/** A delivery that this instance may send. */
export interface ClaimedDelivery {
  /** The row's UUID; the wire says `whd_<uuid>`. */
  readonly id: string
  /** As PostgreSQL writes it: with its id it finds the row in the partition of its month. */
  readonly createdAt: string
  readonly endpoint: ClaimedEndpoint
  /** Real attempts spent before this one. */
  readonly attempts: number
  /** Milliseconds since it was queued. */
  readonly ageMillis: number
  /** What it tells of; of an endpoint with a format the message, whose type and data are in the words of that. */
  readonly event: StoredEvent
  /** Whether the event is of commerce. */
  readonly commerce: boolean
  /**
   * The canonical text as frozen at commit, in the version the endpoint is pinned to: the same for every attempt. Of a
   * message its data.
   */
  readonly body: string
}

/** Which endpoint of which merchant. */
export interface EndpointKey {
  readonly merchantId: number
  readonly endpointId: string
}

/** An endpoint's place in the queue, as an instance has it. */
export interface EndpointLease extends EndpointKey {
  readonly token: bigint
  readonly claims: bigint
}

/** What becomes of a claimed row. */
export interface DeliveryResult {
  readonly delivery: ClaimedDelivery
  readonly status: "pending" | "retrying" | "succeeded" | "failed"
  readonly attempts: number
  /** Milliseconds until it is due again; null when it is finished. */
  readonly dueInMillis: number | null
  /** How the attempt ended; null where it was not the receiver's, and spent nothing. */
  readonly outcome: AttemptOutcome | null
  readonly answerStatus: number | null
  readonly error: string | null
  readonly latencyMillis: number
  /** What was kept of the answer; null without one. */
  readonly response: string | null
}

/** An endpoint of which attempts just ended. */
export interface EndpointReport {
  readonly merchantId: number
  readonly endpointId: string
  /** Of the row that `health` was read from; a change is written at the next one. */
  readonly version: bigint
  readonly health: EndpointHealth
  readonly statistics: AttemptStatistics
}

/** An endpoint's health, to be written at its version. */
export interface HealthWrite {
  readonly report: EndpointReport
  readonly health: EndpointHealth
  /** The lease to release with this write, unless another claim extended it meanwhile. */
  readonly release: EndpointLease | undefined
}

/**
 * Extends leases for another term, and answers those that are still held. One whose endpoint was changed is not:
 * what it has would be sent as the endpoint was.
 */
export const extendLeases = (
  holder: string,
  leases: ReadonlyArray<EndpointLease>
): Effect.Effect<ReadonlySet<string>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly endpoint_id: string }>`
      WITH held AS MATERIALIZED (
        SELECT l.merchant_id, l.endpoint_id FROM webhook_lanes l
        JOIN unnest(${leases.map(({ merchantId }) => merchantId)}::integer[],
          ${leases.map(({ endpointId }) => endpointId)}::text[], ${
      leases.map(({ token }) => token)
    }::bigint[]) AS r(m, e, token)
          ON l.merchant_id = r.m AND l.endpoint_id = r.e AND l.token = r.token
        JOIN webhook_endpoints w ON w.id = l.endpoint_id AND w.status = 'enabled'
        WHERE l.holder = ${holder} AND l.held_until > now()
          AND w.updated_at < floor(extract(epoch FROM l.held_until - ${leaseSeconds}::integer * interval '1 second'))
        ORDER BY l.merchant_id, l.endpoint_id FOR UPDATE OF l
      )
      UPDATE webhook_lanes l SET held_until = now() + ${leaseSeconds}::integer * interval '1 second'
      FROM held h WHERE l.merchant_id = h.merchant_id AND l.endpoint_id = h.endpoint_id RETURNING l.endpoint_id`
    return new Set(rows.map(({ endpoint_id }) => endpoint_id))
  })

/** Shows rows as `delivering` that are on their way for so long that somebody may look, unless they ended meanwhile. */
export const markDelivering = (
  rows: ReadonlyArray<ClaimedDelivery>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      UPDATE webhook_deliveries d SET status = 'delivering'
      FROM unnest(${rows.map(({ endpoint }) => endpoint.merchantId)}::integer[],
        ${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ createdAt }) => createdAt)}::timestamptz[],
        ${rows.map(({ attempts }) => attempts)}::integer[]) AS r(m, id, created, attempts)
      WHERE d.merchant_id = r.m AND d.id = r.id AND d.created_at = r.created AND d.attempt = r.attempts AND d.status IN ('pending', 'retrying')`
  })

/** A row of `webhook_lanes_v2`. */
export interface HealthRow {
  readonly merchant_id: number
  readonly endpoint_id: string
  readonly outcomes: string
  /** As JSON has it, a number. */
  readonly version: bigint | number
  readonly health: EndpointHealth["state"]
  readonly consecutive_failures: number
  readonly failing_since_ms: number | null
  readonly open_until_ms: number | null
  readonly openings: number
  readonly judged_from_ms: number
  readonly now_ms: number
  readonly attempts: number
  readonly failures: number
  readonly timeouts: number
  readonly failed_events: number
}

/** Outcomes as the database spells them in a row. */
const outcomeOf: Readonly<Record<string, AttemptOutcome>> = { s: "succeeded", f: "failed", t: "timed_out" }

export const reportOf = (row: HealthRow): EndpointReport => ({
  merchantId: row.merchant_id,
  endpointId: row.endpoint_id,
  version: BigInt(row.version),
  health: {
    state: row.health,
    consecutiveFailures: row.consecutive_failures,
    failingSinceMillis: row.failing_since_ms,
    openUntilMillis: row.open_until_ms,
    openings: row.openings,
    countedFromMillis: row.judged_from_ms
  },
  statistics: {
    outcomes: [...row.outcomes].map((letter) => outcomeOf[letter]!),
    attempts: row.attempts,
    failures: row.failures,
    timeouts: row.timeouts,
    failedEvents: row.failed_events,
    nowMillis: row.now_ms
  }
})

/** The health of the endpoints of `reports` as it is now, with what the same attempts say of them. */
export const readHealth = (
  reports: ReadonlyArray<EndpointReport>
): Effect.Effect<ReadonlyArray<EndpointReport>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const outcomes = reports.map(({ statistics }) => statistics.outcomes.map((outcome) => outcome[0]).join(""))
    const healthRows = yield* sql<HealthRow>`
      SELECT * FROM webhook_lanes_v2(${reports.map(({ merchantId }) => merchantId)}::integer[],
        ${reports.map(({ endpointId }) => endpointId)}::text[], ${outcomes}::text[],
        ${windowMillis}::float8 * interval '1 millisecond', ${disableAfterMillis}::float8 * interval '1 millisecond')`
    return healthRows.map(reportOf)
  })

/** Writes health that is still at its version; answers the reports of the others. */
export const writeHealth = (
  writes: ReadonlyArray<HealthWrite>
): Effect.Effect<ReadonlyArray<EndpointReport>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = JSON.stringify(writes.map(({ health, release, report }) => ({
      m: report.merchantId,
      e: report.endpointId,
      version: String(report.version),
      health: health.state,
      failures: health.consecutiveFailures,
      since: health.failingSinceMillis,
      until: health.openUntilMillis,
      openings: health.openings,
      judged: health.countedFromMillis,
      token: release === undefined ? null : String(release.token),
      claims: release === undefined ? null : String(release.claims)
    })))
    const updatedRows = yield* sql<{ readonly merchant_id: number; readonly endpoint_id: string }>`
      WITH changes AS MATERIALIZED (
        SELECT * FROM json_to_recordset(${rows}::json) AS r(m integer, e text, version bigint, health text,
          failures integer, since float8, until float8, openings integer, judged float8, token bigint, claims bigint)
      ), held AS MATERIALIZED (
        SELECT l.merchant_id, l.endpoint_id FROM webhook_lanes l
        JOIN changes r ON r.m = l.merchant_id AND r.e = l.endpoint_id AND r.version = l.version
        ORDER BY l.merchant_id, l.endpoint_id FOR UPDATE OF l
      )
      UPDATE webhook_lanes l SET version = l.version + 1, health = r.health, consecutive_failures = r.failures,
        failing_since = to_timestamp(r.since / 1000), open_until = to_timestamp(r.until / 1000), openings = r.openings,
        judged_from = to_timestamp(r.judged / 1000),
        held_until = CASE WHEN l.token = r.token AND l.claims = r.claims THEN '-infinity' ELSE l.held_until END
      FROM held h JOIN changes r ON r.m = h.merchant_id AND r.e = h.endpoint_id
      WHERE l.merchant_id = h.merchant_id AND l.endpoint_id = h.endpoint_id AND l.version = r.version
      RETURNING l.merchant_id, l.endpoint_id`
    const updatedIds = new Set(updatedRows.map(({ endpoint_id }) => endpoint_id))
    return writes.filter(({ report }) => !updatedIds.has(report.endpointId)).map(({ report }) => report)
  })

/** Cancels what waits for an endpoint but for one, at most 10,000 rows a call; the claim cancels whatever is left. */
export const cancelWaiting = (
  merchantId: number,
  endpointId: string,
  except: string | null = null
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      WITH c AS MATERIALIZED (
        SELECT id, created_at FROM webhook_deliveries
        WHERE merchant_id = ${merchantId} AND endpoint_id = ${endpointId} AND due_at IS NOT NULL
          AND status IN ('pending', 'retrying') AND id IS DISTINCT FROM ${except}::uuid
        ORDER BY due_at LIMIT 10000 FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, finished_at = now()
      FROM c WHERE d.merchant_id = ${merchantId} AND d.id = c.id AND d.created_at = c.created_at`
  })

/**
 * Makes what waits to be tried again of a merchant's devnet events due earlier by some seconds: its clock has moved.
 * Leases of endpoints and the pauses of breakers stay. Locks rows in the order in which results are written.
 */
export const advanceRetries = (
  merchantId: number,
  seconds: number
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      WITH c AS MATERIALIZED (
        SELECT d.id, d.created_at FROM webhook_deliveries d
        WHERE d.merchant_id = ${merchantId} AND d.due_at > now() AND (
          EXISTS (SELECT FROM events e WHERE e.merchant_id = d.merchant_id AND e.ms = d.event_ms
            AND e.seq = d.event_seq AND e.environment = 'devnet' OFFSET 0)
          OR EXISTS (SELECT FROM webhook_messages m WHERE m.merchant_id = d.merchant_id AND m.ms = d.event_ms
            AND m.seq = d.event_seq AND m.environment = 'devnet' OFFSET 0))
        ORDER BY d.id FOR UPDATE OF d
      )
      UPDATE webhook_deliveries d SET due_at = d.due_at - ${seconds}::integer * interval '1 second'
      FROM c WHERE d.merchant_id = ${merchantId} AND d.id = c.id AND d.created_at = c.created_at`
  })
