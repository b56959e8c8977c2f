/**
 * Goal: an endpoint that fails is left in peace and probed as modules/docs/reference/webhooks.md#an-endpoint-that-fails
 * says, by all instances together; it costs nobody's attempts, is switched off in the end, and every attempt is on
 * record. Method: real instances, database and receivers; time is moved on the rows.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TransportFailed } from "../../../runtime/Webhooks.ts"
import { findEndpoint } from "../../../runtime/webhooks/Endpoints.ts"
import { exchange } from "../../../runtime/webhooks/DeliveryExchange.ts"
import { writeHealth } from "../../../runtime/webhooks/DeliveryRepo.ts"
import { answers, answersInTurn, makeReceiver } from "../../support/Receiver.ts"
import {
  attemptsOf,
  claimable,
  claimFor,
  deliverer,
  deliveries,
  emit,
  endpoint,
  endpointHealthOf,
  promise,
  start,
  transportOf,
  until,
  untilEndpointHealth,
  wake
} from "./Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"

const patient = (host: string) => settingsOf([host], { retryBaseSeconds: 3_600 })
const numbers = (amount: number) => Array.from({ length: amount }, (_, n) => n)

describe("an open breaker", () => {
  promise(
    "is every instance's: nothing is sent or spent; then one probe, the oldest event, for twice as long or for good",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const first = yield* start(deliverer(patient(receiver.host)))
      const { id } = yield* endpoint(receiver.url("/"))
      yield* Effect.forEach([1, 2, 3], (n) => emit(n))
      yield* until((rows) => rows.filter(({ status }) => status === "succeeded").length === 3)
      receiver.script("/", answers(500))
      // Each with its answer before the next, which could be under way as the breaker opens.
      const failed = yield* Effect.forEach(
        numbers(7),
        (n) =>
          Effect.tap(emit(10 + n), until((rows) => rows.filter(({ status }) => status === "retrying").length === n + 1))
      )
      const lane = yield* untilEndpointHealth(id, ({ open }) => open !== null)
      const sent = [...failed, ...yield* Effect.forEach(numbers(5), (n) => emit(20 + n))]
      assert.deepInclude(lane, { health: "failing", failures: 7, openings: 1 })
      assert.isAtMost(lane.open!, 30_000)
      assert.isAbove(lane.open!, 15_000, "30 s, less what it took to look")
      const second = yield* start(deliverer(patient(receiver.host)))
      yield* wake(1, first, second)
      assert.deepStrictEqual(yield* claimable, [])
      const waiting = (yield* deliveries).filter(({ status }) => status === "pending")
      assert.deepStrictEqual([waiting.length, new Set(waiting.map(({ attempt }) => attempt))], [5, new Set([0])])

      // The oldest event is not what was due first.
      yield* sql`update webhook_deliveries set due_at = now() - event_seq * interval '1 second' where status = 'pending'`
      const oldest = waiting.map(({ event }) => event).toSorted((a, b) =>
        sent.findIndex((e) => e.id === a) - sent.findIndex((e) => e.id === b)
      )
      const held: Array<() => void> = []
      receiver.script("/", (_, __, response) => void held.push(() => response.writeHead(500).end()))
      assert.lengthOf(receiver.arrivals(), 10)
      const timeIsUp = Effect.andThen(sql`update webhook_lanes set open_until = now()`, wake(1, first, second))
      yield* timeIsUp
      const probe = (yield* receiver.seen("/", 11)).at(-1)!
      assert.strictEqual(probe.headers["x-service-event-id"], oldest[0])
      yield* wake(1, first, second)
      assert.deepStrictEqual(yield* claimable, [])
      held[0]!()
      const again = yield* untilEndpointHealth(id, ({ openings }) => openings === 2)
      assert.isAtMost(again.open!, 60_000)
      assert.isAbove(again.open!, 30_000, "60 s, less what it took to look")
      assert.lengthOf(receiver.arrivals(), 11)

      receiver.script("/", answers(200))
      yield* timeIsUp
      yield* until((rows) => rows.filter(({ status }) => status === "succeeded").length === 3 + 4)
      assert.strictEqual(receiver.arrivals()[11]!.headers["x-service-event-id"], oldest[1])
      assert.lengthOf(receiver.arrivals(), 15)
      assert.deepInclude(yield* endpointHealthOf(id), {
        health: "healthy",
        failures: 0,
        failing: null,
        open: null,
        openings: 0
      })
    })
  )

  promise(
    "comes of five timeouts in a row, and not of four and four",
    Effect.gen(function*() {
      const says: Record<string, ReadonlyArray<boolean>> = {
        "http://dead/": numbers(8).map(() => false),
        "http://slow/": [1, 2, 3, 4, 0, 1, 2, 3, 4].map((n) => n === 0)
      }
      const asked = new Map<string, number>()
      yield* start(deliverer(
        patient("x"),
        transportOf(({ url }) =>
          Effect.suspend(() => {
            const n = asked.get(url) ?? 0
            asked.set(url, n + 1)
            return says[url]![n] ?
              Effect.succeed({ status: 200, retryAfter: null, body: "" })
              : Effect.fail(new TransportFailed({ reason: "no answer", isOurFault: false, timedOut: true }))
          })
        )
      ))
      const dead = yield* endpoint("http://dead/")
      const slow = yield* endpoint("http://slow/", { merchantId: 2 })
      yield* Effect.forEach(numbers(8), (n) => emit(n))
      yield* Effect.forEach(numbers(9), (n) => emit(n, 2))
      yield* until((rows) =>
        rows.filter(({ endpoint_id, status }) => endpoint_id === slow.id && status !== "pending").length === 9
      )
      yield* untilEndpointHealth(dead.id, ({ open }) => open !== null)
      assert.deepStrictEqual(Object.fromEntries(asked), { "http://dead/": 5, "http://slow/": 9 })
      assert.strictEqual((yield* endpointHealthOf(slow.id)).open, null)
      for (const { outcome, status, error } of yield* attemptsOf(dead.id)) {
        assert.deepStrictEqual([outcome, status, error], ["timed_out", null, "no answer"])
      }
    })
  )
})

describe("a lane that was let go of", () => {
  promise(
    "is nobody else's before what its attempts say of it is written",
    Effect.gen(function*() {
      const { id } = yield* endpoint("http://one/")
      yield* Effect.forEach([1, 2], (n) => emit(n))
      const [claimed] = yield* claimFor("first")
      const lease = claimed!.endpoint
      const { reports } = yield* exchange({
        results: [{
          delivery: claimed!,
          status: "retrying",
          attempts: 1,
          dueInMillis: 3_600_000,
          outcome: "failed",
          answerStatus: 500,
          error: null,
          latencyMillis: 1,
          response: ""
        }],
        released: [lease],
        claim: undefined
      })
      assert.deepStrictEqual(yield* claimable, [])
      assert.strictEqual(reports[0]!.endpointId, id)
      yield* writeHealth(reports.map((report) => ({ report, health: report.health, release: lease })))
      assert.lengthOf(yield* claimable, 1)
    })
  )
})

describe("an endpoint that fails", () => {
  promise(
    "only, for 5 days and 20 events, is disabled and what waits is canceled; sooner, fewer, or a success between: not",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      receiver.script("/", answers(500))
      receiver.script("/once", answersInTurn(200, 500))
      const made = yield* Effect.forEach([
        { events: 19, since: "5 days", path: "/" },
        { events: 18, since: "5 days", path: "/" },
        { events: 19, since: "119 hours 59 minutes", path: "/" },
        { events: 30, since: "6 days", path: "/once" }
      ], ({ events, path, since }, n) =>
        Effect.gen(function*() {
          const merchantId = n + 1
          const { id } = yield* endpoint(receiver.url(path), { merchantId })
          yield* Effect.forEach(numbers(events), (each) => emit(each, merchantId))
          // Each event was tried four times, half of them a day ago: what counts is events.
          yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
          SELECT ${merchantId}, id, n, ${id}, now() - n * interval '1 day', 'failed', 1
          FROM webhook_deliveries, generate_series(1, 4) n WHERE merchant_id = ${merchantId}`
          yield* sql`UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, attempt = 4 WHERE merchant_id = ${merchantId}`
          yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, consecutive_failures, failing_since)
          VALUES (${merchantId}, ${id}, 'failing', 70, now() - ${since}::interval)`
          return { id, merchantId }
        }))
      yield* Effect.forEach(made, ({ merchantId }) => Effect.andThen(emit(100, merchantId), emit(101, merchantId)))
      // One is tried, one waits.
      yield* sql`UPDATE webhook_deliveries d SET due_at = now() + interval '1 h' FROM (
      SELECT DISTINCT ON (merchant_id) id FROM webhook_deliveries WHERE due_at IS NOT NULL ORDER BY merchant_id, event_ms DESC, event_seq DESC
    ) l WHERE d.id = l.id AND d.merchant_id < 4`
      yield* start(deliverer(patient(receiver.host)))
      yield* until((rows) =>
        rows.filter(({ status }) => status === "canceled").length === 2 &&
        rows.filter(({ status }) => status === "retrying").length === 3
      )
      const states = yield* Effect.forEach(made, ({ id, merchantId }) => findEndpoint(merchantId, id))
      assert.deepStrictEqual(states.map((row) => [row!.status, row!.disabledReason]), [
        ["disabled", "failing"],
        ["enabled", null],
        ["enabled", null],
        ["enabled", null]
      ])
      const lane = yield* untilEndpointHealth(made[3]!.id, ({ failures }) => failures === 1)
      assert.isAbove(lane.failing!, -60_000)
      assert.strictEqual((yield* emit(102, 1)).pendingWebhooks, 0)
    })
  )

  promise(
    "while others are in flight is disabled by 410: those end as they end, on record, and nothing claimed ahead is sent",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(patient(receiver.host)))
      const { id } = yield* endpoint(receiver.url("/"))
      yield* emit(0)
      yield* until(([row]) => row?.status === "succeeded")
      const held: Array<(status: number) => void> = []
      receiver.script("/", (_, __, response) => void held.push((status) => response.writeHead(status).end("so")))
      yield* Effect.forEach(numbers(10), (n) => emit(1 + n))
      yield* receiver.seen("/", 5)
      held[0]!(410)
      yield* Effect.repeat(findEndpoint(1, id), { until: (row) => row?.status === "disabled" })
      yield* until((rows) => rows.filter(({ status }) => status === "canceled").length === 9)
      held[1]!(200)
      held[2]!(500)
      held[3]!(404)
      yield* Effect.repeat(attemptsOf(id), { until: ({ length }) => length === 5 })
      const rows = yield* deliveries
      assert.deepStrictEqual(
        Object.entries(Object.groupBy(rows, ({ attempt, status }) => `${status} ${attempt}`)).map((
          [key, all]
        ) => [key, all!.length]).toSorted(),
        [["canceled 0", 6], ["canceled 1", 2], ["failed 1", 1], ["succeeded 1", 2]]
      )
      assert.deepStrictEqual((yield* attemptsOf(id)).map(({ status }) => status).toSorted(), [200, 200, 404, 410, 500])
      assert.lengthOf(receiver.arrivals(), 5)
    })
  )
})

describe("attempts on record", () => {
  promise(
    "are the real ones, each with status, latency, error and the first 4 KiB of the answer as text",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      const { id } = yield* endpoint(receiver.url("/"))
      receiver.script("/", (n, _, response) => {
        if (n === 1) {
          response.writeHead(503).end(Buffer.concat([Buffer.from([0, 0xff, 0xc3, 0x28]), Buffer.alloc(9_000, "é")]))
        } else if (n === 2) response.destroy()
        else setTimeout(() => response.writeHead(201).end("thanks"), 60)
      })
      const began = performance.now()
      yield* emit(1)
      yield* until(([row]) => row?.status === "succeeded")
      const tookMillis = performance.now() - began
      const [bad, none, good] = yield* attemptsOf(id)
      assert.deepInclude(bad, { attempt: 1, outcome: "failed", status: 503, error: null })
      assert.match(bad!.response!, /^\ufffd\ufffd\(é+$/)
      assert.isAtMost(Buffer.byteLength(bad!.response!), 4_096)
      assert.isAbove(Buffer.byteLength(bad!.response!), 4_090)
      assert.deepInclude(none, { attempt: 2, outcome: "failed", status: null, response: null })
      assert.match(none!.error!, /UND_ERR_SOCKET/)
      assert.deepInclude(good, { attempt: 3, outcome: "succeeded", status: 201, error: null, response: "thanks" })
      assert.isAtLeast(good!.latency_ms, 59)
      assert.isBelow(good!.latency_ms, tookMillis)
    })
  )

  promise(
    "are none for faults of our own, and none is lost for what a transport says",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      let faults = 0
      const texts = `${"x".repeat(499)}\u{1f600}`
      const context = yield* start(deliverer(
        settingsOf([]),
        transportOf(({ attempt }) =>
          Effect.suspend(() => {
            if (faults++ < 2) {
              return Effect.fail(new TransportFailed({ reason: "\u0000ours", isOurFault: true, timedOut: false }))
            }
            if (attempt === 1) {
              return Effect.fail(new TransportFailed({ reason: texts, isOurFault: false, timedOut: false }))
            }
            return Effect.succeed({ status: attempt === 2 ? 500 : 200, retryAfter: "3600", body: "a\u0000b\ud800" })
          })
        )
      ))
      const { id } = yield* endpoint("http://odd/")
      yield* emit(1)
      const hurry = sql`UPDATE webhook_deliveries SET due_at = now() WHERE due_at > now()`
      yield* Effect.raceFirst(
        until(([row]) => row?.status === "succeeded"),
        Effect.forever(Effect.andThen(Effect.andThen(hurry, wake(1, context)), Effect.sleep(20)))
      )
      const attempts = yield* attemptsOf(id)
      assert.deepStrictEqual(
        attempts.map(({ attempt, error, response }) => [attempt, error?.length ?? null, response]),
        [
          [1, 500, null],
          [2, null, "ab\ufffd"],
          [3, null, "ab\ufffd"]
        ]
      )
      assert.deepInclude((yield* deliveries)[0], { attempt: 3, due: null })
    })
  )
})
