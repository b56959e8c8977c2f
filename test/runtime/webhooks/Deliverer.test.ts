/**
 * Goal: what a commit queues reaches its endpoint, signed, at least once, at most four times, whatever happens between.
 * Method: the real commit log, bus, queue and transport against real servers on this machine.
 */
import { assert, describe } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { GuardRefused } from "../../../modules/transports/https/EgressGuard.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { TransportFailed, Webhooks } from "../../../runtime/Webhooks.ts"
import { attemptTimeoutMillis } from "../../../runtime/webhooks/Deliverer.ts"
import { findEndpoint } from "../../../runtime/webhooks/Endpoints.ts"
import { advanceRetries } from "../../../runtime/webhooks/DeliveryRepo.ts"
import { secretOf } from "../../../runtime/webhooks/Signature.ts"
import { eventText } from "../../../schemas/Event.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { answers, answersInTurn, makeReceiver, neverAnswers, type ReceivedRequest } from "../../support/Receiver.ts"
import {
  allAre,
  deliverer,
  deliveries,
  emit,
  endpoint,
  patientTransport,
  promise,
  secret,
  start,
  until,
  wake
} from "./Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"

/** As the oldest readers of the contract verify: the timestamp header, a dot, the raw body, the secret as written. */
const verifyPlain = ({ body, headers }: ReceivedRequest, key: string, header = "x-service-signature") =>
  assert.strictEqual(
    headers[header],
    createHmac("sha256", key).update(`${headers["x-service-timestamp"]}.`).update(body).digest("hex")
  )

