/**
 * Events are kept for 365 days, and their deliveries with them. Of each object the last event that is removed is kept
 * as a snapshot, so that sums can still be counted from the events (`RollupRebuild.ts`).
 *
 * A month of which everything is so old is removed as a whole: first its snapshots are stored, merchant by merchant,
 * then its partition is dropped, then that of the deliveries. Rows are deleted one by one only in the partition from
 * before there were months, and deliveries also where they were queued once more later.
 *
 * Stored replies are made again from events (`ReplyBody` of `Commit.ts`), so a reply is removed before its event: each
 * round begins with the replies, which are kept for 7 days, and the reply of an event is no younger than the event.
 *
 * Commits wait for none of it: they only add rows, and the merchant's stream row, which they lock, is written last.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { Leases } from "../Leases.ts"
import { batchSize, countPruned, inBatches, initializePruned, runPeriodically } from "../Retention.ts"
import { pruneOnce as pruneReplies } from "../http/Replies.ts"
import { preferIndexScans } from "../store/IndexPlans.ts"
import { advisoryLock, lockSpace } from "../store/Locks.ts"
import {
  dropPartitions,
  type Partition,
  partitionOfOldRows,
  pastPartitions,
  readPartitions
} from "../store/partitions/Partitions.ts"
import { type EventType, optInTypes } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import type { EventPosition } from "../../schemas/Ids.ts"
import { eventRetentionDays } from "../store/partitions/Tables.ts"

const pause = "1 hour"

/** Merchants looked at by one statement: two index probes each. */
const merchantsPage = 1_000

/**
 * Events that leave no snapshot: no sum counts pings, nor the objects of opt-in types, whose state is in their own
 * tables.
 */
const typesWithoutSnapshot: ReadonlyArray<EventType> = ["test.ping", ...optInTypes]

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

/** Up to where a merchant's events are marked as removed. */
const prunedTo = (merchantId: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<EventPosition>`SELECT pruned_ms AS ms, pruned_seq AS seq FROM merchant_streams
      WHERE merchant_id = ${merchantId}`
  ).pipe(Effect.map(([pruned]): EventPosition => pruned ?? { ms: 0n, seq: 0n }))

/** The newest event that may be removed, of the oldest `size` after a position and from before a moment. */
const cutoffOf = (merchantId: number, after: EventPosition, beforeMillis: bigint, size: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql<EventPosition>`SELECT ms, seq FROM (
        SELECT ms, seq FROM events WHERE merchant_id = ${merchantId} AND ms < ${beforeMillis}::bigint
          AND (ms, seq) > (${after.ms}::bigint, ${after.seq}::bigint) AND ms >= ${after.ms}::bigint
        ORDER BY ms, seq LIMIT ${size}::integer) oldest
      ORDER BY ms DESC, seq DESC LIMIT 1`).pipe(Effect.map(([cut]) => cut))

/** A position before every event: events of an import may be older than the last one that was removed. */
const beforeFirstEvent: EventPosition = { ms: 0n, seq: -1n }

/**
 * Deletes a merchant's deliveries of events up to a position, with their attempts, in batches. Those that are just
 * written to are passed over: waiting for them could be a deadlock, and they are found again. The attempts go in a
 * statement of their own, which sees those that were stored until their delivery was locked.
 */
const pruneDeliveries = Effect.fnUntraced(function*(merchantId: number, { ms, seq }: EventPosition) {
  const sql = yield* SqlClient.SqlClient
  const batch = Effect.gen(function*() {
    yield* preferIndexScans
    yield* sql`SELECT set_config('tillwire.deletes_by_key', 'on', true)`
    const gone = yield* sql<{ readonly id: string }>`
      WITH old AS MATERIALIZED (
        SELECT d.id, d.created_at FROM webhook_deliveries d
        WHERE d.merchant_id = ${merchantId} AND (d.event_ms, d.event_seq) <= (${ms}::bigint, ${seq}::bigint)
        ORDER BY d.event_ms, d.event_seq LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) DELETE FROM webhook_deliveries d USING old
        WHERE d.merchant_id = ${merchantId} AND d.id = old.id AND d.created_at = old.created_at RETURNING d.id`
    if (gone.length === 0) return 0
    yield* sql`DELETE FROM webhook_attempts a USING unnest(${gone.map(({ id }) => id)}::uuid[]) AS gone (id)
      WHERE a.merchant_id = ${merchantId} AND a.delivery_id = gone.id`
    return gone.length
  }).pipe(sql.withTransaction, countPruned("webhook_deliveries"))
  yield* inBatches(batch)
})

