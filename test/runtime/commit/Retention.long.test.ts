/**
 * Goal: events go after 365 days with all that hangs on them, commits never wait for it, and sums that are counted from
 * the events afterwards come out as if nothing had gone. Method: random histories of things, pruned at random places in
 * small batches; the oracle is the sums that commits kept.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { pruneEventsOnce, pruneMerchant } from "../../../runtime/commit/Retention.ts"
import { advisoryLock, lockSpace } from "../../../runtime/store/Locks.ts"
import { type Rollup, width } from "../../../runtime/Rollups.ts"
import { type EventDraft, previousAttributes } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { makeRandom, startSeconds } from "../../fixtures/histories.ts"
import { closeFirst } from "../../support/PartitionTime.ts"
import { commitDatabase, commitOf, instance } from "./CommitFixture.ts"

type Instance = Effect.Success<ReturnType<typeof instance>>

const things = (sum: string): Rollup => ({
  sum,
  version: 1,
  object: "invoice",
  widths: [width.ever, width.quarter],
  contributions: (object) => [{
    at: object.at as number,
    key: object.status as string,
    count: 1,
    amount: BigInt(object.amount as number),
    amountPaid: object.status === "paid" ? BigInt(object.amount as number) : 0n
  }]
})

const sumsOf = ({ sql }: Instance, sum: string) =>
  sql<Record<string, unknown>>`select merchant_id, width, bucket, key, count, amount, amount_paid from rollups
    where sum = ${sum} and (count <> 0 or amount <> 0 or amount_paid <> 0) order by 1, 2, 3, 4`

const countOf = ({ sql }: Instance, table: string) =>
  Effect.map(sql<{ n: number }>`select count(*)::integer as n from ${sql(table)}`, ([row]) => row!.n)

const event = (type: EventDraft["type"], object: WireObject, before: WireObject = object): EventDraft => ({
  type,
  object,
  previousAttributes: previousAttributes(before, object)
})

/** Commits of two merchants about a few things each: made, changed, told once or twice, and told without a change. */
const history = Effect.fnUntraced(function*(log: Instance, seed: number) {
  const roll = makeRandom(seed)
  const known = new Map<string, WireObject>()
  for (let step = 0; step < 60; step++) {
    const merchant = 1 + roll(2)
    const id = `${merchant}-${roll(8)}`
    const before = known.get(id)
    const events: Array<EventDraft> = []
    if (before === undefined) {
      const made = {
        object: "invoice",
        id,
        status: "unpaid",
        amount: roll(1_000),
        at: startSeconds + roll(5_000),
        metadata: {}
      }
      known.set(id, made)
      events.push(event("invoice.created", made))
    } else {
      const status = ["unpaid", "underpaid", "paid", "expired"][roll(4)]!
      const after = { ...before, status, amount: (before.amount as number) + roll(3) }
      known.set(id, after)
      events.push(event("invoice.updated", after, before))
      // The same change under a second name, and beside it something no sum counts.
      if (roll(2) === 0) events.push(event("invoice.paid", after, before))
      if (roll(3) === 0) events.push(event("invoice_payment.updated", { object: "invoice_payment", id, metadata: {} }))
      if (roll(6) === 0) events.push(event("test.ping", { object: "test_ping", id: `ping-${step}` }))
    }
    yield* log.append(commitOf(merchant, { events }))
  }
})

