import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Result } from "effect"
import { Conflict, IdempotentReplay, maximumWrites } from "../../../runtime/Commit.ts"
import { dataText, isForPayors } from "../../../schemas/Event.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { commitDatabase, commitOf, eventDraft, instance, part, thing } from "./CommitFixture.ts"
import { waitForLocks } from "../../support/Together.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const together = { concurrency: "unbounded" } as const
const reply = (scope: string, body = "sealed", environment: Environment = "devnet") => ({
  environment,
  scope,
  fingerprint: "f",
  status: 200,
  sealedBody: body
})

/** One log on a database of its own. */
const single = Effect.flatMap(commitDatabase, instance)

describe("a commit", () => {
  it.effect("writes its rows, its events and its reply, and answers with the events as they are stored", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      const event = eventDraft("i1", { customer_id: "c1", commerce_order_id: "o1", invoice_type: "commerce" })
      const facts = { z: 1, a: ["x"] }
      const { events } = yield* append(commitOf(1, {
        cause: { requestId: "req_1", idempotencyKey: "key \"1\"" },
        writes: [thing(1, "a", 1, { amount: (2n ** 200n).toString(), facts, tags: ["t,1", "t\"2"] })],
        events: [event, eventDraft("i1")],
        reply: reply("POST /a k", "body ✓")
      }))
      const [row] = yield* sql<Record<string, unknown>>`select *, facts::text as facts from things`
      assert.deepStrictEqual(row, {
        merchant_id: 1,
        id: "a",
        version: 1n,
        note: "a v1",
        amount: (2n ** 200n).toString(),
        facts: JSON.stringify(facts),
        tags: ["t,1", "t\"2"]
      })
      const [kept] = yield* sql<Record<string, unknown>>`select sealed_body, status, fingerprint from idempotency`
      assert.deepStrictEqual(kept, { sealed_body: "body ✓", status: 200, fingerprint: "f" })
      const [first, second] = yield* sql<Record<string, unknown>>`select * from events order by ms, seq`
      assert.strictEqual(first!.data, dataText(event.object, {}))
      assert.strictEqual(first!.is_for_payors, isForPayors(event))
      assert.strictEqual(first!.idempotency_key, "key \"1\"")
      assert.deepStrictEqual(
        [first!.invoice_id, first!.order_id, first!.customer_id, first!.commerce],
        ["i1", "o1", "c1", true]
      )
      assert.deepStrictEqual(events.map(({ id }) => id), [
        `evt_${first!.ms}-${first!.seq}`,
        `evt_${second!.ms}-${second!.seq}`
      ] as never)
      assert.strictEqual(events[0]!.created, Math.floor(Number(first!.ms) / 1000))
      assert.isTrue(events[0]!.isForPayors)
    }))

  it.effect("changes a row only from the version before, inserts only what is new, and else leaves nothing", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      const refused = (id: string, version: number) =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(append(commitOf(1, {
            writes: [part(1, `beside ${id}`, 1), thing(1, id, version)],
            events: [eventDraft(id)],
            reply: reply(`${id} ${version}`)
          })))
          assert.deepStrictEqual(failure, new Conflict({ table: "things" }))
        })
      yield* append(commitOf(1, { writes: [thing(1, "a", 1)] }))
      yield* append(commitOf(1, { writes: [thing(1, "a", 2)] }))
      yield* refused("a", 1)
      yield* refused("a", 2)
      yield* refused("a", 4)
      yield* refused("absent", 2)
      const [left] = yield* sql<Record<string, bigint>>`select (select count(*) from things) things,
        (select count(*) from parts) parts, (select count(*) from events) events, (select count(*) from idempotency) keys`
      assert.deepStrictEqual(left, { things: 1n, parts: 0n, events: 0n, keys: 0n })
      yield* append(commitOf(1, { writes: [thing(1, "a", 3)] }))
    }))

  it.effect("that loses a race fails alone: the others of its batch land, events and all", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* append(commitOf(1, { writes: range(10).map((n) => thing(1, `taken ${n}`, 1)) }))
      const results = yield* Effect.forEach(range(100), (n) =>
        Effect.result(append(commitOf(1, {
          writes: [thing(1, n % 10 === 0 ? `taken ${n / 10}` : `new ${n}`, 1), part(1, `p${n}`, 1)],
          events: [eventDraft(`i${n}`)],
          reply: reply(`scope ${n}`)
        }))), together)
      results.forEach((result, n) => assert.strictEqual(Result.isFailure(result), n % 10 === 0, `commit ${n}`))
      const [counts] = yield* sql<Record<string, bigint>>`select (select count(*) from parts) parts,
        (select count(*) from events) events, (select count(*) from idempotency) keys,
        (select count(*) from things where id like 'new%') things`
      assert.deepStrictEqual(counts, { parts: 90n, events: 90n, keys: 90n, things: 90n })
    }))

  it.effect("is one of a hundred with one idempotency scope: it lands once, the others get its reply", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      const results = yield* Effect.forEach(range(100), (n) =>
        Effect.result(logs[n % 2]!.append(commitOf(1, {
          writes: [thing(1, `t${n}`, 1)],
          events: [eventDraft(`i${n}`)],
          reply: reply("POST /a k", `body ${n}`)
        }))), together)
      const winner = results.findIndex(Result.isSuccess)
      const answers = results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))
      assert.strictEqual(answers.length, 99)
      for (const answer of answers) {
        assert.deepStrictEqual(
          answer,
          new IdempotentReplay({ fingerprint: "f", status: 200, sealedBody: `body ${winner}`, reference: null })
        )
      }
      const rows = yield* logs[0]!.sql<{ id: string }>`select id from things`
      assert.deepStrictEqual(rows, [{ id: `t${winner}` }])
    }))

  it.effect("with a scope used elsewhere is independent: other merchant, other environment", () =>
    Effect.gen(function*() {
      const { append } = yield* single
      yield* append(commitOf(1, { reply: reply("k") }))
      yield* append(commitOf(3, { reply: reply("k") }))
      yield* append(commitOf(1, { reply: reply("k", "sealed", "mainnet") }))
      // Where the commit acts does not matter: a repeat looks in the caller's environment.
      const again = yield* Effect.flip(append(commitOf(1, { environment: "mainnet", reply: reply("k") })))
      assert.strictEqual(again._tag, "IdempotentReplay")
    }))

  it.effect("that the table refuses dies alone, whatever refuses it: the other 255 land", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      const bad: Record<number, Readonly<Record<string, unknown>>> = {
        17: { amount: "-1" },
        100: { note: null },
        101: { amount: "not a number" },
        255: { note: "nul \u0000" }
      }
      const exits = yield* Effect.forEach(
        range(256),
        (n) =>
          Effect.exit(append(commitOf(1, { writes: [thing(1, `t${n}`, 1, bad[n])], events: [eventDraft(`i${n}`)] }))),
        together
      )
      exits.forEach((exit, n) => {
        assert.strictEqual(Exit.isSuccess(exit), bad[n] === undefined, `commit ${n}`)
        if (Exit.isFailure(exit)) assert.isTrue(Exit.hasDies(exit))
      })
      const [counts] = yield* sql`select (select count(*) from things) things, (select count(*) from events) events`
      assert.deepStrictEqual(counts, { things: 252n, events: 252n })
    }))

  it.effect("dies alone where a second row has a key that is unique beside the primary key: that is no lost race", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* sql`create unique index on things (note)`
      const exits = yield* Effect.forEach(
        range(10),
        (n) => Effect.exit(append(commitOf(1, { writes: [thing(1, `t${n}`, 1, n < 8 ? {} : { note: "same" })] }))),
        together
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), range(10).map((n) => n < 9))
      assert.isTrue(Exit.hasDies(exits[9]!))
    }))

  it.effect("changes and adds rows of one table together, and either all of them are written or none", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* append(commitOf(1, { writes: [thing(1, "a", 1), thing(1, "c", 1)] }))
      const mixed = (version: number) => [thing(1, "b", 1), thing(1, "c", version), thing(1, "a", 2), part(1, "p", 1)]
      assert.deepStrictEqual(
        yield* Effect.flip(append(commitOf(1, { writes: mixed(3) }))),
        new Conflict({ table: "things" })
      )
      yield* append(commitOf(1, { writes: mixed(2) }))
      const rows = yield* sql<{ id: string; note: string }>`select id, note from things union select id, note from parts
        order by id`
      assert.deepStrictEqual(rows.map(({ note }) => note), ["a v2", "b v1", "c v2", "p v1"])
    }))

  it.effect("that breaks the rules of the log is a defect of its caller, and no other commit notices", () =>
    Effect.gen(function*() {
      const { append } = yield* single
      const wrong = [
        commitOf(1, { writes: [thing(1, "a", 1), thing(1, "a", 2)] }),
        commitOf(1, { writes: [{ table: "pg_class", row: { version: 1 } }] }),
        commitOf(1, { writes: [thing(1, "a", 0)] }),
        commitOf(1, { writes: [thing(1, "a", 1, { amount: 1n })] }),
        commitOf(1, { writes: range(maximumWrites + 1).map((n) => thing(1, `t${n}`, 1)) }),
        commitOf(0, { events: [eventDraft("i")] })
      ]
      const fine = yield* Effect.forkChild(append(commitOf(1, { writes: [thing(1, "fine", 1)] })))
      for (const commit of wrong) assert.isTrue(Exit.hasDies(yield* Effect.exit(append(commit))))
      yield* Fiber.join(fine)
    }))

  it.effect("with a lost fence is a conflict; with a held one it lands", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* sql`insert into leases values ('chain', 'me', 7, now() + interval '1 hour')`
      const fenced = (token: bigint, id: string) =>
        append(commitOf(0, { fence: { name: "chain", token }, writes: [thing(0, id, 1)] }))
      yield* fenced(7n, "a")
      yield* sql`update leases set token = 8`
      const [lost, held] = yield* Effect.all([Effect.result(fenced(7n, "b")), Effect.result(fenced(8n, "c"))], together)
      assert.deepStrictEqual(Result.isFailure(lost) && lost.failure, new Conflict({ table: "leases" }))
      assert.isTrue(Result.isSuccess(held))
      assert.deepStrictEqual(yield* sql`select id from things order by id`, [{ id: "a" }, { id: "c" }])
    }))

  it.effect("waits for one that writes the same row, and changes of a row land in the order they came", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* Effect.forEach(
        range(50),
        (n) => append(commitOf(1, { writes: [thing(1, "a", n + 1)], events: [eventDraft("i")] })),
        together
      )
      assert.deepStrictEqual(yield* sql`select version from things`, [{ version: 50n }])
    }))
})

