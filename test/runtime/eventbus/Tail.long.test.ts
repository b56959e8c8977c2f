import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Latch, Layer, Struct } from "effect"
import { PgClient } from "@effect/sql-pg"
import { TestClock } from "effect/testing"
import type { CommittedEvent } from "../../../runtime/Commit.ts"
import { CommitFeed } from "../../../runtime/commit/CommitFeed.ts"
import { EventBus } from "../../../runtime/EventBus.ts"
import { maximumBacklog } from "../../../runtime/eventbus/Subscriber.ts"
import { layer as tail } from "../../../runtime/eventbus/Tail.ts"
import { compareEventPositions } from "../../../schemas/Ids.ts"
import { commitDatabase, commitOf, eventDraft, instance, thing } from "../commit/CommitFixture.ts"
import { connect, type TestDatabase } from "../../support/Database.ts"
import { makeDatabaseProxy } from "../../support/DatabaseProxy.ts"
import { until } from "../../support/Service.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const together = { concurrency: "unbounded" } as const

/** A log and a bus, as one process has them. */
const node = (database: TestDatabase) =>
  Effect.gen(function*() {
    const log = yield* instance(database)
    const built = yield* Layer.build(
      Layer.fresh(tail.pipe(Layer.provide(connect(database)), Layer.provide(Layer.succeed(CommitFeed, log.feed))))
    )
    return { ...log, bus: Context.get(built, EventBus) }
  })

/** Everything one subscriber heard, and a way to wait until it is `count` events. */
const listener = (bus: EventBus["Service"], hold: Effect.Effect<unknown> = Effect.void) =>
  Effect.gen(function*() {
    const heard: Array<CommittedEvent> = []
    const latch = Latch.makeUnsafe(false)
    let calls = 0
    yield* bus.subscribe("test", (events) =>
      Effect.gen(function*() {
        assert.strictEqual(++calls, 1, "one call at a time")
        yield* hold
        heard.push(...events)
        latch.openUnsafe()
        calls--
      }))
    const until = (count: number) =>
      Effect.gen(function*() {
        while (heard.length < count) {
          latch.closeUnsafe()
          if (heard.length < count) yield* latch.await
        }
      })
    return { heard, until }
  })

/** An event as the table holds it: for which endpoints its deliveries are, only who committed it is told. */
const asStored = (event: CommittedEvent): CommittedEvent => Struct.omit(event, ["webhookEndpoints"])

const ids = (events: ReadonlyArray<CommittedEvent>) => events.map(({ id }) => id)

/** What the table says a merchant's stream is, which is what every subscriber must have heard of it. */
const assertStreams = (bus: EventBus["Service"], heard: ReadonlyArray<CommittedEvent>, merchants: Iterable<number>) =>
  Effect.forEach(
    merchants,
    (merchantId) =>
      Effect.map(
        bus.readAfter({ merchantId, position: { ms: 0n, seq: 0n }, limit: 100_000 }),
        (stored) => assert.deepStrictEqual(ids(heard.filter((event) => event.merchantId === merchantId)), ids(stored))
      )
  )