/** Deliveries of every event, one attempt each. */
const delivered = ({ sql }: Instance) =>
  Effect.andThen(
    sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      select merchant_id, 'we_1', ms, seq from events`,
    sql`insert into webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, outcome, latency_ms)
      select merchant_id, id, 1, endpoint_id, 'failed', 1 from webhook_deliveries`
  )

const promise = (name: string, body: Effect.Effect<unknown, unknown, any>) =>
  it.live(name, () => Effect.scoped(body as Effect.Effect<unknown, unknown>))

describe("pruned events", () => {
  promise(
    "leave sums that are counted anew as they were, wherever they end",
    Effect.gen(function*() {
      for (const seed of [1, 2]) {
        const database = yield* commitDatabase
        const log = yield* instance(database, [things("kept")])
        yield* history(log, seed)
        const roll = makeRandom(seed)
        // Several rounds, so that snapshots are overtaken by newer ones.
        for (let round = 0; round < 4; round++) {
          for (const merchant of [1, 2]) {
            const rows = yield* log.sql<
              { ms: bigint }
            >`select ms from events where merchant_id = ${merchant} order by ms, seq`
            const before = rows[roll(rows.length)]!.ms
            yield* Effect.provide(pruneMerchant(merchant, before, 1 + roll(40)), log.services)
          }
          const sum = `new ${round}`
          const counting = yield* instance(database, [things("kept"), things(sum)])
          assert.deepStrictEqual(
            yield* sumsOf(counting, sum),
            yield* sumsOf(log, "kept"),
            `seed ${seed}, round ${round}`
          )
        }
        assert.isBelow(yield* countOf(log, "events"), 60)
      }
    })
  )

  promise(
    "part two that tell of one change, and it is still counted once",
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const log = yield* instance(database, [things("kept")])
      const made = { object: "invoice", id: "a", status: "unpaid", amount: 7, at: startSeconds, metadata: {} }
      const paid = { ...made, status: "paid" }
      yield* log.append(commitOf(1, { events: [event("invoice.created", made)] }))
      yield* log.append(
        commitOf(1, { events: [event("invoice.updated", paid, made), event("invoice.paid", paid, made)] })
      )
      // All but the last: a batch of two, and no other may follow.
      yield* log.sql`update events set ms = case when type = 'invoice.paid' then ms else ms - 1000 end`
      const [last] = yield* log.sql<{ ms: bigint }>`select ms from events where type = 'invoice.paid'`
      assert.strictEqual(yield* Effect.provide(pruneMerchant(1, last!.ms, 2), log.services), 2)
      const counting = yield* instance(database, [things("kept"), things("new")])
      assert.deepStrictEqual(yield* sumsOf(counting, "new"), yield* sumsOf(log, "kept"))
      assert.strictEqual(yield* countOf(log, "events"), 1)
    })
  )

  promise(
    "take along an attempt that was stored while their deliveries were being found",
    Effect.gen(function*() {
      const log = yield* instance(yield* commitDatabase)
      const { sql } = log
      yield* log.append(
        commitOf(1, { events: [event("invoice.updated", { object: "invoice", id: "a", metadata: {} })] })
      )
      yield* sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
        select merchant_id, 'we_1', ms, seq from events`
      // As if an instance had stored it after the snapshot of the statement that deletes the delivery.
      yield* sql`create function store_attempt() returns trigger language plpgsql as $$ begin
        insert into webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, outcome, latency_ms)
          values (old.merchant_id, old.id, 1, old.endpoint_id, 'failed', 1);
        return old; end $$`
      yield* sql`create trigger store_attempt before delete on webhook_deliveries
        for each row execute function store_attempt()`
      yield* Effect.provide(pruneMerchant(1, 1n << 62n), log.services)
      assert.deepStrictEqual([yield* countOf(log, "webhook_deliveries"), yield* countOf(log, "webhook_attempts")], [
        0,
        0
      ])
    })
  )

  promise(
    "are those older than 365 days, and their deliveries and attempts go with them; the stream says up to where",
    Effect.gen(function*() {
      const log = yield* instance(yield* commitDatabase)
      const thing = (n: number) => ({ object: "invoice", id: `a${n % 3}`, n, text: "\ud800", metadata: {} })
      for (const n of Array.from({ length: 2_050 }, (_, at) => at)) {
        if (n % 50 === 0) {
          yield* log.append(
            commitOf(1, { events: Array.from({ length: 50 }, (_, at) => event("invoice.updated", thing(n + at))) })
          )
        }
      }
      yield* log.append(commitOf(2, { events: [event("invoice.updated", thing(1))] }))
      yield* log.append(commitOf(3, { events: [event("invoice.updated", thing(1))] }))
      yield* log.append(commitOf(3, { events: [event("exception.opened", { object: "exception", id: "exc_1" })] }))
      yield* delivered(log)
      // 2,010 of the first merchant's are old, none of the second's, all of the third's.
      const { sql } = log
      const [edge] = yield* sql<
        { seq: bigint }
      >`select seq from events where merchant_id = 1 order by seq offset 2009 limit 1`
      for (
        const [table, ms, seq] of [["events", "ms", "seq"], ["webhook_deliveries", "event_ms", "event_seq"]] as const
      ) {
        yield* sql`update ${sql(table)} set ${sql(ms)} = ${sql(ms)} - (case when ${sql(seq)} <= ${
          edge!.seq
        } or merchant_id = 3
        then 365.01 else 364.99 end * 86400000)::bigint`
      }
      assert.strictEqual(yield* Effect.provide(pruneEventsOnce, log.services), 2_012)
      const left = yield* sql`select merchant_id, count(*)::integer as events,
      (select count(*)::integer from webhook_deliveries d where d.merchant_id = e.merchant_id) as deliveries,
      (select count(*)::integer from webhook_attempts a where a.merchant_id = e.merchant_id) as attempts
      from events e group by 1 order by 1`
      assert.deepStrictEqual(left, [
        { merchant_id: 1, events: 40, deliveries: 40, attempts: 40 },
        { merchant_id: 2, events: 1, deliveries: 1, attempts: 1 }
      ])
      const streams = yield* sql`select merchant_id, pruned_seq = ${edge!.seq} as to_edge, pruned_ms > 0 as pruned
      from merchant_streams order by 1`
      assert.deepStrictEqual(streams, [
        { merchant_id: 1, to_edge: true, pruned: true },
        { merchant_id: 2, to_edge: false, pruned: false },
        { merchant_id: 3, to_edge: false, pruned: true }
      ])
      const snapshots = yield* sql<{ data: string }>`select data from event_snapshots where merchant_id = 1 order by id`
      assert.deepStrictEqual(snapshots.map(({ data }) => JSON.parse(data).object.n), [2_007, 2_008, 2_009])

      const kept = yield* sql`select object from event_snapshots where merchant_id = 3`
      assert.deepStrictEqual(kept, [{ object: "invoice" }], "nothing is counted of an exception")

      // A delivery that was queued while its event went is not left behind.
      yield* sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      select merchant_id, 'we_1', pruned_ms, pruned_seq from merchant_streams where merchant_id = 3`
      assert.strictEqual(yield* Effect.provide(pruneEventsOnce, log.services), 0)
      assert.strictEqual(yield* countOf(log, "webhook_deliveries"), 41)
    })
  )

  promise(
    "of a month go with it: their sums stay, what is still to be sent keeps it, and commits go on",
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const log = yield* instance(database, [things("kept")])
      const { sql } = log
      const run = <A, E>(effect: Effect.Effect<A, E, any>) =>
        Effect.provide(effect, log.services) as Effect.Effect<A, E>
      const day = 86_400_000
      const end = Date.now() - 366 * day
      for (const table of ["events", "webhook_deliveries"] as const) yield* run(closeFirst(table, end))
      yield* history(log, 3)
      // All but the last ten are of the month that is past.
      const [edge] = yield* sql<{ seq: bigint }>`select seq from events order by seq desc offset 9 limit 1`
      yield* sql`update events set ms = ms - ${String(400 * day)}::bigint where seq < ${edge!.seq}`
      yield* sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, created_at, due_at, status)
        select merchant_id, 'we_1', ms, seq, to_timestamp(ms / 1000.0), null, 'succeeded' from events`
      const moved = yield* countOf(log, "events")
      // Queued once more just now, of an event of the month.
      yield* sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
        select merchant_id, 'we_1', ms, seq from events order by ms limit 1`
      assert.strictEqual(yield* run(pruneEventsOnce), 0)
      assert.strictEqual(yield* countOf(log, "events"), moved)
      assert.deepStrictEqual(yield* sql`select max(pruned_ms)::integer as pruned from merchant_streams`, [{
        pruned: 0
      }])

      yield* sql`update webhook_deliveries set due_at = null, status = 'succeeded'`
      const writing = yield* Effect.forkScoped(Effect.forever(
        log.append(commitOf(3, { events: [event("invoice.updated", { object: "invoice", id: "b", metadata: {} })] }))
      ))
      assert.strictEqual(yield* run(pruneEventsOnce), moved - 10)
      yield* Fiber.interrupt(writing)
      const names = (table: string) =>
        Effect.map(
          sql<{ name: string }>`select name from partitions_v1(${table})`,
          (rows) => rows.map(({ name }) => name.replace(/\d{4}_\d{2}/, "then"))
        )
      assert.deepStrictEqual(yield* names("events"), ["events_from_then"])
      assert.deepStrictEqual(yield* names("webhook_deliveries"), ["webhook_deliveries_from_then"])
      const left = yield* sql`select
        (select count(*)::integer from events where merchant_id < 3) as events,
        (select count(*)::integer from webhook_deliveries) as deliveries`
      assert.deepStrictEqual(left, [{ events: 10, deliveries: 10 }])
      const counting = yield* instance(database, [things("kept"), things("new")])
      assert.deepStrictEqual(yield* sumsOf(counting, "new"), yield* sumsOf(log, "kept"))
      assert.strictEqual(yield* run(pruneEventsOnce), 0)
    })
  )

  promise(
    "stay while sums are counted from them, and hold no commit back while they go",
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const log = yield* instance(database)
      const other = yield* instance(database)
      yield* log.append(
        commitOf(1, { events: [event("invoice.created", { object: "invoice", id: "a", metadata: {} })] })
      )
      const prune = Effect.provide(pruneMerchant(1, 9_000_000_000_000n), log.services)
      yield* other.sql.withTransaction(Effect.gen(function*() {
        yield* other.sql`select pg_advisory_xact_lock_shared(${lockSpace}, ${advisoryLock.pruning})`
        assert.strictEqual(yield* prune, 0)
      }))
      // Stopped half-way: the commit would wait for the stream's row, and be told that the service is not there.
      const pruning = yield* other.sql.withTransaction(Effect.gen(function*() {
        yield* other.sql`lock table event_snapshots in share mode`
        const pruning = yield* Effect.forkScoped(prune)
        // Of this database: tests of other files have locks on the same server.
        const waiting = log.sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        while ((yield* waiting).length === 0) yield* Effect.sleep(10)
        yield* log.append(
          commitOf(1, { events: [event("invoice.updated", { object: "invoice", id: "a", metadata: {} })] })
        )
        return pruning
      }))
      assert.strictEqual(yield* Fiber.join(pruning), 1)
      assert.strictEqual(yield* countOf(log, "events"), 1)
    })
  )
})
