/**
 * Goal: a merchant hears everything of its own that it asked for, once and in order, from whichever instance, across
 * reconnections; and a reader costs nobody else anything.
 * Method: two instances over one database, each with its own bus, hub and door; clients by `ws` and by raw bytes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { maximumEventReplay } from "../../../runtime/sockets/StreamRules.ts"
import { eventText, eventTypes } from "../../../schemas/Event.ts"
import { Environment } from "../../../schemas/Network.ts"
import { Role, roleHas } from "../../../schemas/Roles.ts"
import { versions } from "../../../schemas/Version.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"
import { type Client, endOf, rawSocket, refusalOf } from "../../support/Sockets.ts"
import { instance, invoice, invoiceId, makeKeys } from "./Instance.ts"
import { timed } from "../../support/Stopwatch.ts"

const promise = (
  name: string,
  body: (database: TestDatabase) => Effect.Effect<unknown, unknown, Scope.Scope>
) => it.live(name, () => Effect.scoped(Effect.flatMap(freshDatabase, body)))

const range = (n: number) => Array.from({ length: n }, (_, at) => at)

const eventsOf = ({ frames }: Client) => frames.filter(({ object }) => object === "event")

/** Waits until a client has been told of an event. */
const told = (client: Client, id: string) =>
  until(`${id} is told`, Effect.sync(() => client.frames.at(-1)), () => client.frames.some((frame) => frame.id === id))