describe("writers side by side", () => {
  it.effect("lock rows in one order: opposite orders of the same rows never deadlock", () => {
    const repeated: Array<unknown> = []
    const listening = Logger.make(({ message }) => {
      if (String(message).includes("deadlock")) repeated.push(message)
    })
    return Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      const names = range(20).map((n) => `t${n + 10}`)
      const both = (id: string, version: number) => [thing(1, id, version), part(1, id, version)]
      yield* logs[0]!.append(commitOf(1, { writes: names.flatMap((id) => both(id, 1)) }))
      yield* waitForLocks(logs[0]!.sql)
      // Both stand still with half of their rows locked, which is when opposite orders would meet.
      const writing = yield* logs[0]!.sql.withTransaction(Effect.gen(function*() {
        yield* logs[0]!.sql`select 1 from things where id = 't20' for update`
        const writing = yield* Effect.forkChild(
          Effect.forEach(logs, ({ append }, side) =>
            Effect.result(append(commitOf(1, {
              writes: (side === 0 ? names : names.toReversed()).flatMap((id) => both(id, 2))
            }))), together)
        )
        const blocked = logs[1]!.sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        while ((yield* blocked).length < 2) yield* Effect.yieldNow
        return writing
      }))
      const results = yield* Fiber.join(writing)
      assert.deepStrictEqual(repeated, [])
      assert.deepStrictEqual(results.map((result) => result._tag).sort(), ["Failure", "Success"])
      const [spread] = yield* logs[0]!.sql`select count(distinct version) n from (select version from things union all
        select version from parts) v`
      assert.deepStrictEqual(spread, { n: 1n })
    }).pipe(Effect.provide(Logger.layer([listening])))
  })

  it.effect("take a place in a merchant's stream after whoever held it, even where that clock is ahead", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const [writer, other] = [yield* instance(database), yield* instance(database)]
      yield* writer.append(commitOf(1, { events: [eventDraft("first")] }))
      yield* waitForLocks(other.sql)
      const { ms, seq, waiting } = yield* other.sql.withTransaction(Effect.gen(function*() {
        yield* other.sql`select 1 from merchant_streams where merchant_id = 1 for update`
        const waiting = yield* Effect.forkChild(
          writer.append(commitOf(1, { events: [eventDraft("second"), eventDraft("third")] }))
        )
        const blocked = writer.sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        while ((yield* blocked).length === 0) yield* Effect.yieldNow
        const [stream] = yield* other.sql<{ ms: bigint; seq: bigint }>`update merchant_streams
          set last_ms = last_ms + 3600000, last_seq = nextval('event_seq') where merchant_id = 1
          returning last_ms as ms, last_seq as seq`
        return { ...stream!, waiting }
      }))
      const { events } = yield* Fiber.join(waiting)
      assert.deepStrictEqual(events.map(({ position }) => position.ms), [ms, ms])
      assert.isTrue(events[0]!.position.seq > seq && events[1]!.position.seq > events[0]!.position.seq)
      const [stream] = yield* other.sql`select last_ms, last_seq from merchant_streams`
      assert.deepStrictEqual(stream, { last_ms: ms, last_seq: events[1]!.position.seq })
    }))

  it.effect("of one merchant and of many, on two instances: a reader's cursor misses nothing, and ids only grow", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      const reader = yield* instance(database)
      const merchants = [1, 1, 1, 1, 2, 3, 4, 5]
      const writers = range(16)
      const appended = new Map<number, Array<string>>()
      const writing = yield* Effect.forkChild(Effect.forEach(writers, (writer) =>
        Effect.forEach(range(40), (n) => {
          const merchant = merchants[(writer + n) % merchants.length]!
          const id = `${writer}-${n}`
          return Effect.map(
            logs[writer % 2]!.append(commitOf(merchant, {
              writes: [thing(merchant, id, 1)],
              events: range((n % 3) + 1).map(() => eventDraft(id))
            })),
            ({ events }) => {
              const mine = appended.get(merchant) ?? []
              appended.set(merchant, [...mine, ...events.map((event) => event.id)])
            }
          )
        }), together))
      const seen = new Map<number, Array<string>>()
      const walk = (merchant: number, cursor: { ms: bigint; seq: bigint }) =>
        Effect.gen(function*() {
          const rows = yield* reader.sql<{ ms: bigint; seq: bigint }>`select ms, seq from events
            where merchant_id = ${merchant} and (ms, seq) > (${cursor.ms}, ${cursor.seq}) order by ms, seq limit 7`
          const ids = seen.get(merchant) ?? []
          seen.set(merchant, [...ids, ...rows.map(({ ms, seq }) => `evt_${ms}-${seq}`)])
          return rows.at(-1) ?? cursor
        })
      const walking = (merchant: number) =>
        Effect.gen(function*() {
          let cursor = { ms: 0n, seq: 0n }
          while (true) {
            const done = writing.pollUnsafe() !== undefined
            const next = yield* walk(merchant, cursor)
            if (done && next === cursor) return
            cursor = next
            yield* Effect.yieldNow
          }
        })
      yield* Effect.forEach(new Set(merchants), walking, together)
      yield* Fiber.join(writing)
      const order = (id: string) => id.slice(4).split("-").map(BigInt) as [bigint, bigint]
      const sorted = (ids: ReadonlyArray<string>) =>
        [...ids].sort((a, b) => {
          const [x, y] = [order(a), order(b)]
          return x[0] === y[0] ? (x[1] < y[1] ? -1 : 1) : x[0] < y[0] ? -1 : 1
        })
      for (const merchant of new Set(merchants)) {
        assert.deepStrictEqual(seen.get(merchant), sorted(appended.get(merchant) ?? []), `merchant ${merchant}`)
      }
    }))
})