describe("a delivery", () => {
  for (const scheme of ["http", "https"] as const) {
    promise(
      `arrives over ${scheme} with the event's own text, verified by both schemes`,
      Effect.gen(function*() {
        const receiver = yield* makeReceiver(scheme)
        yield* start(deliverer(settingsOf([receiver.host])))
        const { id } = yield* endpoint(receiver.url("/hook?a=1"))
        const event = yield* emit(1)
        const [arrival] = yield* receiver.seen("/hook?a=1", 1)
        assert.strictEqual(arrival!.body.toString(), eventText(event, 1))
        verifyPlain(arrival!, secret)
        assert.deepInclude(new Webhook(secret).verify(arrival!.body.toString(), arrival!.headers as never), {
          id: event.id
        })
        assert.throws(() => new Webhook(secret).verify(`${arrival!.body} `, arrival!.headers as never))
        const [row] = yield* until(allAre("succeeded"))
        const { host: _, connection: __, "content-length": ___, ...headers } = arrival!.headers
        assert.deepStrictEqual(Object.keys(headers), [
          "content-type",
          "user-agent",
          "x-service-event",
          "x-service-event-id",
          "x-service-timestamp",
          "x-service-signature",
          "x-service-network-environment",
          "x-service-delivery-id",
          "x-service-attempt",
          "webhook-id",
          "webhook-timestamp",
          "webhook-signature"
        ])
        assert.deepInclude(headers, {
          "content-type": "application/json",
          "user-agent": "Service-Webhooks/1",
          "x-service-event": "invoice.updated",
          "x-service-event-id": event.id,
          "x-service-network-environment": "devnet",
          "x-service-delivery-id": `whd_${row!.id}`,
          "x-service-attempt": "1"
        })
        assert.deepInclude(row, { endpoint_id: id, attempt: 1, last_status: 200, due: null })
      })
    )
  }

  promise(
    "is counted for every attempt it spent, by how that ended, and for no other",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      receiver.script("/flaky", answersInTurn(500, 503, 200))
      receiver.script("/dead", answers(404))
      yield* endpoint(receiver.url("/flaky"))
      yield* endpoint(receiver.url("/dead"))
      let faults = 2
      const moody = Layer.effectDiscard(Effect.gen(function*() {
        yield* (yield* Webhooks).register({
          name: "moody",
          schemes: ["http:"],
          check: () => Effect.void,
          send: ({ url }) =>
            Effect.suspend(() =>
              faults-- > 0
                ? Effect.fail(new TransportFailed({ reason: "resolver", isOurFault: true, timedOut: false }))
                : Effect.promise(async () => {
                  const response = await fetch(url, { method: "POST" })
                  return { status: response.status, retryAfter: null, body: "" }
                })
            )
        })
      }))
      yield* emit(1)
      yield* sql`update webhook_deliveries set due_at = now()`
      yield* start(deliverer(settingsOf([receiver.host]), moody))
      const finished = (rows: ReadonlyArray<{ readonly status: string }>) =>
        rows.every(({ status }) => status === "succeeded" || status === "failed")
      // Rows that the service has in hand are left alone: both would wait for each other.
      const hurry = sql`update webhook_deliveries set due_at = now() where id in (
        select id from webhook_deliveries where status in ('pending', 'retrying') for update skip locked)`
      yield* Effect.raceFirst(until(finished), Effect.forever(Effect.andThen(hurry, Effect.sleep(20))))
      const rows = yield* sql<{ key: string; count: bigint }>`select key, sum(count)::bigint as count from rollups
      where sum = 'webhooks.attempts' and width = 21600 and merchant_id = 1 and environment = 'devnet'
      group by key order by key`
      assert.deepStrictEqual(rows, [{ key: "standard:failed", count: 6n }, { key: "standard:succeeded", count: 1n }])
      assert.isBelow(faults, 0)
    })
  )

  promise(
    "is told in the version its endpoint is pinned to, old and new side by side, in every attempt",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      receiver.script("/old", answersInTurn(500, 200))
      yield* endpoint(receiver.url("/old"), { apiVersion: "2026-01-15" })
      yield* endpoint(receiver.url("/new"))
      const token = { id: 1, symbol: "USDC", address: null, decimals: 6 }
      const payment = { object: "invoice_payment", id: "p1", invoice_id: "i1" }
      const { events: [event] } = yield* (yield* Commit).append({
        merchantId: 1,
        environment: "devnet",
        cause: noCause,
        writes: [],
        events: [{
          type: "invoice_payment.created",
          object: { ...payment, metadata: { confirmations: 1, token } },
          previousAttributes: {}
        }]
      })
      yield* until(allAre("succeeded"))
      const bodies = (path: string) => receiver.arrivals(path).map(({ body }) => body.toString())
      const old = eventText(event!, 2).replace(newestVersion, "2026-01-15").replace(
        `,"token":${JSON.stringify(token)}`,
        ""
      )
      assert.deepStrictEqual(bodies("/old"), [old, old])
      assert.deepStrictEqual(bodies("/new"), [eventText(event!, 2)])
      for (const arrival of receiver.arrivals("/old")) verifyPlain(arrival, secret)
    })
  )

  promise(
    "is tried four times and then failed, the same bytes each time, signed afresh",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      receiver.script("/bad", answersInTurn(500, 404, 302, 503))
      yield* endpoint(receiver.url("/bad"))
      const event = yield* emit(1)
      const [row] = yield* until(allAre("failed"))
      assert.deepInclude(row, { attempt: 4, last_status: 503, due: null })
      const arrivals = receiver.arrivals("/bad")
      assert.deepStrictEqual(arrivals.map(({ headers }) => headers["x-service-attempt"]), ["1", "2", "3", "4"])
      assert.deepStrictEqual(new Set(arrivals.map(({ body }) => body.toString())), new Set([eventText(event, 1)]))
      assert.strictEqual(new Set(arrivals.map(({ headers }) => headers["x-service-timestamp"])).size, 4)
      for (const arrival of arrivals) verifyPlain(arrival, secret)
      // A redirect is not followed.
      assert.strictEqual(receiver.arrivals().length, 4)
    })
  )

  promise(
    "succeeds when a retry does",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      receiver.script("/slow", answersInTurn(500, 500, 204))
      yield* endpoint(receiver.url("/slow"))
      yield* emit(1)
      const [row] = yield* until(allAre("succeeded"))
      assert.deepInclude(row, { attempt: 3, last_status: 204 })
    })
  )

  promise(
    "waits as long as Retry-After says",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      receiver.script("/busy", answers(429, { "retry-after": "1800" }))
      yield* endpoint(receiver.url("/busy"))
      yield* emit(1)
      const [row] = yield* until(allAre("retrying"))
      assert.isAbove(row!.due!, 1_790_000)
      assert.isAtMost(row!.due!, 1_800_000)
    })
  )

  promise(
    "is tried again at the next scan where its merchant's clock has moved past its time",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host], { retryBaseSeconds: 3_600 })))
      receiver.script("/later", answersInTurn(500, 200))
      yield* endpoint(receiver.url("/later"))
      yield* emit(1)
      yield* until(allAre("retrying"))
      yield* advanceRetries(1, 2 * 3_600)
      const [row] = yield* until(allAre("succeeded"))
      assert.deepInclude(row, { attempt: 2, last_status: 200 })
    })
  )

  promise(
    "fails on an answer that has no end, and keeps nothing of a refused address",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host], { retryBaseSeconds: 3_600 })))
      receiver.script("/endless", (_, __, response) => {
        const more = () => {
          while (response.writable && response.write(Buffer.alloc(16_384, 65)));
        }
        response.on("drain", more)
        more()
      })
      yield* endpoint(receiver.url("/endless"))
      yield* endpoint(receiver.url("/elsewhere").replace("localhost", "127.0.0.1"))
      yield* endpoint("https://localhost.:1/")
      yield* endpoint(receiver.url("/reset"))
      receiver.script("/reset", (_, __, response) => response.destroy())
      yield* emit(1)
      const rows = yield* until(allAre("retrying"))
      assert.match(rows[0]!.last_error!, /longer than 65536/)
      assert.match(rows[1]!.last_error!, /https/)
      assert.match(rows[2]!.last_error!, /not a public name/)
      assert.match(rows[3]!.last_error!, /UND_ERR_SOCKET/)
      assert.strictEqual(receiver.arrivals("/elsewhere").length, 0)
    })
  )

  promise(
    "carries the old secret's signature while a rotation overlaps, and not after",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      const old = secretOf(Buffer.alloc(32, 9))
      const sealedPreviousSecret = (yield* Secrets).seal("webhook", old)
      yield* endpoint(receiver.url("/overlap"), { sealedPreviousSecret, previousSecretExpiresAt: 4_000_000_000 })
      yield* endpoint(receiver.url("/over"), { sealedPreviousSecret, previousSecretExpiresAt: 1 })
      yield* emit(1)
      const [overlap] = yield* receiver.seen("/overlap", 1)
      verifyPlain(overlap!, old, "x-service-signature-previous")
      for (const key of [secret, old]) new Webhook(key).verify(overlap!.body.toString(), overlap!.headers as never)
      const [over] = yield* receiver.seen("/over", 1)
      assert.isUndefined(over!.headers["x-service-signature-previous"])
      assert.throws(() => new Webhook(old).verify(over!.body.toString(), over!.headers as never))
    })
  )

  promise(
    "answered 410 disables its endpoint at once and cancels what waits",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      receiver.script("/gone", answers(410))
      const { id } = yield* endpoint(receiver.url("/gone"))
      yield* Effect.forEach([1, 2, 3, 4, 5], (n) => emit(n))
      yield* start(deliverer(settingsOf([receiver.host])))
      const rows = yield* until((found) => found.every(({ status }) => status === "failed" || status === "canceled"))
      assert.deepStrictEqual(rows.map(({ status }) => status).toSorted(), [
        "canceled",
        "canceled",
        "canceled",
        "canceled",
        "failed"
      ])
      assert.deepInclude(yield* findEndpoint(1, id), { status: "disabled", disabledReason: "gone", version: 2 })
      assert.strictEqual((yield* emit(6)).pendingWebhooks, 0)
      assert.strictEqual(receiver.arrivals().length, 1)
    })
  )

  promise(
    "spends no attempt on a fault of our own",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      let failedAtMillis: number | undefined
      const broken = Layer.effectDiscard(Effect.flatMap(Webhooks, (webhooks) =>
        webhooks.register({
          name: "broken",
          schemes: ["http:"],
          check: () => Effect.void,
          send: () =>
            Effect.suspend(() => {
              failedAtMillis ??= Date.now()
              return Effect.fail(new TransportFailed({ reason: "no resolver", isOurFault: true, timedOut: false }))
            })
        })))
      yield* start(deliverer(settingsOf([receiver.host]), broken))
      yield* endpoint(receiver.url("/"))
      yield* emit(1)
      const [row] = yield* until(([found]) => found?.last_error === "no resolver" && found.status === "pending")
      assert.deepInclude(row, { attempt: 0 })
      const [due] = yield* (yield* SqlClient.SqlClient)<{ millis: number }>`
        SELECT extract(epoch FROM due_at)::float8 * 1000 AS millis FROM webhook_deliveries`
      // Five seconds later, a fifth more or less: not by when somebody looks, which may be late.
      assert.isAtLeast(due!.millis - failedAtMillis!, 4_000)
    })
  )
})