/** What becomes of events whose snapshots are stored: they are deleted, or stay until their month is dropped. */
type Removal = "deleted" | "with the month"

/**
 * Stores the snapshots of a merchant's events after a position up to another and marks the events as removed; answers
 * how many there were, 0 also while sums are counted from the events. The end may fall between two events with the same
 * data, which tell of one change. The rebuild (`RollupRebuild.ts`) skips the second by comparing it with the snapshot.
 */
const pruneTo = Effect.fnUntraced(function*(
  merchantId: number,
  after: EventPosition,
  { ms, seq }: EventPosition,
  removal: Removal
) {
  const sql = yield* SqlClient.SqlClient
  yield* preferIndexScans
  const [lock] = yield* sql<{ readonly free: boolean }>`
    SELECT pg_try_advisory_xact_lock(${lockSpace}, ${advisoryLock.pruning}) AS free`
  if (lock?.free !== true) return 0
  const isPruned = sql`merchant_id = ${merchantId} AND (ms, seq) <= (${ms}::bigint, ${seq}::bigint)
    AND (ms, seq) > (${after.ms}::bigint, ${after.seq}::bigint) AND ms BETWEEN ${after.ms}::bigint AND ${ms}::bigint`
  const newest = newestOf(
    yield* sql<EventRow>`
    SELECT ms, seq, environment, data FROM events WHERE ${isPruned} AND type <> ALL (${typesWithoutSnapshot}::text[]) ORDER BY ms, seq`
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
  const events = removal === "deleted"
    ? yield* sql`DELETE FROM events WHERE ${isPruned} RETURNING 1`
    : yield* sql`SELECT 1 FROM events WHERE ${isPruned}`
  yield* sql`UPDATE merchant_streams SET pruned_ms = ${ms}::bigint, pruned_seq = ${seq}::bigint
    WHERE merchant_id = ${merchantId} AND (pruned_ms, pruned_seq) < (${ms}::bigint, ${seq}::bigint)`
  return events.length
})

/**
 * Removes a merchant's events from before a moment, epoch milliseconds, at most `size` in a transaction, oldest first,
 * each batch after its deliveries. Answers how many events were deleted.
 */
export const pruneMerchant = (
  merchantId: number,
  beforeMillis: bigint,
  size = batchSize
): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const batch = Effect.gen(function*() {
      const cut = yield* cutoffOf(merchantId, beforeFirstEvent, beforeMillis, size)
      if (cut === undefined) return 0
      yield* pruneDeliveries(merchantId, cut)
      return yield* sql.withTransaction(pruneTo(merchantId, beforeFirstEvent, cut, "deleted"))
    }).pipe(countPruned("events"))
    const events = yield* inBatches(batch, size)
    yield* pruneOrphanDeliveries(merchantId)
    return events
  })

/** An event that was sent again just before it was removed leaves deliveries without an event. */
const pruneOrphanDeliveries = (merchantId: number) =>
  Effect.flatMap(prunedTo(merchantId), (pruned) => pruneDeliveries(merchantId, pruned))

/**
 * Stores the snapshots of a merchant's events from before a moment, and marks the events as removed; they stay until
 * their month is dropped. Answers how many there were.
 */
const keepSnapshots = (merchantId: number, beforeMillis: bigint) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const batch = Effect.gen(function*() {
      const after = yield* prunedTo(merchantId)
      const cut = yield* cutoffOf(merchantId, after, beforeMillis, batchSize)
      return cut === undefined ? 0 : yield* sql.withTransaction(pruneTo(merchantId, after, cut, "with the month"))
    }).pipe(countPruned("events"))
    return yield* inBatches(batch)
  })

interface Stream {
  readonly merchant_id: number
  readonly is_due: boolean
}