describe("deliveries", () => {
  it.effect("are queued for the enabled endpoints whose filters, environment and scope match, and for no other", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      const endpoint = (id: string, filters: string, more: Readonly<Record<string, unknown>> = {}) =>
        sql`insert into webhook_endpoints ${
          sql.insert({
            id,
            merchant_id: 1,
            version: 1,
            commerce_only: false,
            url: "https://x",
            status: "enabled",
            filters: `{${filters}}`,
            api_version: "v",
            sealed_secret: "s",
            created_at: 0,
            updated_at: 0,
            ...more
          })
        }`
      yield* endpoint("all", "*")
      yield* endpoint("type", "invoice.updated")
      yield* endpoint("prefix", "invoice.*")
      yield* endpoint("other type", "invoice.paid,invoice_payment.*")
      yield* endpoint("half prefix", "inv.*")
      yield* endpoint("devnet", "*", { environment: "devnet" })
      yield* endpoint("mainnet", "*", { environment: "mainnet" })
      yield* endpoint("commerce", "*", { commerce_only: true })
      yield* endpoint("disabled", "*", { status: "disabled" })
      yield* endpoint("exceptions", "exception.*")
      yield* endpoint("other merchant", "*", { merchant_id: 2 })
      const queued = (seq: bigint) =>
        Effect.map(
          sql<{ endpoint_id: string }>`select endpoint_id from webhook_deliveries
            where event_seq = ${seq} and status = 'pending' and due_at <= now() order by 1`,
          (rows) => rows.map((row) => row.endpoint_id)
        )
      const plain = yield* append(commitOf(1, { events: [eventDraft("i")] }))
      assert.deepStrictEqual(yield* queued(plain.events[0]!.position.seq), ["all", "devnet", "prefix", "type"])
      assert.strictEqual(plain.events[0]!.pendingWebhooks, 4)
      const shop = yield* append(commitOf(1, { events: [eventDraft("i", { invoice_type: "commerce" })] }))
      assert.deepStrictEqual(yield* queued(shop.events[0]!.position.seq), [
        "all",
        "commerce",
        "devnet",
        "prefix",
        "type"
      ])
      const exception = { object: "exception", id: "exc_1" }
      const optIn = { type: "exception.opened", object: exception, previousAttributes: {} } as const
      const hidden = yield* append(commitOf(1, { events: [optIn] }))
      assert.deepStrictEqual(yield* queued(hidden.events[0]!.position.seq), ["exceptions"])
      const live = yield* append(commitOf(1, { environment: "mainnet", events: [eventDraft("i")] }))
      assert.deepStrictEqual(yield* queued(live.events[0]!.position.seq), ["all", "mainnet", "prefix", "type"])
      const ping = yield* append(commitOf(1, { events: [eventDraft("i")], deliverOnlyTo: "commerce" }))
      assert.deepStrictEqual(yield* queued(ping.events[0]!.position.seq), ["commerce"])
      const [stored] = yield* sql`select pending_webhooks from events where seq = ${ping.events[0]!.position.seq}`
      assert.deepStrictEqual(stored, { pending_webhooks: 1 })
    }))
})