describe("the queue", () => {
  promise(
    "is resumed from its rows by the next instance, in-flight attempts included",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const late: Array<() => void> = []
      receiver.script("/hang", (n, _, response) => {
        if (n === 1) late.push(() => response.writeHead(500).end())
        else response.writeHead(200).end()
      })
      const first = yield* Scope.make()
      yield* Scope.provide(start(deliverer(settingsOf([receiver.host]))), first)
      yield* endpoint(receiver.url("/hang"))
      const sent = yield* Effect.forEach([1, 2, 3], (n) => emit(n))
      yield* receiver.seen("/hang", 1)
      // A kill leaves the row leased: the lease ends, here by hand, and the row is due again.
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE webhook_lanes SET held_until = now()`
      yield* start(deliverer(settingsOf([receiver.host])))
      yield* until(allAre("succeeded"))
      assert.sameMembers(
        receiver.arrivals().map(({ headers }) => headers["x-service-event-id"]!),
        [sent[0]!.id, ...sent.map(({ id }) => id)]
      )
      const before = yield* deliveries
      // The first instance hears of its attempt late: its fencing token is old, so the result changes nothing.
      for (const answer of late) answer()
      yield* Scope.close(first, Exit.void)
      assert.deepStrictEqual(yield* deliveries, before)
    })
  )

  promise(
    "is given back at once by a stop",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const asked = Promise.withResolvers<void>()
      const stuck = Layer.effectDiscard(Effect.flatMap(Webhooks, (webhooks) =>
        webhooks.register({
          name: "stuck",
          schemes: ["http:"],
          check: () => Effect.void,
          send: () => Effect.andThen(Effect.sync(() => asked.resolve()), Effect.never)
        })))
      const first = yield* Scope.make()
      yield* Scope.provide(start(deliverer(settingsOf([receiver.host]), stuck)), first)
      yield* endpoint(receiver.url("/"))
      yield* emit(1)
      yield* Effect.promise(() => asked.promise)
      yield* Scope.close(first, Exit.void)
      const [row] = yield* deliveries
      assert.deepInclude(row, { status: "pending", attempt: 0 })
      assert.isAtMost(row!.due!, 0)
      yield* start(deliverer(settingsOf([receiver.host])))
      yield* until(allAre("succeeded"))
    })
  )

  promise(
    "is left to others once an instance drains, which still hears its attempts' answers",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const asked = Promise.withResolvers<void>()
      const said = yield* Deferred.make<void>()
      const slow = Layer.effectDiscard(Effect.flatMap(Webhooks, (webhooks) =>
        webhooks.register({
          name: "slow",
          schemes: ["http:"],
          check: () => Effect.void,
          send: () =>
            Effect.sync(() => asked.resolve()).pipe(
              Effect.andThen(Deferred.await(said)),
              Effect.as({ status: 200, retryAfter: null, body: "" })
            )
        })))
      const first = yield* start(deliverer(settingsOf([receiver.host]), slow, attemptTimeoutMillis))
      yield* endpoint(receiver.url("/"))
      yield* emit(1)
      yield* Effect.promise(() => asked.promise)
      const drained = yield* Effect.forkChild(Context.get(first, Webhooks).drain, { startImmediately: true })
      yield* endpoint(receiver.url("/"), { merchantId: 2 })
      yield* emit(2, 2)
      yield* wake(2, first)
      assert.strictEqual(drained.pollUnsafe(), undefined)
      yield* Deferred.succeed(said, undefined)
      yield* Fiber.join(drained)
      const count = (status: string) =>
        Effect.map(deliveries, (rows) => rows.filter((row) => row.status === status).length)
      assert.deepStrictEqual([yield* count("succeeded"), yield* count("pending")], [1, 1])
      yield* emit(3, 2)
      yield* wake(2, first)
      // Time to claim more, were it to.
      yield* Effect.sleep(100)
      yield* start(deliverer(settingsOf([receiver.host])))
      yield* until(allAre("succeeded"))
      assert.lengthOf(receiver.arrivals(), 2, "the other one's")
    })
  )

  promise(
    "is shared by two instances without one delivery being sent twice",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const endpoints = 8
      const events = 25
      for (let n = 0; n < endpoints; n++) yield* endpoint(receiver.url(`/${n}`))
      yield* Effect.all([1, 2].map(() => start(deliverer(settingsOf([receiver.host])))), { concurrency: 2 })
      yield* Effect.forEach(Array.from({ length: events }, (_, n) => n), (n) => emit(n), { concurrency: 8 })
      yield* until((rows) => rows.length === endpoints * events && allAre("succeeded")(rows))
      const ids = receiver.arrivals().map(({ headers }) => headers["x-service-delivery-id"])
      assert.strictEqual(ids.length, endpoints * events)
      assert.strictEqual(new Set(ids).size, endpoints * events)
    })
  )

  promise(
    "never has more than four in flight to an endpoint, over all instances",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      let open = 0
      let most = 0
      const waiting: Array<() => void> = []
      receiver.script("/", (n, _, response) => {
        most = Math.max(most, ++open)
        const finish = () => {
          open--
          response.writeHead(200).end()
        }
        // Held back until four are open, then let go: the limit is reached, and passed if it can be.
        if (n === 1) return finish()
        waiting.push(finish)
        if (waiting.length >= 4) setTimeout(() => waiting.splice(0).forEach((each) => each()), 50)
      })
      yield* endpoint(receiver.url("/"))
      yield* Effect.forEach(Array.from({ length: 41 }, (_, n) => n), (n) => emit(n), { concurrency: 8 })
      yield* Effect.all([1, 2].map(() => start(deliverer(settingsOf([receiver.host])))), { concurrency: 2 })
      yield* until(allAre("succeeded"))
      assert.strictEqual(most, 4)
    })
  )

  promise(
    "of a dead endpoint delays no other",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const dead = 30
      for (let n = 0; n < dead; n++) {
        receiver.script(`/dead/${n}`, neverAnswers)
        yield* endpoint(receiver.url(`/dead/${n}`), { filters: ["*"] })
      }
      yield* Effect.forEach(Array.from({ length: 10 }, (_, n) => n), (n) => emit(n), { concurrency: 8 })
      yield* start(deliverer(settingsOf([receiver.host]), patientTransport))
      yield* endpoint(receiver.url("/alive"), { merchantId: 2 })
      yield* Effect.forEach(Array.from({ length: 10 }, (_, n) => n), (n) => emit(n, 2), { concurrency: 1 })
      yield* receiver.seen("/alive", 10)
      assert.isTrue(
        receiver.arrivals().every(({ endedAt, path }) => path === "/alive" || endedAt === null),
        "all dead ones still wait"
      )
      assert.isAtMost(receiver.arrivals().length, 10 + dead)
    })
  )
})

describe("a deployment", () => {
  promise(
    "that serves mainnet refuses to start with local receivers",
    Effect.gen(function*() {
      const refused = yield* Effect.flip(
        start(deliverer(settingsOf(["localhost:4000"], { environments: ["devnet", "mainnet"] })))
      )
      assert.instanceOf(refused, GuardRefused)
      yield* start(deliverer(settingsOf([], { environments: ["mainnet"] })))
    })
  )

  promise(
    "accepts endpoint URLs by the guard's rules",
    Effect.gen(function*() {
      const context = yield* start(deliverer(settingsOf(["localhost:4000"])))
      const check = (url: string) =>
        Effect.flatMap(Webhooks, (webhooks) => webhooks.checkUrl(url, { merchantId: 1, environment: "devnet" })).pipe(
          Effect.provideContext(context)
        )
      yield* check("http://localhost:4000/hooks")
      for (
        const url of ["http://localhost:4001/", "https://127.0.0.1/", "http://shop.example/", "https://127.0.0.1:3000/"]
      ) {
        assert.deepInclude(yield* Effect.flip(check(url)), { code: "WEBHOOK_URL_INVALID", param: "url" })
      }
    })
  )
})
