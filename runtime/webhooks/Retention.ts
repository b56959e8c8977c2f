/**
 * What ends and what is forgotten of deliveries: those that waited 72 hours behind an open breaker, and attempts after
 * 30 days.
 */
import { Effect, Layer, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Leases } from "../Leases.ts"
import { batchSize, countPruned, inBatches, initializePruned, runPeriodically } from "../Retention.ts"
import { preferIndexScans } from "../store/IndexPlans.ts"
import {
  dropPartitions,
  type Partition,
  partitionOfOldRows,
  pastPartitions,
  readPartitions
} from "../store/partitions/Partitions.ts"
import { attemptRetentionDays } from "../store/partitions/Tables.ts"
import { makeDueSpan } from "./DueSpan.ts"
import { maximumWaitMillis } from "./RetryPolicy.ts"
import { initializeSeries } from "../Telemetry.ts"

/** Deliveries are looked through this often, so one fails at most so much after its 72 hours. */
const expiryPause = "5 minutes"
const pruningPause = "1 hour"

/** Endpoints looked at by one statement. */
const endpointsPage = 1_000

/** `last_error` of a delivery that waited too long: its last answer, if it ever had one, stays beside it. */
export const expiredError = "not sent within 72 hours: the endpoint failed, and nothing was sent to it meanwhile"

const expiredDeliveries = Metric.counter("webhook_deliveries_expired_total", {
  description: "Webhook deliveries that failed because their endpoint's breaker was open for 72 hours",
  incremental: true
})

interface EndpointKey {
  readonly m: number
  readonly e: string
}

/**
 * Calls `act` with every endpoint that `page` finds after the one it is given, a page at a time; adds up the answers.
 */
const forEachEndpointPage = <R>(
  page: (
    after: EndpointKey
  ) => Effect.Effect<
    { readonly endpoints: ReadonlyArray<EndpointKey>; readonly last: EndpointKey | undefined },
    SqlError.SqlError,
    R
  >,
  act: (endpoints: ReadonlyArray<EndpointKey>) => Effect.Effect<number, SqlError.SqlError, R>
): Effect.Effect<number, SqlError.SqlError, R> =>
  Effect.gen(function*() {
    let after: EndpointKey | undefined = { m: -1, e: "" }
    let all = 0
    while (after !== undefined) {
      const { endpoints, last }: {
        readonly endpoints: ReadonlyArray<EndpointKey>
        readonly last: EndpointKey | undefined
      } = yield* page(after)
      if (endpoints.length > 0) all += yield* act(endpoints)
      after = last
    }
    return all
  })

/**
 * Fails deliveries that were queued 72 hours ago and wait behind a breaker
 * (modules/docs/reference/webhooks.md#an-endpoint-that-fails). Endpoints that an instance holds are left for the next
 * round: what it sends ends by its answer. Answers how many failed.
 */
export const expireOnce: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { from, to } = yield* Effect.flatten(makeDueSpan)
  const openBreakers = ({ e, m }: EndpointKey) =>
    sql<EndpointKey>`SELECT merchant_id AS m, endpoint_id AS e FROM webhook_lanes
      WHERE (merchant_id, endpoint_id) > (${m}::integer, ${e}) AND open_until IS NOT NULL
      ORDER BY merchant_id, endpoint_id LIMIT ${endpointsPage}`.pipe(
      Effect.map((endpoints) => ({ endpoints, last: endpoints.length < endpointsPage ? undefined : endpoints.at(-1) }))
    )
  const batch = ({ e, m }: EndpointKey) =>
    sql<{ readonly failed: number }>`SELECT webhook_expire_v2(${m}::integer, ${e},
      ${maximumWaitMillis}::float8 * interval '1 millisecond', ${batchSize}::integer, ${expiredError},
      ${from}::timestamptz, ${to}::timestamptz) AS failed`.pipe(
      Effect.map(([row]) => row!.failed),
      Effect.tap((failed) => Metric.update(expiredDeliveries, failed))
    )
  return yield* forEachEndpointPage(
    openBreakers,
    (endpoints) =>
      Effect.map(
        Effect.forEach(endpoints, (endpoint) => inBatches(batch(endpoint))),
        (failed) => failed.reduce((a, b) => a + b, 0)
      )
  )
})

