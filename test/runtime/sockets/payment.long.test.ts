/**
 * Goal: a payor hears everything about one invoice, in order, once, and cannot cost us more than the bounds say.
 * Method: the real commit log, bus, hub and route behind a real server; a raw `ws` client.
 */
import { assert, describe, it } from "@effect/vitest"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import { WebSocket } from "ws"
import { Commit } from "../../../runtime/Commit.ts"
import { EventBus } from "../../../runtime/EventBus.ts"
import * as Ended from "../../../runtime/http/Revocations.ts"
import * as Throttling from "../../../runtime/http/RateLimiter.ts"
import * as Memory from "../../../runtime/ratelimits/Memory.ts"
import * as Hub from "../../../runtime/sockets/Hub.ts"
import * as StreamRules from "../../../runtime/sockets/StreamRules.ts"
import { paymentSocketPath, paymentSocketRoute } from "../../../runtime/sockets/PaymentRoute.ts"
import { PayorTickets } from "../../../runtime/sockets/PayorTicket.ts"
import { websocketOptions } from "../../../runtime/sockets/Upgrade.ts"
import { Sockets } from "../../../runtime/Sockets.ts"
import { type EventType, isForPayors, payorDataText, payorEventText } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { settingsLayer } from "../../support/Api.ts"
import { freshDatabase } from "../../support/Database.ts"
import { type ConnectOptions, connectTo as dial, endOf, refusalOf } from "../../support/Sockets.ts"
import { log } from "../webhooks/Delivery.ts"

const invoiceId = "00000000-0000-4000-8000-000000000001"
const otherId = "00000000-0000-4000-8000-000000000002"
const greeting = "{\"object\":\"event\",\"type\":\"payment_quote.updated\"}"

/** As the service stops: streams are ended before the door waits for its connections. */
const endsStreams = Layer.effectDiscard(
  Effect.flatMap(Sockets, ({ close }) => Effect.addFinalizer(() => close))
)

const served = Layer.merge(
  HttpRouter.serve(
    HttpRouter.add("GET", paymentSocketPath, paymentSocketRoute(() => Effect.succeed([greeting]))),
    { disableLogger: true, disableListenLog: true }
  ),
  endsStreams
).pipe(
  Layer.provideMerge(
    NodeHttpServer.layer(createServer, {
      port: 0,
      host: "127.0.0.1",
      gracefulShutdownTimeout: 100,
      websocket: websocketOptions
    })
  ),
  Layer.provideMerge(Hub.layer.pipe(Layer.provide(Ended.layer))),
  Layer.provideMerge(Throttling.layerOver(Memory.layer).pipe(Layer.provide(settingsLayer())))
)

type Env = Layer.Success<typeof served> | Layer.Success<ReturnType<typeof log>> | Scope.Scope

const promise = (name: string, body: Effect.Effect<unknown, unknown, Env>) =>
  it.live(
    name,
    () =>
      Effect.flatMap(freshDatabase, (database) =>
        Effect.provide(body, served.pipe(Layer.provideMerge(log(database))), { local: true })).pipe(Effect.scoped)
  )

/** For how long the database does not answer, as a test says: by a clock that jumps it would seem not to. */
let staleMillis = 0

/** As {@link promise}, with a clock that the test moves; sockets and the database stay real. */
const onTestClock = (name: string, body: Effect.Effect<unknown, unknown, Env>) =>
  it.effect(name, () =>
    Effect.flatMap(freshDatabase, (database) => {
      const told = Layer.effect(EventBus, Effect.map(EventBus, (bus) => ({ ...bus, staleMillis: () => staleMillis })))
      return Effect.provide(body, served.pipe(Layer.provideMerge(told), Layer.provideMerge(log(database))), {
        local: true
      })
    }).pipe(
      Effect.scoped,
      Effect.ensuring(Effect.sync(() => {
        staleMillis = 0
      }))
    ))

const base = Effect.map(HttpServer.HttpServer, ({ address }) => `ws://127.0.0.1:${(address as { port: number }).port}`)

const ticket = (id = invoiceId, merchantId = 1) =>
  Effect.map(PayorTickets.mint({ invoiceId: id, merchantId }), ({ token }) => token)

const connectTo = (query: string, options?: ConnectOptions) =>
  Effect.flatMap(base, (url) => dial(`${url}${paymentSocketPath}?${query}`, options))

/** Connected, greeted. */
const listening = (query = "", id = invoiceId) =>
  Effect.gen(function*() {
    const client = yield* connectTo(`format=event_v1&token=${yield* ticket(id)}${query}`)
    const opening = yield* client.take(query.includes("since") ? 0 : 2)
    return { ...client, opening }
  })