/** Calls `act` with every merchant for which `isDue` holds of its stream `s`; adds up the answers. */
const forEachDue = Effect.fnUntraced(function*(
  isDue: Statement.Fragment,
  act: (merchantId: number) => Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient>
) {
  const sql = yield* SqlClient.SqlClient
  const page = (after: number) =>
    Effect.andThen(
      preferIndexScans,
      sql<Stream>`SELECT s.merchant_id, ${isDue} AS is_due
        FROM (SELECT * FROM merchant_streams WHERE merchant_id > ${after}::integer
          ORDER BY merchant_id LIMIT ${merchantsPage}) s
        ORDER BY s.merchant_id`
    ).pipe(sql.withTransaction)
  let all = 0
  for (let after: number | undefined = -1; after !== undefined;) {
    const streams: ReadonlyArray<Stream> = yield* page(after)
    for (const { is_due, merchant_id } of streams) {
      // The failure of one merchant's pruning must not keep the others' from being done.
      if (is_due) {
        all += yield* act(merchant_id).pipe(
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

/**
 * How much longer a month is kept while a delivery of one of its events is still to be sent: 7 days. A delivery ends
 * within 72 hours (modules/docs/reference/webhooks.md#retries), so this is for those that were queued again and again.
 */
const pendingDeliveryGraceMillis = 7 * 86_400_000

/** Removes whole months, which all end before a moment; answers how many events were marked as removed. */
const pruneMonths = Effect.fnUntraced(function*(past: ReadonlyArray<Partition>, beforeMillis: number) {
  const sql = yield* SqlClient.SqlClient
  const endMillis = Math.max(...past.map(({ toMillis }) => toMillis))
  const end = BigInt(endMillis)
  if (endMillis > beforeMillis - pendingDeliveryGraceMillis) {
    const [waiting] = yield* sql`SELECT 1 FROM webhook_deliveries
      WHERE due_at IS NOT NULL AND event_ms < ${end}::bigint LIMIT 1`
    if (waiting !== undefined) return 0
  }
  const isDue = sql`EXISTS (SELECT 1 FROM events e WHERE e.merchant_id = s.merchant_id AND e.ms < ${end}::bigint
    AND (e.ms, e.seq) > (s.pruned_ms, s.pruned_seq) OFFSET 0)`
  const events = yield* forEachDue(isDue, (merchantId) => keepSnapshots(merchantId, end))
  let unfinished = 0
  yield* forEachDue(isDue, () => Effect.sync(() => ++unfinished))
  if (unfinished > 0) {
    yield* Effect.logWarning(
      `the events of ${
        past.map(({ name }) => name).join(", ")
      } stay: snapshots of those of ${unfinished} merchants are ` +
        "not stored yet; it is tried again in the next pass"
    )
  } else yield* dropPartitions("events", past)
  return events
})

/**
 * Removes what is older than {@link eventRetentionDays}; answers how many events were marked as removed: deleted, or
 * removed with their month.
 */
export const pruneEventsOnce: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* pruneReplies
  const [now] = yield* sql<{ readonly before: number }>`
    SELECT floor(extract(epoch FROM now()) * 1000)::float8 - ${retentionMillis}::float8 AS before`
  const { before } = now!
  const partitions = yield* readPartitions("events")
  const past = pastPartitions(partitions, before)
  let events = past.length === 0 ? 0 : yield* pruneMonths(past, before)
  if (partitionOfOldRows(partitions, before) !== undefined) {
    const end = BigInt(before)
    const isDue = sql`coalesce((SELECT e.ms < ${end}::bigint FROM events e WHERE e.merchant_id = s.merchant_id
      ORDER BY e.ms, e.seq LIMIT 1), false)`
    events += yield* forEachDue(isDue, (merchantId) => pruneMerchant(merchantId, end))
  }
  // Deliveries are dropped after their events: otherwise somebody could queue a delivery of an event that is still
  // there into a month that is not.
  const oldest = (yield* readPartitions("events"))[0]?.fromMillis ?? -Infinity
  const pastDeliveries = pastPartitions(yield* readPartitions("webhook_deliveries"), Math.min(before, oldest))
  if (pastDeliveries.length > 0) yield* dropPartitions("webhook_deliveries", pastDeliveries)
  const isLeft = sql`coalesce((SELECT (d.event_ms, d.event_seq) <= (s.pruned_ms, s.pruned_seq)
    FROM webhook_deliveries d WHERE d.merchant_id = s.merchant_id ORDER BY d.event_ms, d.event_seq LIMIT 1), false)`
  yield* forEachDue(isLeft, (merchantId) => Effect.as(pruneOrphanDeliveries(merchantId), 0))
  return events
})

/** Prunes for as long as the service runs. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | Leases> = Layer.effectDiscard(
  Effect.andThen(
    initializePruned(["events", "webhook_deliveries"]),
    runPeriodically("events-prune", pause, pruneEventsOnce)
  )
)