/**
 * Removes attempts that ended {@link attemptRetentionDays} ago: a month of which all are so old by dropping its
 * partition, and in the partition from before there were months one by one. Answers how many went one by one.
 */
export const pruneAttemptsOnce: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [now] = yield* sql<{ readonly before: number }>`
    SELECT extract(epoch FROM now() - ${attemptRetentionDays}::integer * interval '1 day')::float8 * 1000 AS before`
  const partitions = yield* readPartitions("webhook_attempts")
  yield* dropPartitions("webhook_attempts", pastPartitions(partitions, now!.before))
  const first = partitionOfOldRows(partitions, now!.before)
  return first === undefined ? 0 : yield* pruneAttemptRows(now!.before, first)
})

/**
 * Deletes attempts of a partition that ended before a moment, epoch milliseconds, one by one; answers how many.
 * Endpoints that have any are found by one index probe each, also those that are gone.
 */
const pruneAttemptRows = Effect.fnUntraced(function*(
  beforeMillis: number,
  { toMillis }: Partition
): Effect.fn.Return<number, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const at = (millis: number) => sql.literal(`to_timestamp(${millis / 1000}::float8)`)
  const old = at(beforeMillis)
  // Rows of another partition may have the same ctid.
  const isInPartition = sql`a.ended_at < ${at(toMillis)}`
  const oldest = sql.literal("ORDER BY a.merchant_id, a.endpoint_id, a.ended_at LIMIT 1")
  const endpointsWithOld = ({ e, m }: EndpointKey) =>
    Effect.andThen(
      preferIndexScans,
      sql<EndpointKey & { readonly is_old: boolean }>`
        WITH RECURSIVE lanes AS (
          (SELECT a.merchant_id AS m, a.endpoint_id AS e, a.ended_at, 1 AS n FROM webhook_attempts a
            WHERE (a.merchant_id, a.endpoint_id) > (${m}::integer, ${e}) AND ${isInPartition} ${oldest})
          UNION ALL
          SELECT x.m, x.e, x.ended_at, l.n + 1 FROM lanes l CROSS JOIN LATERAL (
            SELECT a.merchant_id AS m, a.endpoint_id AS e, a.ended_at FROM webhook_attempts a
            WHERE (a.merchant_id, a.endpoint_id) > (l.m, l.e) AND ${isInPartition} ${oldest}) x
          WHERE l.n < ${endpointsPage}::integer
        )
        SELECT m, e, ended_at < ${old} AS is_old FROM lanes ORDER BY m, e`
    ).pipe(
      sql.withTransaction,
      Effect.map((rows) => ({
        endpoints: rows.filter(({ is_old }) => is_old),
        last: rows.length < endpointsPage ? undefined : rows.at(-1)
      }))
    )
  const batch = (endpoints: ReadonlyArray<EndpointKey>) =>
    Effect.andThen(
      preferIndexScans,
      sql`DELETE FROM webhook_attempts a WHERE ${isInPartition} AND a.ctid = ANY (ARRAY(
        SELECT a.ctid FROM unnest(${endpoints.map(({ m }) => m)}::integer[], ${
        endpoints.map(({ e }) => e)
      }::text[]) AS l(m, e)
        CROSS JOIN LATERAL (
          SELECT a.ctid FROM webhook_attempts a
          WHERE a.merchant_id = l.m AND a.endpoint_id = l.e AND ${isInPartition} AND a.ended_at < ${old}
          ORDER BY a.ended_at LIMIT ${batchSize}) a
        LIMIT ${batchSize})) RETURNING 1`
    ).pipe(sql.withTransaction, Effect.map((rows) => rows.length), countPruned("webhook_attempts"))
  return yield* forEachEndpointPage(endpointsWithOld, (endpoints) => inBatches(batch(endpoints)))
})

/** Both, for as long as the service runs. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | Leases> = Layer.effectDiscard(
  Effect.all([
    initializeSeries(expiredDeliveries),
    initializePruned(["webhook_attempts"]),
    runPeriodically("webhooks-expiry", expiryPause, expireOnce),
    runPeriodically("webhooks-attempts-prune", pruningPause, pruneAttemptsOnce)
  ], { discard: true })
)