describe("the event bus", () => {
  it.effect("tells what this instance commits, as the commit's caller sees it", () =>
    Effect.gen(function*() {
      const { append, bus } = yield* node(yield* commitDatabase)
      const { heard, until } = yield* listener(bus)
      const { events } = yield* append(commitOf(1, { events: [eventDraft("a"), eventDraft("b")] }))
      yield* until(2)
      assert.deepStrictEqual(heard, [...events])
    }))

  it.effect("tells what another instance commits, in order, with everything the table holds", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const [one, two] = [yield* node(database), yield* node(database)]
      const { heard, until } = yield* listener(two.bus)
      const commits = yield* Effect.forEach(
        range(30),
        (n) => one.append(commitOf(1, { events: [eventDraft(`i${n}`)] }))
      )
      while (heard.length < 30) yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      yield* until(30)
      assert.deepStrictEqual(heard, commits.flatMap(({ events }) => events.map(asStored)))
    }))

  it.effect("under writers on two instances tells both every event of every merchant once, in id order", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const nodes = [yield* node(database), yield* node(database)]
      yield* nodes[0]!.append(commitOf(1, { events: [eventDraft("before")] }))
      const early = yield* node(database)
      const listeners = yield* Effect.forEach([...nodes, early], ({ bus }) => listener(bus))
      let total = 0
      yield* Effect.forEach(range(16), (writer) =>
        Effect.forEach(range(30), (n) =>
          Effect.andThen(
            nodes[writer % 2]!.append(commitOf([1, 1, 2, 3 + writer][n % 4]!, {
              writes: [thing(1, `${writer}-${n}`, 1)],
              events: range((n % 3) + 1).map(() => eventDraft(`${writer}`))
            })),
            Effect.tap(TestClock.adjust("100 millis"), () => Effect.sync(() => total += (n % 3) + 1))
          )), together)
      const late = listeners.flatMap(({ heard }) => [heard])
      // Who polls late hears of the first commit as well.
      const fresh = (events: ReadonlyArray<CommittedEvent>) => events.filter(({ invoiceId }) => invoiceId !== "before")
      while (late.some((heard) => fresh(heard).length < total)) {
        yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      }
      const merchants = [1, 2, ...range(16).map((n) => n + 3)]
      for (const heard of late) {
        assert.strictEqual(fresh(heard).length, total)
        for (const merchant of merchants) {
          const stored = yield* nodes[0]!.bus.readAfter({
            merchantId: merchant,
            position: { ms: 0n, seq: 0n },
            limit: 100_000
          })
          assert.deepStrictEqual(ids(fresh(heard.filter((event) => event.merchantId === merchant))), ids(fresh(stored)))
        }
      }
    }))

  it.effect("without any notification finds another instance's events by polling", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const writer = yield* instance(database)
      const { bus } = yield* node(database)
      const { heard } = yield* listener(bus)
      const many = 250
      yield* writer.append(commitOf(1, { events: range(many).map(() => eventDraft("a")) }))
      while (heard.length < many) yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      // A commit that was under way during a poll, older than what the poll saw: not skipped.
      yield* writer.sql.withTransaction(Effect.gen(function*() {
        yield* writer.sql`insert into merchant_streams (merchant_id, last_ms, last_seq) values (9, 5, 5)`
        yield* writer.sql`insert into events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
          values (9, 5, 5, 'devnet', 'invoice.paid', false, 0, '{}')`
        const other = yield* instance(database)
        yield* other.append(commitOf(2, { events: [eventDraft("b")] }))
        while (heard.length < many + 1) yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      }))
      while (heard.length < many + 2) yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      assert.deepStrictEqual(heard.slice(many).map(({ merchantId }) => merchantId), [2, 9])
      yield* assertStreams(bus, heard, [1, 2, 9])
    }))

  it.effect("keeps a slow subscriber's backlog in the table: it hears everything, in order, once", () =>
    Effect.gen(function*() {
      const { append, bus } = yield* node(yield* commitDatabase)
      const gate = yield* Deferred.make<void>()
      const slow = yield* listener(bus, Deferred.await(gate))
      const quick = yield* listener(bus)
      const total = maximumBacklog + 3_000
      yield* Effect.forEach(
        range(total / 500),
        (n) => append(commitOf((n % 3) + 1, { events: range(500).map(() => eventDraft("i")) }))
      )
      yield* quick.until(total)
      yield* Deferred.succeed(gate, undefined)
      yield* append(commitOf(1, { events: [eventDraft("last")] }))
      yield* slow.until(total + 1)
      yield* assertStreams(bus, slow.heard, [1, 2, 3])
      yield* quick.until(total + 1)
      yield* assertStreams(bus, quick.heard, [1, 2, 3])
    }))

  it.effect("goes on after a handler's defect, and after one that throws", () =>
    Effect.gen(function*() {
      const { append, bus } = yield* node(yield* commitDatabase)
      let calls = 0
      const third = yield* Deferred.make<void>()
      yield* bus.subscribe("broken twice", () => {
        calls += 1
        if (calls === 1) throw new Error("thrown")
        return calls === 2 ? Effect.die(new Error("broken")) : Effect.asVoid(Deferred.succeed(third, undefined))
      })
      for (const n of [1, 2]) {
        yield* append(commitOf(1, { events: [eventDraft(`event ${n}`)] }))
        while (calls < n) {
          yield* Effect.yieldNow
        }
      }
      yield* append(commitOf(1, { events: [eventDraft("event 3")] }))
      yield* Deferred.await(third)
    }))

  it.effect("reads one merchant's stored events after a position, or one invoice's", () =>
    Effect.gen(function*() {
      const { append, bus } = yield* node(yield* commitDatabase)
      const all = yield* Effect.forEach(range(6), (n) =>
        Effect.map(append(commitOf(1, { events: [eventDraft(`i${n % 2}`)] })), ({ events }) => events[0]!))
      yield* append(commitOf(3, { events: [eventDraft("i0")] }))
      const position = all[1]!.position
      const after = yield* bus.readAfter({ merchantId: 1, position, limit: 3 })
      assert.deepStrictEqual(after, all.slice(2, 5).map(asStored))
      const ofInvoice = yield* bus.readAfter({ merchantId: 1, invoiceId: "i1", position, limit: 9 })
      assert.deepStrictEqual(ofInvoice, [all[3]!, all[5]!].map(asStored))
      assert.isBelow(compareEventPositions(all[0]!.position, all[1]!.position), 0)
    }))

  it.live("says for how long it has asked in vain, and nothing while it is answered", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const line = yield* makeDatabaseProxy(database)
      const { bus } = yield* node({ ...database, host: "127.0.0.1", port: Number(new URL(line.url).port) })
      const stale = Effect.sync(() => bus.staleMillis())
      yield* until("it is answered", stale, (millis) => millis === 0)
      yield* line.set("held")
      yield* until("it is not", stale, (millis) => millis > 200)
      yield* line.set("through")
      yield* until("it is again", stale, (millis) => millis === 0)
    }))

  it.effect("survives the loss of its connections", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const { bus } = yield* node(database)
      const writer = yield* node(database)
      const { heard } = yield* listener(bus)
      const admin = yield* Layer.build(Layer.fresh(connect({ ...database, database: "postgres" })))
      const sql = Context.get(admin, PgClient.PgClient)
      yield* sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database.database}`
      const committed = writer.append(commitOf(1, { events: [eventDraft("a")] })).pipe(Effect.retry({ times: 20 }))
      yield* committed
      while (heard.length < 1) yield* Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)
      assert.strictEqual(heard[0]!.invoiceId, "a")
    }))
})
