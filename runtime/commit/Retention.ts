/**
 * Events are kept for 365 days, and their deliveries with them. Of each object the last event that goes is kept as a
 * snapshot, so that sums can still be counted from the events (`RollupRebuild.ts`).
 *
 * Kept replies are made again from events (`ReplyBody` of `Commit.ts`), so a reply goes before its event: each round
 * begins with the replies, which are kept for 7 days, and the reply of an event is no younger than the event.
 *
 * Commits wait for none of it: they only add rows, and the merchant's stream row, which they lock, is written last.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Leases } from "../Leases.ts"
import { batchSize, countPruned, inBatches, initializePruned, runPeriodically } from "../Retention.ts"
import { pruneOnce as pruneReplies } from "../http/Replies.ts"
import { preferIndexScans } from "../store/IndexPlans.ts"
import { advisoryLock, lockSpace } from "../store/Locks.ts"
import { type EventType, optInTypes } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import type { EventPosition } from "../../schemas/Ids.ts"

/** How long events are kept (modules/docs/reference/events.md#retention). */
export const eventRetentionDays = 365

const pause = "1 hour"

/** Merchants looked at by one statement: two index probes each. */
const merchantsPage = 1_000

/**
 * Events of which nothing is kept: nothing is counted of pings, nor of the objects of opt-in types, whose own tables
 * are the truth.
 */
const unkeptTypes: ReadonlyArray<EventType> = ["test.ping", ...optInTypes]

interface EventRow extends EventPosition {
  readonly environment: string
  readonly data: string
}

/**
 * The last event of each object. Parsed here: PostgreSQL reads no text with half a surrogate pair, and a merchant may
 * send one.
 */
const newestOf = (events: ReadonlyArray<EventRow>) => {
  const newest = new Map<string, EventRow & { readonly object: string; readonly id: string }>()
  for (const event of events) {
    const { object } = JSON.parse(event.data) as { readonly object: WireObject }
    newest.set(`${object.object} ${String(object.id)}`, { ...event, object: object.object, id: String(object.id) })
  }
  return [...newest.values()]
}

const retentionMillis = eventRetentionDays * 86_400_000

/** The newest event that may go, of the oldest `size` from before a moment. */
const cutoffOf = (merchantId: number, beforeMillis: bigint, size: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql<EventPosition>`SELECT ms, seq FROM (
        SELECT ms, seq FROM events WHERE merchant_id = ${merchantId} AND ms < ${beforeMillis}::bigint
        ORDER BY ms, seq LIMIT ${size}::integer) oldest
      ORDER BY ms DESC, seq DESC LIMIT 1`).pipe(Effect.map(([cut]) => cut))

/**
 * Deletes a merchant's deliveries of events up to a position, with their attempts, in batches. Those that are just
 * written to are passed over: waiting for them could be a deadlock, and they are found again.
 */
const pruneDeliveries = Effect.fnUntraced(function*(merchantId: number, { ms, seq }: EventPosition) {
  const sql = yield* SqlClient.SqlClient
  const batch = Effect.andThen(
    preferIndexScans,
    sql<{ readonly deliveries: number }>`
      WITH gone AS (
        DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
          SELECT d.ctid FROM webhook_deliveries d
          WHERE d.merchant_id = ${merchantId} AND (d.event_ms, d.event_seq) <= (${ms}::bigint, ${seq}::bigint)
          ORDER BY d.event_ms, d.event_seq LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)) RETURNING id
      ), tries AS (
        DELETE FROM webhook_attempts a USING gone WHERE a.merchant_id = ${merchantId} AND a.delivery_id = gone.id
      ) SELECT count(*)::integer AS deliveries FROM gone`
  ).pipe(sql.withTransaction, Effect.map(([row]) => row!.deliveries), countPruned("webhook_deliveries"))
  yield* inBatches(batch)
})

/**
 * Removes a merchant's events up to `cut` and keeps the snapshots; answers how many went, 0 also while sums are counted
 * from the events. Two events that tell of one change may part here: the count goes on from the snapshot's text.
 */