const invoice = (n: number, more: Readonly<Record<string, unknown>> = {}): WireObject => ({
  object: "invoice",
  id: invoiceId,
  status: "unpaid",
  customer_id: "c_1",
  n,
  metadata: { order: "secret" },
  ...more
})

const emitAll = (objects: ReadonlyArray<WireObject>, type: EventType = "invoice.updated", merchantId = 1) =>
  Effect.flatMap(Commit, (commit) =>
    commit.append({
      merchantId,
      environment: "devnet",
      cause: { requestId: "req_1", idempotencyKey: "k" },
      writes: [],
      events: objects.map((object) => ({ type, object, previousAttributes: { n: 0 } }))
    })).pipe(Effect.map(({ events }) => events))

const emit = (object: WireObject, type: EventType = "invoice.updated") =>
  Effect.map(emitAll([object], type), ([event]) => event!)

const range = (n: number) => Array.from({ length: n }, (_, at) => at)

describe("the payor's stream", () => {
  promise(
    "tells what is not stored only while the invoice can be paid, and again once it is open again",
    Effect.gen(function*() {
      const client = yield* listening()
      const sockets = yield* Sockets
      for (const status of ["paid", "expired", "canceled"]) {
        yield* emit(invoice(1, { status }))
        yield* client.take(1)
        yield* sockets.send(invoiceId, () => "{\"quote\":\"over\"}")
        yield* emit(invoice(2, { status: "unpaid" }))
        yield* client.take(1)
        yield* sockets.send(invoiceId, () => "{\"quote\":\"open\"}")
        yield* client.take(1)
        assert.strictEqual(client.texts.at(-1), "{\"quote\":\"open\"}")
      }
      assert.notInclude(client.texts, "{\"quote\":\"over\"}")
    })
  )

  promise(
    "says ready, greets, then tells the invoice's events in order and no other's",
    Effect.gen(function*() {
      const client = yield* listening()
      assert.deepInclude(client.opening[0], {
        object: "ws_control",
        type: "ready",
        stream: "payment",
        invoice_id: invoiceId,
        heartbeat_seconds: 25
      })
      assert.strictEqual(client.texts[1], greeting)
      const events = yield* emitAll(range(20).flatMap((n) => [invoice(n), invoice(n, { id: otherId })]))
      const told = yield* client.take(20)
      const mine = events.filter(({ invoiceId: id }) => id === invoiceId)
      assert.deepStrictEqual(
        client.texts.slice(2),
        mine.map((event) => payorEventText(event, payorDataText(event.data)))
      )
      // The payor's rendering and nothing of the merchant's.
      assert.deepInclude(told[0], { pending_webhooks: 0, request: { id: null, idempotency_key: null } })
      assert.deepInclude(told[0].data.object, { metadata: {}, customer_id: null })
      assert.notInclude(client.texts.join(), "secret")
    })
  )

  promise(
    "carries what is told beside events, and never what the payor may not see",
    Effect.gen(function*() {
      const client = yield* listening()
      const sockets = yield* Sockets
      yield* emit({ object: "test_ping", id: "ping_1", invoice_id: invoiceId }, "test.ping")
      yield* sockets.send(otherId, () => "{\"n\":0}")
      yield* sockets.send(invoiceId, () => "{\"n\":1}")
      assert.deepStrictEqual(yield* client.next, { n: 1 })
      assert.isFalse(isForPayors({ type: "test.ping", object: { object: "test_ping" }, previousAttributes: {} }))
    })
  )

  promise(
    "replays what was missed without gap or repeat while events go on",
    Effect.gen(function*() {
      const first = yield* emit(invoice(0))
      const missed = yield* emitAll(range(250).map((n) => invoice(n + 1)))
      const going = yield* Effect.forkChild(
        Effect.forEach(range(100), (n) => emit(invoice(n + 1_000)), { discard: true })
      )
      const client = yield* listening(`&since=${first.id}`)
      yield* Effect.andThen(
        Effect.yieldNow,
        going.pipe((fiber) =>
          Effect.callback<void>((resume) => {
            fiber.addObserver(() => resume(Effect.void))
          })
        )
      )
      const last = yield* emit(invoice(9_999))
      while (client.frames.at(-1)?.id !== last.id) yield* Effect.sleep(5)
      const kinds = client.frames.map(({ object, type }) => object === "event" ? "event" : type)
      assert.deepStrictEqual(kinds.slice(0, 2), ["ready", "replay_start"])
      assert.strictEqual(client.frames[1].since, first.id)
      const complete = client.frames.find(({ type }) => type === "replay_complete")
      assert.isAtLeast(complete.count, missed.length)
      assert.strictEqual(client.texts[client.frames.indexOf(complete) + 1], greeting)
      const told = client.frames.filter(({ id }) => id !== undefined)
      assert.deepStrictEqual(told.map(({ data }) => data.object.n), [
        ...range(250).map((n) => n + 1),
        ...range(100).map((n) => n + 1_000),
        9_999
      ])
      assert.strictEqual(complete.last_event_id, told[complete.count - 1].id)
    })
  )

  promise(
    "asks for a resync instead of a replay that is too long",
    Effect.gen(function*() {
      yield* Effect.forEach(range(4), () => emitAll(range(251).map((n) => invoice(n))))
      const client = yield* listening("&since=evt_1-1")
      const [ready, resync, quote] = yield* client.take(3)
      assert.strictEqual(ready.type, "ready")
      assert.deepStrictEqual(resync, {
        object: "ws_control",
        type: "resync_required",
        reason: "too_many_events",
        oldest_event_id: null
      })
      assert.strictEqual(quote.type, "payment_quote.updated")
      yield* emit(invoice(1))
      assert.strictEqual((yield* client.next).type, "invoice.updated")
    })
  )

  promise(
    "asks for a resync when the missed events are older than a day",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* emitAll([invoice(1), invoice(2)])
      yield* sql`UPDATE events SET ms = ms - 86500000`
      const recent = yield* emit(invoice(3))
      const client = yield* listening("&since=evt_1-1")
      const [, resync] = yield* client.take(2)
      assert.deepInclude(resync, { type: "resync_required", reason: "cursor_too_old", oldest_event_id: recent.id })
    })
  )

  promise(
    "answers ws_ping and ignores everything else",
    Effect.gen(function*() {
      const client = yield* listening()
      for (
        const text of ["nonsense", "[]", "{\"object\":\"subscribe\",\"invoice_id\":\"x\"}", "{\"object\":\"ws_ping\"}"]
      ) {
        client.socket.send(text)
      }
      assert.deepInclude(yield* client.next, { object: "ws_control", type: "heartbeat" })
    })
  )

  promise(
    "takes any origin and the token as a subprotocol",
    Effect.gen(function*() {
      const protocol = `bearer.${yield* ticket()}`
      const client = yield* connectTo("", { protocols: [protocol], headers: { origin: "https://evil.example" } })
      assert.strictEqual((yield* client.next).type, "ready")
      assert.strictEqual(client.socket.protocol, protocol)
    })
  )
})