describe("merchants' streams", () => {
  promise(
    "carry, on every instance, the text that the events API and webhooks carry",
    (database) =>
      Effect.gen(function*() {
        const keys = makeKeys("merchant", "commerce")
        const [one, two] = [yield* instance(database, keys), yield* instance(database, keys)]
        const clients = [
          yield* one.dial("merchant"),
          yield* two.dial("merchant"),
          yield* two.dial("merchant", "", "merchant", versions.at(-1)!.version)
        ]
        const shop = yield* two.dial("commerce")
        for (const client of clients) {
          assert.deepInclude(yield* client.next, {
            type: "ready",
            stream: "merchant",
            environment: "devnet",
            heartbeat_seconds: 25
          })
        }
        assert.deepInclude(yield* shop.next, { type: "ready", stream: "commerce" })
        const plain = yield* one.emit(range(5).map((n) => invoice(n, { note: "✓ \"quoted\"" })))
        const payment = {
          object: "invoice_payment",
          id: "p",
          invoice_id: invoiceId,
          invoice_type: "commerce",
          settlement: null
        }
        const sold = [
          ...yield* two.emit([invoice(6, { invoice_type: "commerce" })]),
          ...yield* one.emit([payment], "invoice_payment.updated")
        ]
        const order = yield* one.emit([{ object: "commerce_order", id: "o" } as never], "commerce.order.updated")
        const refund = yield* one.emit([payment], "invoice_payment.refunded")
        yield* one.emit([{ object: "test_ping", id: "ping" }], "test.ping")
        yield* one.emit([invoice(7)], "invoice.updated", "mainnet")
        const last = yield* two.emit([invoice(8, { invoice_type: "commerce" })])
        const text = (version?: string) => (event: (typeof plain)[number]) =>
          eventText(event, event.pendingWebhooks, version)
        for (const client of [...clients, shop]) yield* told(client, last[0]!.id)
        const expected = [...plain, ...sold, ...refund, ...last]
        for (const client of clients.slice(0, 2)) assert.deepStrictEqual(client.texts.slice(1), expected.map(text()))
        assert.deepStrictEqual(clients[2]!.texts.slice(1), expected.map(text(versions.at(-1)!.version)))
        assert.deepStrictEqual(shop.texts.slice(1), [...sold, ...order, ...refund, ...last].map(text()))
      })
  )

  promise(
    "are in one environment: the key's own, or the other where a merchant's key names it",
    (database) =>
      Effect.gen(function*() {
        const one = yield* instance(database, makeKeys("merchant", "commerce"))
        const own = yield* one.dial("merchant")
        const other = yield* one.dial("merchant", "environment=mainnet&types=invoice.*")
        const [devnet] = yield* one.emit([invoice(1)])
        const [mainnet] = yield* one.emit([invoice(2)], "invoice.paid", "mainnet")
        yield* told(own, devnet!.id)
        yield* told(other, mainnet!.id)
        assert.deepStrictEqual([own, other].map((client) => eventsOf(client).map(({ id }) => id)), [[devnet!.id], [
          mainnet!.id
        ]])
        assert.strictEqual(yield* refusalOf(one.dial("commerce", "environment=mainnet")), "403 ENVIRONMENT_FORBIDDEN")
      })
  )

  promise(
    "tell of each type to those alone who may read its object there",
    (database) =>
      Effect.gen(function*() {
        const keys = makeKeys(...Role.literals.map((role) => `merchant ${role}`), "merchant owner write")
        const one = yield* instance(database, keys)
        for (const role of Role.literals) {
          for (const environment of Environment.literals) {
            for (const type of [...eventTypes, "batch.*", "*,balance_transaction.*", "*"]) {
              const right = type.includes("batch.")
                ? "batches:read"
                : type.includes("balance_transaction.")
                ? "balances:read"
                : "payments:read"
              const dialled = one.dial("merchant", `environment=${environment}&types=${type}`, `merchant ${role}`)
              const outcome = yield* Effect.scoped(Effect.match(dialled, {
                onSuccess: () => "opened",
                onFailure: (refused) => String(refused)
              }))
              const expected = roleHas(role, right, environment)
              assert.strictEqual(outcome === "opened", expected, `${role} ${environment} ${type}: ${outcome}`)
            }
          }
        }
        assert.strictEqual(
          yield* refusalOf(one.dial("merchant", "types=batch.paid&environment=mainnet", "merchant support")),
          "403 PERMISSION_DENIED"
        )
        assert.strictEqual(yield* refusalOf(one.dial("merchant", "", "merchant owner write")), "403 PERMISSION_DENIED")
      })
  )

  promise(
    "replay what was missed, by pages and through the filters, beside writers on both instances",
    (database) =>
      Effect.gen(function*() {
        const keys = makeKeys("merchant")
        const [one, two] = [yield* instance(database, keys), yield* instance(database, keys)]
        const [first] = yield* one.emit([invoice(0)])
        const missed = yield* Effect.forEach(
          range(5),
          (at) => one.emit(range(250).map((n) => invoice(at * 250 + n + 1)))
        )
        const writing = yield* Effect.forkChild(Effect.all(
          [one, two].map((writer, who) =>
            Effect.forEach(range(150), (n) => writer.emit([invoice(10_000 * (who + 1) + n)]), { discard: true })
          ),
          { concurrency: 2 }
        ))
        const clients = yield* Effect.forEach(
          range(6),
          (at) => (at % 2 === 0 ? one : two).dial("merchant", `since=${first!.id}&types=invoice.updated`),
          { concurrency: 6 }
        )
        const narrow = yield* two.dial("merchant", `since=${first!.id}&invoice_id=none`)
        yield* Effect.callback<void>((resume) => void writing.addObserver(() => resume(Effect.void)))
        const [last] = yield* two.emit([invoice(99_999)])
        const stored = yield* one.bus.readAfter({ merchantId: 1, position: first!.position, limit: 10_000 })
        assert.strictEqual(stored.length, missed.flat().length + 301)
        for (const client of clients) {
          yield* told(client, last!.id)
          assert.deepStrictEqual(
            eventsOf(client).map(({ id }) => id),
            stored.map(({ id }) => id)
          )
          const kinds = client.frames.map(({ object, type }) => object === "event" ? "event" : type)
          assert.deepStrictEqual(kinds.slice(0, 3), ["ready", "replay_start", "event"])
          const complete = client.frames.findIndex(({ type }) => type === "replay_complete")
          assert.deepInclude(client.frames[complete], {
            count: complete - 2,
            last_event_id: client.frames[complete - 1].id
          })
        }
        assert.deepStrictEqual(yield* narrow.take(3).pipe(Effect.map((frames) => frames.slice(1))), [
          { object: "ws_control", type: "replay_start", since: first!.id },
          { object: "ws_control", type: "replay_complete", count: 0, last_event_id: null }
        ])
      })
  )

  promise(
    "ask for a resync where too many events came since, or the oldest are gone, and go on live",
    (database) =>
      Effect.gen(function*() {
        const one = yield* instance(database, makeKeys("merchant"))
        const [first] = yield* one.emit([invoice(0)])
        yield* Effect.provide(
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            yield* sql`INSERT INTO events SELECT merchant_id, ms, seq + n, environment, type, invoice_id, order_id, customer_id,
          commerce, request_id, idempotency_key, pending_webhooks, is_for_payors, data
          FROM events, generate_series(1, ${maximumEventReplay}) n`
            yield* sql`SELECT setval('event_seq', 1000000)`
            yield* sql`UPDATE merchant_streams SET last_seq = 100000`
          }),
          connect(database),
          { local: true }
        )
        const all = yield* one.dial("merchant", `since=${first!.id}`)
        assert.strictEqual((yield* all.take(maximumEventReplay + 3)).at(-1).count, maximumEventReplay)
        const tooMany = yield* one.dial("merchant", "since=evt_0-0")
        assert.deepStrictEqual((yield* tooMany.take(2))[1], {
          object: "ws_control",
          type: "resync_required",
          reason: "too_many_events",
          oldest_event_id: null
        })
        // What is narrowed by an id counts its own events only.
        const narrow = yield* one.dial("merchant", "since=evt_0-0&customer_id=c_2")
        assert.deepInclude((yield* narrow.take(3))[2], { type: "replay_complete", count: 0 })
        yield* Effect.provide(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) =>
              sql`UPDATE merchant_streams SET pruned_ms = ${first!.position.ms}, pruned_seq = ${first!.position.seq}`
          ),
          connect(database),
          { local: true }
        )
        const tooOld = yield* one.dial("merchant", "since=evt_0-0")
        const { oldest_event_id, reason } = (yield* tooOld.take(2))[1]
        assert.deepStrictEqual([reason, oldest_event_id], [
          "cursor_too_old",
          `evt_${first!.position.ms}-${first!.position.seq + 1n}`
        ])
        const [live] = yield* one.emit([invoice(1)])
        for (const client of [all, tooMany, tooOld]) yield* told(client, live!.id)
      })
  )

  promise(
    "carry opt-in types only where they are named: live, in a replay, and in what a replay counts",
    (database) =>
      Effect.gen(function*() {
        const one = yield* instance(database, makeKeys("merchant", "merchant 2", "merchant 3", "commerce"))
        const exception = { object: "exception", id: "exc_1", invoice_id: invoiceId, customer_id: "c_1" }
        const emit = Effect.gen(function*() {
          const [opened] = yield* one.emit([exception], "exception.opened")
          const [resolved] = yield* one.emit([exception], "exception.resolved")
          const [paid] = yield* one.emit([invoice(1, { customer_id: "c_1" })], "invoice.paid")
          return { opened: opened!.id, resolved: resolved!.id, paid: paid!.id }
        })
        const queries = {
          "": ["paid"],
          "types=*": ["paid"],
          "types=exception.opened,*": ["opened", "paid"],
          "types=exception.*": ["opened", "resolved"],
          [`invoice_id=${invoiceId}`]: ["paid"],
          "customer_id=c_1": ["paid"],
          "customer_id=c_1&types=*,exception.*": ["opened", "resolved", "paid"]
        } as const
        const live = yield* Effect.forEach(Object.keys(queries), (query) => one.dial("merchant", query))
        const shop = yield* one.dial("commerce", "types=*,exception.*")
        const ids = yield* emit
        const [last] = yield* one.emit([invoice(2, { customer_id: "c_1", invoice_type: "commerce" })])
        for (const [at, wanted] of Object.values(queries).entries()) {
          const expected = wanted.map((name) => ids[name])
          yield* told(live[at]!, expected.at(-1)!)
          assert.deepStrictEqual(eventsOf(live[at]!).map(({ id }) => id).slice(0, expected.length), expected)
        }
        yield* told(shop, last!.id)
        assert.deepStrictEqual(eventsOf(shop).map(({ id }) => id), [last!.id])
        for (const [query, wanted] of Object.entries(queries)) {
          const client = yield* one.dial("merchant", `since=evt_0-0&${query}`, "merchant 2")
          const seen = [
            ...wanted.map((name) => ids[name] as string),
            ...query.includes("=exception.*") ? [] : [last!.id]
          ]
          const frames = yield* client.take(seen.length + 3)
          assert.deepStrictEqual(frames.slice(2, -1).map(({ id }) => id), seen, query)
          assert.deepInclude(frames.at(-1), { type: "replay_complete", count: seen.length })
        }
        // More of them than a replay passes over, and the oldest that is kept is one.
        yield* Effect.provide(
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            yield* sql`INSERT INTO events SELECT merchant_id, ms, seq + n, environment, type, invoice_id, order_id, customer_id,
              commerce, request_id, idempotency_key, pending_webhooks, is_for_payors, data
              FROM events, generate_series(1, ${maximumEventReplay}) n WHERE type = 'exception.opened'
              ON CONFLICT DO NOTHING`
            yield* sql`SELECT setval('event_seq', 1000000)`
            yield* sql`UPDATE merchant_streams SET last_seq = 100000`
          }),
          connect(database),
          { local: true }
        )
        for (const query of ["", "customer_id=c_1", `invoice_id=${invoiceId}`]) {
          const client = yield* one.dial("merchant", `since=evt_0-0&${query}`, "merchant 3")
          assert.deepInclude((yield* client.take(5)).at(-1), { type: "replay_complete", count: 2 })
          const asking = yield* one.dial("merchant", `since=evt_0-0&types=*,exception.*&${query}`, "merchant 3")
          assert.deepInclude((yield* asking.take(2))[1], { type: "resync_required", reason: "too_many_events" })
        }
        yield* Effect.provide(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE merchant_streams SET pruned_ms = 1, pruned_seq = 1`),
          connect(database),
          { local: true }
        )
        const tooOld = yield* one.dial("merchant", "since=evt_0-0", "merchant 3")
        assert.deepInclude((yield* tooOld.take(2))[1], { type: "resync_required", oldest_event_id: ids.paid })
      })
  )

  promise(
    "end within 5 s of their key's end, on every instance, and no other key's",
    (database) =>
      Effect.gen(function*() {
        const keys = makeKeys("merchant", "merchant 2")
        const [one, two] = [yield* instance(database, keys), yield* instance(database, keys)]
        const ending = [yield* one.dial("merchant"), yield* one.dial("merchant"), yield* two.dial("merchant")]
        const staying = [yield* one.dial("merchant", "", "merchant 2"), yield* two.dial("merchant", "", "merchant 2")]
        keys.delete("merchant")
        const { answer, millis } = yield* timed(Effect.forEach(ending, endOf))
        assert.deepStrictEqual(answer, ending.map(() => [4401, "API_KEY_INVALID"]))
        assert.isBelow(millis, 5_000)
        for (const { socket } of staying) assert.strictEqual(socket.readyState, 1)
        assert.strictEqual(yield* refusalOf(two.dial("merchant")), "401 API_KEY_INVALID")
      })
  )

  promise(
    "end with 1001 where nobody can tell any more whether their key is good: it may be",
    (database) =>
      Effect.gen(function*() {
        const keys = Object.assign(makeKeys("merchant"), { unknown: false })
        const client = yield* (yield* instance(database, keys)).dial("merchant")
        keys.unknown = true
        assert.deepStrictEqual(yield* endOf(client), [1001, undefined])
      })
  )

  promise(
    "miss nothing over reconnections, with 500 sockets of which 25 never read, and an instance that stops",
    (database) =>
      Effect.gen(function*() {
        const keys = makeKeys(...range(25).map((n) => `merchant ${n}`), ...range(2).map((n) => `merchant deaf ${n}`))
        const one = yield* instance(database, keys)
        const [first] = yield* one.emit([invoice(0)])
        const heard = range(475).map(() => [] as Array<string>)
        const dialled = (to: typeof one, who: number) =>
          Effect.map(
            to.dial("merchant", `since=${heard[who]!.at(-1) ?? first!.id}`, `merchant ${who % 25}`),
            (client) => {
              const note = () => heard[who]!.push(...eventsOf(client).map(({ id }) => id as string))
              return { client, note }
            }
          )
        yield* Effect.forEach(range(25), (n) =>
          Effect.tap(rawSocket(`${one.url}/ws/merchant/events`, { "x-api-key": `merchant deaf ${n % 2}` }), ({ tcp }) =>
            Effect.sync(() =>
              tcp.pause()
            )), { discard: true })
        const sent = yield* Effect.scoped(Effect.gen(function*() {
          const brief = yield* instance(database, keys)
          const clients = yield* Effect.forEach(heard, (_, who) =>
            dialled(who % 2 === 0 ? one : brief, who), { concurrency: 50 })
          const events = yield* Effect.forEach(range(40), (n) =>
            (n % 2 === 0 ? one : brief).emit([invoice(n, { pad: "x".repeat(2_000) })]))
          // Cut while frames are on their way: each has heard as much as it has.
          yield* told(clients[0]!.client, events[9]![0]!.id)
          for (const { client, note } of clients) {
            note()
            client.socket.terminate()
          }
          return events.flat()
        }))
        const again = yield* Effect.forEach(heard, (_, who) =>
          dialled(one, who), { concurrency: 50 })
        const [last] = yield* one.emit([invoice(999)])
        for (const { client } of again) {
          yield* told(client, last!.id)
        }
        for (const { note } of again) {
          note()
        }
        const expected = [...sent, last!].map(({ id }) =>
          id as string
        )
        for (const ids of heard) {
          assert.deepStrictEqual(ids, expected)
        }
      })
  )
})