const pruneTo = Effect.fnUntraced(function*(merchantId: number, { ms, seq }: EventPosition) {
  const sql = yield* SqlClient.SqlClient
  yield* preferIndexScans
  const [lock] = yield* sql<{ readonly free: boolean }>`
    SELECT pg_try_advisory_xact_lock(${lockSpace}, ${advisoryLock.pruning}) AS free`
  if (lock?.free !== true) return 0
  const isPruned = sql`merchant_id = ${merchantId} AND (ms, seq) <= (${ms}::bigint, ${seq}::bigint)`
  const newest = newestOf(
    yield* sql<EventRow>`
    SELECT ms, seq, environment, data FROM events WHERE ${isPruned} AND type <> ALL (${unkeptTypes}::text[]) ORDER BY ms, seq`
  )
  yield* sql`INSERT INTO event_snapshots AS s (merchant_id, object, id, environment, ms, seq, data)
    SELECT ${merchantId}, r.object, r.id, r.environment, r.ms, r.seq, r.data FROM unnest(
      ${newest.map(({ object }) => object)}::text[], ${newest.map(({ id }) => id)}::text[],
      ${newest.map(({ environment }) => environment)}::text[], ${newest.map(({ ms }) => ms)}::bigint[],
      ${newest.map(({ seq }) => seq)}::bigint[], ${newest.map(({ data }) => data)}::text[]
    ) AS r(object, id, environment, ms, seq, data)
    ON CONFLICT (merchant_id, object, id) DO UPDATE SET environment = excluded.environment, ms = excluded.ms,
      seq = excluded.seq, data = excluded.data
    WHERE (excluded.ms, excluded.seq) > (s.ms, s.seq)`
  yield* sql`DELETE FROM webhook_messages WHERE ${isPruned}`
  const events = yield* sql`DELETE FROM events WHERE ${isPruned} RETURNING 1`
  yield* sql`UPDATE merchant_streams SET pruned_ms = ${ms}::bigint, pruned_seq = ${seq}::bigint
    WHERE merchant_id = ${merchantId} AND (pruned_ms, pruned_seq) < (${ms}::bigint, ${seq}::bigint)`
  return events.length
})

/**
 * Removes a merchant's events from before a moment, epoch milliseconds, at most `size` in a transaction, oldest first,
 * each batch after its deliveries. Answers how many events went.
 */
export const pruneMerchant = (
  merchantId: number,
  beforeMillis: bigint,
  size = batchSize
): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const batch = Effect.gen(function*() {
      const cut = yield* cutoffOf(merchantId, beforeMillis, size)
      if (cut === undefined) return 0
      yield* pruneDeliveries(merchantId, cut)
      return yield* sql.withTransaction(pruneTo(merchantId, cut))
    }).pipe(countPruned("events"))
    const events = yield* inBatches(batch, size)
    // An event that was sent again just before it was removed leaves deliveries without an event.
    const [stream] = yield* sql<EventPosition>`SELECT pruned_ms AS ms, pruned_seq AS seq FROM merchant_streams
      WHERE merchant_id = ${merchantId}`
    if (stream !== undefined) yield* pruneDeliveries(merchantId, stream)
    return events
  })

interface Stream {
  readonly merchant_id: number
  readonly is_due: boolean
}

/** Removes what is older than {@link eventRetentionDays}, merchant by merchant; answers how many events went. */
export const pruneEventsOnce: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* pruneReplies
  const [now] = yield* sql<{ readonly before: bigint }>`
    SELECT floor(extract(epoch FROM now()) * 1000)::bigint - ${String(retentionMillis)}::bigint AS before`
  const page = (after: number) =>
    Effect.andThen(
      preferIndexScans,
      sql<Stream>`SELECT s.merchant_id, coalesce(e.ms < ${now!.before}::bigint, false)
          OR coalesce((d.event_ms, d.event_seq) <= (s.pruned_ms, s.pruned_seq), false) AS is_due
        FROM (SELECT * FROM merchant_streams WHERE merchant_id > ${after}::integer
          ORDER BY merchant_id LIMIT ${merchantsPage}) s
        LEFT JOIN LATERAL (SELECT ms FROM events WHERE merchant_id = s.merchant_id ORDER BY ms, seq LIMIT 1) e ON true
        LEFT JOIN LATERAL (SELECT event_ms, event_seq FROM webhook_deliveries WHERE merchant_id = s.merchant_id
          ORDER BY event_ms, event_seq LIMIT 1) d ON true
        ORDER BY s.merchant_id`
    ).pipe(sql.withTransaction)
  let all = 0
  for (let after: number | undefined = -1; after !== undefined;) {
    const streams: ReadonlyArray<Stream> = yield* page(after)
    for (const { is_due, merchant_id } of streams) {
      // One merchant's fault leaves the others' to be done.
      if (is_due) {
        all += yield* pruneMerchant(merchant_id, now!.before).pipe(
          Effect.catchCause((cause) =>
            Effect.as(Effect.logWarning(`events of merchant ${merchant_id} were not pruned`, cause), 0)
          )
        )
      }
    }
    after = streams.length < merchantsPage ? undefined : streams.at(-1)?.merchant_id
  }
  return all
})

/** Prunes for as long as the service runs. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | Leases> = Layer.effectDiscard(
  Effect.andThen(
    initializePruned(["events", "webhook_deliveries"]),
    runPeriodically("events-prune", pause, pruneEventsOnce)
  )
)