describe("before the upgrade", () => {
  const refused = (query: string, options?: ConnectOptions) => refusalOf(connectTo(query, options))

  promise(
    "refuses a wrong format, a missing or foreign token, and merchant credentials",
    Effect.gen(function*() {
      const token = yield* ticket()
      const [head, payload] = token.split(".") as [string, string]
      const none = Buffer.from("{\"alg\":\"none\",\"typ\":\"JWT\"}").toString("base64url")
      assert.strictEqual(yield* refused(`format=event_v2&token=${token}`), "400 INVALID_FORMAT")
      assert.strictEqual(yield* refused("format=event_v1"), "401 TOKEN_INVALID")
      for (const bad of ["x", `${token}x`, `${head}.${payload}.`, `${none}.${payload}.`, "a".repeat(5_000)]) {
        assert.strictEqual(yield* refused(`token=${bad}`), "401 TOKEN_INVALID")
      }
      for (const name of ["x-api-key", "x-commerce-api-key", "authorization"]) {
        assert.strictEqual(yield* refused(`token=${token}`, { headers: { [name]: "k" } }), "403 CREDENTIAL_NOT_ALLOWED")
      }
    })
  )

  onTestClock(
    "refuses a token after an hour",
    Effect.gen(function*() {
      const token = yield* ticket()
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* refused(`token=${token}`), "401 TOKEN_EXPIRED")
    })
  )
})