describe("trouble", () => {
  it.effect("a store that is gone fails every commit, leaves nothing half done, and works again when it is back", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const { append } = yield* instance(database)
      const admin = yield* instance(database)
      yield* append(commitOf(1, { writes: [thing(1, "before", 1)] }))
      yield* waitForLocks(admin.sql)
      // The log's writers wait for a lock; then the server drops their connections.
      const locked = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const holder = yield* Effect.forkChild(admin.sql.withTransaction(Effect.gen(function*() {
        yield* admin.sql`lock table parts in access exclusive mode`
        yield* Deferred.succeed(locked, undefined)
        yield* Deferred.await(release)
      })))
      yield* Deferred.await(locked)
      const writing = yield* Effect.forkChild(Effect.forEach(range(20), (n) =>
        Effect.flip(append(commitOf(n, {
          writes: [thing(n, `t${n}`, 1), part(n, `p${n}`, 1)],
          events: n === 0 ? [] : [eventDraft("i")],
          reply: reply(`k${n}`)
        }))), together))
      const waiting = admin.sql<{ pid: number }>`select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      while ((yield* waiting).length < 2) yield* Effect.yieldNow
      yield* admin.sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      const failures = yield* Fiber.join(writing)
      for (const failure of failures) {
        assert.strictEqual(failure._tag === "PublicError" && failure.code, "SERVICE_UNAVAILABLE")
      }
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holder)
      const [counts] = yield* admin.sql`select (select count(*) from things where id <> 'before') things,
        (select count(*) from events) events, (select count(*) from idempotency) keys`
      assert.deepStrictEqual(counts, { things: 0n, events: 0n, keys: 0n })
      yield* append(commitOf(1, { writes: [thing(1, "after", 1)] }))
    }))

  it.effect("a flush that a full disk refuses is logged with the database's own reason, which says what to do", () => {
    const logs: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void logs.push(JSON.stringify(message)))
    return Effect.gen(function*() {
      const { append, sql } = yield* single
      yield* sql`create function refuse() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $$`
      yield* sql`create trigger refuse before insert on things for each row execute function refuse()`
      const failure = yield* Effect.flip(append(commitOf(1, { writes: [thing(1, "a", 1)] })))
      assert.strictEqual(failure._tag === "PublicError" && failure.code, "SERVICE_UNAVAILABLE")
      const [line] = logs.filter((line) => line.includes("A flush failed"))
      assert.include(line, "could not extend file: No space left on device")
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("an interrupted caller withdraws a commit that is not on its way yet", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* single
      const caller = yield* Effect.forkChild(append(commitOf(1, { writes: [thing(1, "a", 1)] })), {
        startImmediately: true
      })
      yield* Fiber.interrupt(caller)
      yield* append(commitOf(1, { writes: [thing(1, "b", 1)] }))
      assert.deepStrictEqual(yield* sql`select id from things`, [{ id: "b" }])
    }))

  it.effect("instances that start together make one function, and both work", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = yield* Effect.forEach(range(6), () => instance(database), together)
      yield* Effect.forEach(logs, ({ append }, n) => append(commitOf(1, { writes: [thing(1, `t${n}`, 1)] })), together)
      const [functions] = yield* logs[0]!.sql`select count(*) n from pg_proc where proname like 'tillwire\\_commit\\_%'`
      assert.deepStrictEqual(functions, { n: 1n })
    }))
})