describe("a stream is ended", () => {
  promise(
    "with 4400 for a malformed since",
    Effect.gen(function*() {
      const client = yield* connectTo(`token=${yield* ticket()}&since=evt_x`)
      assert.deepStrictEqual(yield* endOf(client), [4400, "INVALID_EVENT_ID"])
    })
  )

  promise(
    "with 1009 for a message over 4 KiB, and 4400 for a flood of small ones",
    Effect.gen(function*() {
      const big = yield* listening()
      big.socket.send("x".repeat(4_097))
      assert.deepStrictEqual(yield* endOf(big), [1009, undefined])
      const flood = yield* listening()
      for (let n = 0; n < 11; n++) flood.socket.send("{}")
      assert.deepStrictEqual(yield* endOf(flood), [4400, "RATE_LIMIT_EXCEEDED"])
    })
  )

  promise(
    "with 4429 when the session has five already, until one leaves",
    Effect.gen(function*() {
      const clients = yield* Effect.forEach(range(5), () => listening())
      const sixth = yield* connectTo(`token=${yield* ticket()}`)
      assert.deepStrictEqual(yield* endOf(sixth), [4429, "TOO_MANY_CONNECTIONS"])
      yield* listening("", otherId)
      clients[0]!.socket.close()
      yield* clients[0]!.closed
      let again = yield* connectTo(`token=${yield* ticket()}`)
      while ((yield* again.next).object === "ws_error") again = yield* connectTo(`token=${yield* ticket()}`)
      assert.strictEqual(again.frames[0].type, "ready")
    })
  )

  promise(
    "when it never reads, and the others go on",
    Effect.gen(function*() {
      const slow = yield* listening()
      const quick = yield* listening()
      slow.socket.pause()
      const sockets = yield* Sockets
      const frame = JSON.stringify({ pad: "x".repeat(50_000) })
      let sent = 0
      // Until the kernel's buffers and ours are full: the slow one is cut, and hears nothing more.
      while ((slow.socket as any)._socket.destroyed === false && sent < 2_000) {
        yield* sockets.send(invoiceId, () => frame)
        sent++
        yield* quick.next
        if (sent === 400) slow.socket.resume()
      }
      const { code } = yield* slow.closed
      assert.oneOf(code, [4409, 1006])
      assert.isBelow(slow.frames.length, sent)
      assert.strictEqual(quick.frames.length, sent + 2)
    })
  )

  onTestClock(
    "with 4401 when its token expires",
    Effect.gen(function*() {
      const client = yield* listening()
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* endOf(client), [4401, "TOKEN_EXPIRED"])
    })
  )

  onTestClock(
    "with 1000 a minute after the invoice is paid, unless it is unpaid again",
    Effect.gen(function*() {
      const client = yield* listening()
      yield* emit(invoice(1, { status: "paid" }), "invoice.paid")
      yield* client.next
      yield* TestClock.adjust("50 seconds")
      yield* emit(invoice(2, { status: "unpaid" }))
      // The stream knows of it, before more time passes.
      while (client.frames.at(-1).type !== "invoice.updated") yield* client.next
      yield* TestClock.adjust("30 seconds")
      yield* emit(invoice(3, { status: "expired" }), "invoice.expired")
      while (client.frames.at(-1).type !== "invoice.expired") yield* client.next
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(client.socket.readyState, WebSocket.OPEN)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* endOf(client), [1000, undefined])
    })
  )

  onTestClock(
    "with 4408 after two pings without a sign of life",
    Effect.gen(function*() {
      const lively = yield* listening()
      const dead = yield* connectTo(`token=${yield* ticket()}`)
      yield* dead.take(2)
      let pings = 0
      lively.socket.on("ping", () => pings++)
      ;(dead.socket as any)._autoPong = false
      for (let beat = 1; beat <= 3; beat++) {
        yield* TestClock.adjust("25 seconds")
        if (beat < 3) assert.deepInclude(yield* lively.next, { type: "heartbeat" })
        // The pong travels over a real socket: wait until it is there.
        while (pings < beat) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
      }
      assert.deepStrictEqual(yield* endOf(dead), [4408, "HEARTBEAT_MISSED"])
      assert.strictEqual(lively.socket.readyState, WebSocket.OPEN)
      // The server's own shutdown grace would wait on a clock that stands still.
      lively.socket.terminate()
      yield* lively.closed
    })
  )

  onTestClock(
    "with 1001 when the database has not answered for 5 s, and not before",
    Effect.gen(function*() {
      const { socket, ...client } = yield* listening()
      staleMillis = StreamRules.maximumStaleMillis - 1
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(socket.readyState, WebSocket.OPEN)
      staleMillis = StreamRules.maximumStaleMillis
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* endOf({ socket, ...client }), [1001, undefined])
    })
  )

  promise(
    "with 1001 when the service stops",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { closed } = yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* Layer.build(Layer.fresh(served.pipe(Layer.provideMerge(log(database)))))
        const { address } = Context.get(context, HttpServer.HttpServer)
        const token = yield* Effect.provideContext(ticket(), context)
        const socket = new WebSocket(
          `ws://127.0.0.1:${(address as { port: number }).port}${paymentSocketPath}?token=${token}`
        )
        const closed = new Promise<number>((resolve) => socket.on("close", (code) => resolve(code)))
        yield* Effect.promise(() => new Promise((resolve) => socket.once("message", resolve)))
        return { closed }
      }))
      assert.strictEqual(yield* Effect.promise(() => closed), 1001)
    })
  )
})
