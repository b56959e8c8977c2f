/**
 * Goal: a merchant sees what became of every delivery, and what it sends again goes out once, in order, to nobody else.
 * Method: the real routes over PostgreSQL, with rows in every state put there by hand; what a replay must queue is
 * worked out anew from modules/docs/reference/webhooks.md#replay.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeRepo } from "../../../modules/webhooks/repo.ts"
import { endpointFilters, readReplay } from "../../../modules/webhooks/rules.ts"
import { eventTypes, isOptIn } from "../../../schemas/Event.ts"
import { selects } from "../../../schemas/Webhook.ts"
import {
  ask,
  assertOk,
  delivery,
  endpoint,
  event,
  queue,
  refusal,
  webhooksApi,
  wokenMerchants
} from "./WebhooksService.ts"

const idsOf = (page: any): ReadonlyArray<string> => page.data.map(({ id }: any) => id)

/** Every page in one direction, from a delivery on or, downwards, from the top. */
const pages = (who: string, path: string, cursor: "starting_after" | "ending_before", from?: string) =>
  Effect.gen(function*() {
    const found: Array<ReadonlyArray<string>> = []
    let after = from
    for (;;) {
      const page = assertOk(yield* ask(who, `${path}${after === undefined ? "" : `&${cursor}=${after}`}`))
      found.push(idsOf(page))
      if (!page.has_more) return found
      after = cursor === "starting_after" ? idsOf(page).at(-1) : idsOf(page)[0]
    }
  })

layer(webhooksApi)("deliveries of an endpoint", (it) => {
  it.effect("are listed newest first, each once on the way down and on the way up", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("1")
      const { id: other } = yield* endpoint("1")
      const made: Array<{ id: string; at: number }> = []
      for (let n = 1; n <= 23; n++) {
        yield* event(1, n)
        // Several of one moment, told apart to the microsecond or by their ids.
        const at = 1_000_000 + Math.floor(n / 4) * 1_000 + 0.25
        made.push({ id: yield* delivery(1, id, n, "succeeded", at), at })
        yield* delivery(1, other, n, "succeeded", at)
      }
      const expected = made.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map((each) => each.id)
      for (const limit of [1, 4, 10, 23, 100]) {
        const down = yield* pages("1", `/${id}/deliveries?limit=${limit}`, "starting_after")
        assert.deepStrictEqual(down.flat(), expected)
        const up = yield* pages("1", `/${id}/deliveries?limit=${limit}`, "ending_before", expected.at(-1))
        assert.deepStrictEqual(up.toReversed().flat(), expected.slice(0, -1))
      }
      assert.lengthOf(idsOf(assertOk(yield* ask("1", `/${id}/deliveries`))), 10)
    }))

  it.effect("are found by state, event, type and time, and every bad question has its code", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("2")
      const found = (query: string) =>
        Effect.map(ask("2", `/${id}/deliveries?limit=100&${query}`), (page) => idsOf(assertOk(page)))
      const statuses = ["pending", "delivering", "succeeded", "retrying", "failed", "canceled"]
      const types = [
        "invoice.paid",
        "invoice.created",
        "invoice_payment.created",
        "commerce.order.updated",
        "test.ping"
      ]
      const rows: Array<{ id: string; status: string; type: string; ms: number; event: string }> = []
      for (let n = 0; n < 30; n++) {
        const [status, type, ms] = [statuses[n % 6]!, types[n % 5]!, 1_000 * (n + 1)]
        const at = yield* event(2, ms, { type })
        rows.push({ id: yield* delivery(2, id, ms, status), status, type, ms, event: at })
      }
      rows.reverse()
      const those = (is: (row: typeof rows[number]) => boolean) => rows.filter(is).map((row) => row.id)
      for (const status of statuses) {
        assert.deepStrictEqual(
          yield* found(`status=${status}`),
          those((row) => row.status === status)
        )
      }
      for (
        const filter of [
          "invoice.paid",
          "invoice.*",
          "*",
          "commerce.*",
          "invoice.lost",
          "test.ping",
          "invoice_payment.*"
        ]
      ) {
        assert.deepStrictEqual(yield* found(`type=${filter}`), those(({ type }) => selects([filter], type)), filter)
      }
      assert.deepStrictEqual(
        yield* found("type=invoice.paid,test.ping&status=failed"),
        those(({ status, type }) => status === "failed" && ["invoice.paid", "test.ping"].includes(type))
      )
      assert.deepStrictEqual(yield* found(`event_id=${rows[7]!.event}`), [rows[7]!.id])
      assert.deepStrictEqual(yield* found("event_id=evt_7-7"), [])
      assert.deepStrictEqual(yield* found("created_gte=20"), those(({ ms }) => ms >= 20_000))
      assert.deepStrictEqual(yield* found("created_gte=1970-01-01T00:00:19.5Z"), those(({ ms }) => ms >= 20_000))
      const { id: elsewhere } = yield* endpoint("2")
      const foreign = yield* delivery(2, elsewhere, 1_000, "failed")
      for (
        const [query, code] of [
          ["status=lost", "VALIDATION_ERROR status"],
          ["event_id=nonsense", "INVALID_EVENT_ID event_id"],
          ["type=invoice.pa*", "INVALID_EVENT_TYPE type"],
          ["type=", "INVALID_EVENT_TYPE type"],
          [`type=${"invoice.paid,".repeat(20)}*`, "INVALID_EVENT_TYPE type"],
          ["created_gte=soon", "VALIDATION_ERROR created_gte"],
          ["limit=0", "INVALID_LIMIT limit"],
          ["limit=101", "INVALID_LIMIT limit"],
          ["starting_after=nonsense", "INVALID_CURSOR starting_after"],
          ["ending_before=whd_1", "INVALID_CURSOR ending_before"],
          [`starting_after=${foreign}`, "INVALID_CURSOR starting_after"],
          ["starting_after=whd_550e8400-e29b-41d4-a716-446655440000", "INVALID_CURSOR starting_after"],
          [`starting_after=${rows[0]!.id}&ending_before=${rows[0]!.id}`, "INVALID_CURSOR ending_before"]
        ] as const
      ) assert.strictEqual(refusal(yield* ask("2", `/${id}/deliveries?${query}`)), `400 ${code}`, query)
    }))

  it.effect("are told with every attempt: when, how it ended, and what was answered", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* endpoint("3")
      const eventId = yield* event(3, 5_000)
      const made = yield* delivery(3, id, 5_000, "retrying")
      const body = "<script>alert(1)</script>\u2028\"".repeat(100)
      yield* sql`UPDATE webhook_deliveries SET attempt = 2, last_status = 500, last_latency_ms = 7, due_at = to_timestamp(77.9)
        WHERE id = ${made.slice(4)}::uuid`
      yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, status, error, latency_ms, response)
        VALUES (3, ${made.slice(4)}::uuid, 2, ${id}, to_timestamp(8.9), 'failed', 500, NULL, 7, ${body}),
          (3, ${
        made.slice(4)
      }::uuid, 1, ${id}, to_timestamp(6), 'timed_out', NULL, 'no answer in 10000 ms', 10000, NULL)`
      const shown = {
        id: made,
        object: "webhook_delivery",
        endpoint_id: id,
        event_id: eventId,
        event_type: "invoice.paid",
        status: "retrying",
        attempt_count: 2,
        next_attempt_at: 77,
        response_status: 500,
        error: null,
        latency_ms: 7,
        created_at: 5,
        finished_at: null
      }
      assert.deepStrictEqual(assertOk(yield* ask("3", `/${id}/deliveries`)), {
        object: "list",
        data: [shown],
        has_more: false
      })
      assert.deepStrictEqual(assertOk(yield* ask("3", `/deliveries/${made}`)), {
        ...shown,
        attempts: [
          {
            number: 1,
            status: "timed_out",
            response_status: null,
            error: "no answer in 10000 ms",
            latency_ms: 10_000,
            response_body: null,
            ended_at: 6
          },
          {
            number: 2,
            status: "failed",
            response_status: 500,
            error: null,
            latency_ms: 7,
            response_body: body,
            ended_at: 8
          }
        ]
      })
      const others = ["3m", "3c", "4", "w4"]
      for (const who of others) {
        for (const path of ["", "/redeliver"]) {
          const sent = path === "" ? {} : { method: "POST" }
          assert.strictEqual(
            refusal(yield* ask(who, `/deliveries/${made}${path}`, sent)),
            "404 DELIVERY_NOT_FOUND null",
            who
          )
        }
      }
    }))

  it.effect("of events that the endpoint hears no more of, since it was moved to another environment, are shown to nobody", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("w4", { environment: null })
      yield* event(4, 1, { environment: "mainnet" })
      yield* event(4, 2)
      const mainnet = yield* delivery(4, id, 1, "failed")
      const devnet = yield* delivery(4, id, 2, "failed")
      assert.sameMembers([...idsOf(assertOk(yield* ask("w4", `/${id}/deliveries`)))], [devnet, mainnet])
      assertOk(yield* ask("w4", `/${id}`, { method: "PATCH", body: { environment: "devnet" } }))
      for (const who of ["4", "w4"]) {
        assert.deepStrictEqual(idsOf(assertOk(yield* ask(who, `/${id}/deliveries`))), [devnet])
        assert.strictEqual(refusal(yield* ask(who, `/deliveries/${mainnet}`)), "404 DELIVERY_NOT_FOUND null")
        assert.strictEqual(
          refusal(yield* ask(who, `/deliveries/${mainnet}/redeliver`, { method: "POST" })),
          "404 DELIVERY_NOT_FOUND null"
        )
      }
      for (const only_failed of [true, false]) {
        assert.isAtMost(assertOk(yield* ask("4", `/${id}/replay`, { body: { only_failed } })).queued, 1)
      }
      assert.deepStrictEqual((yield* queue(id)).filter((row) => row.startsWith("1 ")), ["1 failed"])
    }))
})

layer(webhooksApi)("sending again", (it) => {
  it.effect("a test event goes to its endpoint whatever that listens to, to no other, and to the events", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* endpoint("1m")
      const { id: other } = yield* endpoint("1m", { enabled_events: ["*"] })
      const sent = assertOk(yield* ask("1m", `/${id}/test`, { method: "POST", key: "ping" }))
      assert.deepStrictEqual(assertOk(yield* ask("1m", `/${id}/test`, { method: "POST", key: "ping" })), sent)
      const shown = assertOk(yield* ask("1m", `/deliveries/${sent.delivery_id}`))
      assert.deepInclude(shown, {
        endpoint_id: id,
        event_id: sent.event_id,
        event_type: "test.ping",
        status: "pending",
        attempts: []
      })
      const [stored] = yield* sql<
        any
      >`SELECT environment, type, data::json -> 'object' AS object FROM events WHERE merchant_id = 1`
      assert.deepInclude(stored, { environment: "mainnet", type: "test.ping" })
      assert.deepStrictEqual(Object.keys(stored.object), ["object", "id", "message", "created_at"])
      assert.match(stored.object.id, /^ping_[0-9a-f-]{36}$/)
      assert.isEmpty(yield* queue(other))
      // Another endpoint's test is no event that this one missed.
      assert.strictEqual(assertOk(yield* ask("1m", `/${other}/replay`, { body: { only_failed: false } })).queued, 0)
    }))

  it.effect("a disabled endpoint is told WEBHOOK_DISABLED, and nothing is queued", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("2")
      yield* event(2, 1)
      const made = yield* delivery(2, id, 1, "failed")
      assertOk(yield* ask("2", `/${id}`, { method: "PATCH", body: { status: "disabled" } }))
      for (const path of [`/${id}/test`, `/${id}/replay`, `/deliveries/${made}/redeliver`]) {
        assert.strictEqual(refusal(yield* ask("2", path, { body: {} })), "409 WEBHOOK_DISABLED null")
      }
      assert.deepStrictEqual(yield* queue(id), ["1 failed"])
      assertOk(yield* ask("2", `/${id}`, { method: "PATCH", body: { status: "enabled" } }))
      assert.strictEqual(assertOk(yield* ask("2", `/${id}/replay`, { body: {} })).queued, 1)
    }))

  it.effect("by hand is done ten times a minute for an endpoint, in whatever way, and the eleventh is RATE_LIMIT_EXCEEDED", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("3")
      const { id: other } = yield* endpoint("3")
      yield* event(3, 1)
      const made = yield* delivery(3, id, 1, "failed")
      const ways = [`/${id}/test`, `/${id}/replay`, `/deliveries/${made}/redeliver`]
      for (let n = 0; n < 10; n++) assertOk(yield* ask("3", ways[n % 3]!, { body: {}, key: `k${n}` }))
      for (const path of ways) {
        const refused = yield* ask("3", path, { body: {} })
        assert.strictEqual(refusal(refused), "429 RATE_LIMIT_EXCEEDED null")
        assert.match(refused.headers.get("retry-after") ?? "", /^60$/)
      }
      // A repeat acts no more, so it is not counted; nor are other endpoints.
      assertOk(yield* ask("3", ways[0]!, { body: {}, key: "k0" }))
      assertOk(yield* ask("3", `/${other}/test`, { method: "POST" }))
      yield* TestClock.adjust("61 seconds")
      assertOk(yield* ask("3", ways[0]!, { body: {} }))
    }))

  it.effect("a delivery makes another one of the same event, whatever became of it, once for a key", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("4")
      const statuses = ["pending", "delivering", "succeeded", "retrying", "failed", "canceled"]
      for (const [n, status] of statuses.entries()) {
        const eventId = yield* event(4, n + 1)
        const old = yield* delivery(4, id, n + 1, status)
        const call = ask("4", `/deliveries/${old}/redeliver`, { method: "POST", key: status })
        const answers = yield* Effect.all([call, call, call], { concurrency: "unbounded" })
        assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
        const made = assertOk(answers[0]!)
        assert.notStrictEqual(made.id, old)
        assert.deepInclude(made, {
          endpoint_id: id,
          event_id: eventId,
          status: "pending",
          attempt_count: 0,
          finished_at: null
        })
        assert.deepStrictEqual(assertOk(yield* ask("4", `/deliveries/${made.id}`)), { ...made, attempts: [] })
      }
      assert.sameMembers(
        [...yield* queue(id)],
        statuses.flatMap((status, n) => [`${n + 1} ${status}`, `${n + 1} pending`])
      )
    }))

  it.effect("two replays at once queue no event twice, and one key queues once", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("5")
      for (let ms = 1; ms <= 40; ms++) {
        yield* event(5, ms)
        yield* delivery(5, id, ms, "failed")
      }
      const keyed = ask("5", `/${id}/replay`, { body: { from_event_id: "evt_21-21" }, key: "k" })
      const answers = yield* Effect.all([keyed, keyed, keyed], { concurrency: "unbounded" })
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.deepStrictEqual(assertOk(answers[0]!), { queued: 20, has_more: false, next_event_id: null })
      const both = yield* Effect.all(
        [false, true, false, true].map((only_failed) => ask("5", `/${id}/replay`, { body: { only_failed } })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(both.reduce((sum, each) => sum + assertOk(each).queued, 0), 20)
      const waiting = (yield* queue(id)).filter((row) => row.endsWith("pending"))
      assert.strictEqual(waiting.length, 40)
      assert.strictEqual(new Set(waiting).size, 40)
    }))

  it.effect("is at once: the deliverer is told of what was queued, and of nothing else", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("8")
      yield* event(8, 1)
      const made = yield* delivery(8, id, 1, "failed")
      const wakes = () => wokenMerchants.filter((merchant) => merchant === 8).length
      assertOk(yield* ask("8", `/${id}/replay`, { body: {} }))
      assert.strictEqual(wakes(), 1)
      assertOk(yield* ask("8", `/${id}/replay`, { body: {} }))
      assert.strictEqual(wakes(), 1)
      assertOk(yield* ask("8", `/deliveries/${made}/redeliver`, { method: "POST" }))
      assert.strictEqual(wakes(), 2)
    }))

  it.effect("from two instances at once queues no event twice, and one key once", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("9")
      for (let ms = 1; ms <= 60; ms++) {
        yield* event(9, ms)
        yield* delivery(9, id, ms, "canceled")
      }
      // Past the mailbox that an instance has for each endpoint.
      const repo = yield* makeRepo
      const lane = { id, merchantId: 9, environment: "devnet", commerceOnly: false } as const
      const range = (from: bigint, onlyFailed: boolean) => ({
        from: { ms: from, seq: 0n },
        beforeMillis: 1_000n,
        types: eventTypes,
        onlyFailed
      })
      const sql = yield* SqlClient.SqlClient
      const first = yield* Deferred.make<void>()
      const second = yield* Effect.forkChild(
        Effect.andThen(Deferred.await(first), repo.replay(lane, range(31n, false), () => undefined))
      )
      yield* sql.withTransaction(Effect.gen(function*() {
        assert.strictEqual((yield* repo.replay(lane, range(31n, true), () => undefined)).queued, 30)
        yield* Deferred.succeed(first, undefined)
        const blocked = sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`
        while ((yield* blocked).length === 0) {
          assert.isUndefined(second.pollUnsafe(), "it did not wait for the first one")
        }
      }))
      const again = yield* Fiber.join(second)
      assert.strictEqual(again.queued, 0)
      const reply = {
        environment: "devnet",
        scope: "POST /x k",
        fingerprint: "f",
        status: 200,
        sealedBody: "b"
      } as const
      const keyed = yield* Effect.all(
        [1, 2, 3].map((n) =>
          Effect.result(repo.replay(lane, range(1n, true), () => ({ ...reply, sealedBody: String(n) })))
        ),
        { concurrency: "unbounded" }
      )
      const winner = keyed.findIndex(({ _tag }) => _tag === "Success")
      assert.strictEqual(keyed.filter(({ _tag }) => _tag === "Success").length, 1)
      for (const [n, each] of keyed.entries()) {
        if (n !== winner) {
          assert.deepInclude((each as any).failure, {
            _tag: "IdempotentReplay",
            status: 200,
            sealedBody: String(winner + 1)
          })
        }
      }
      const waiting = (yield* queue(id)).filter((row) => row.endsWith("pending"))
      assert.deepStrictEqual([waiting.length, new Set(waiting).size], [60, 60])
    }))

  it.effect("refuses a replay that cannot be read", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("6")
      for (
        const [body, code] of [
          [{ from_event_id: "nonsense" }, "INVALID_EVENT_ID from_event_id"],
          [{ from_event_id: 7 }, "VALIDATION_ERROR from_event_id"],
          [{ types: ["invoice.pa*"] }, "INVALID_EVENT_TYPE types"],
          [{ types: "*" }, "VALIDATION_ERROR types"],
          [{ types: Array.from({ length: 21 }, () => "*") }, "INVALID_EVENT_TYPE types"],
          [{ created_gte: "soon" }, "VALIDATION_ERROR created_gte"],
          [{ created_lte: -1 }, "VALIDATION_ERROR created_lte"],
          [{ created_gte: 5, created_lte: 4 }, "VALIDATION_ERROR created_lte"],
          [{ only_failed: "no" }, "VALIDATION_ERROR only_failed"]
        ] as const
      ) assert.strictEqual(refusal(yield* ask("6", `/${id}/replay`, { body })), `400 ${code}`)
      for (const body of [{}, { types: ["order.*"] }, { unknown: 1, from_event_id: null, created_gte: "2026-01-01" }]) {
        assert.strictEqual(assertOk(yield* ask("6", `/${id}/replay`, { body })).queued, 0)
      }
    }))

  it.effect("queues ten thousand at a time, oldest first, and the next call goes on where the last one ended", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* endpoint("7")
      yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
        SELECT 7, n, n, 'devnet', 'invoice.paid', false, 0, '{}' FROM generate_series(1, 10500) n`
      yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, status, due_at)
        SELECT 7, ${id}, n, n, 'failed', NULL FROM generate_series(1, 10500) n`
      const range = Effect.map(
        sql<any>`SELECT min(event_ms)::integer AS first, max(event_ms)::integer AS last, count(*)::integer AS n
          FROM webhook_deliveries WHERE endpoint_id = ${id} AND status = 'pending'`,
        ([row]) => row
      )
      const first = assertOk(yield* ask("7", `/${id}/replay`, { body: { created_lte: 10 } }))
      assert.deepStrictEqual(first, { queued: 10_000, has_more: true, next_event_id: "evt_10001-10001" })
      assert.deepStrictEqual(yield* range, { first: 1, last: 10_000, n: 10_000 })
      const rest = assertOk(
        yield* ask("7", `/${id}/replay`, { body: { created_lte: 10, from_event_id: first.next_event_id } })
      )
      assert.deepStrictEqual(rest, { queued: 500, has_more: false, next_event_id: null })
      assert.deepStrictEqual(yield* range, { first: 1, last: 10_500, n: 10_500 })
    }))
})

/** One event as a replay meets it: what it is, and the deliveries it had, to this endpoint and to another. */
const Story = Schema.Struct({
  type: Schema.Literals(["invoice.paid", "invoice_payment.created", "commerce.order.updated", "test.ping"]),
  environment: Schema.Literals(["devnet", "mainnet"]),
  commerce: Schema.Boolean,
  own: Schema.Array(Schema.Literals(["pending", "delivering", "retrying", "succeeded", "failed", "canceled"])).check(
    Schema.isMaxLength(3)
  ),
  others: Schema.Array(Schema.Literals(["pending", "failed"])).check(Schema.isMaxLength(1))
})
const Case = Schema.Struct({
  stories: Schema.Array(Story).check(Schema.isMinLength(4), Schema.isMaxLength(12)),
  filters: Schema.Literals(["*", "invoice.*", "commerce.*"]),
  types: Schema.Literals(["absent", "*", "invoice.paid", "test.ping"]),
  environment: Schema.Literals(["devnet", "null"]),
  commerceKey: Schema.Boolean,
  onlyFailed: Schema.Boolean,
  from: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
  to: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
})

layer(webhooksApi)("a replay", (it) => {
  let merchant = 100

  it.effect.prop(
    "queues exactly the events that the reference says, once each and in order",
    [Case],
    ([asked]) =>
      Effect.gen(function*() {
        const me = String(++merchant)
        const maker = asked.commerceKey ? `${me}c` : asked.environment === "null" ? `w${me}` : me
        const environment = asked.environment === "null" && !asked.commerceKey ? null : "devnet"
        const { id } = yield* endpoint(maker, { enabled_events: [asked.filters], environment })
        const { id: other } = yield* endpoint(me)
        for (const [n, story] of asked.stories.entries()) {
          yield* event(merchant, (n + 1) * 1_000, {
            ...story,
            commerce: story.commerce || story.type.startsWith("commerce")
          })
          for (const status of story.own) yield* delivery(merchant, id, (n + 1) * 1_000, status)
          for (const status of story.others) yield* delivery(merchant, other, (n + 1) * 1_000, status)
        }
        const open = ["pending", "delivering", "retrying"]
        const last = Math.max(asked.from, asked.to)
        const queued = asked.stories.flatMap((story, index) => {
          const { commerce, environment: where, own, type } = story
          const n = index + 1
          const inRange = n >= asked.from && n <= last
          const isCommerce = commerce || type.startsWith("commerce")
          const mine = (environment === null || environment === where) &&
            (!asked.commerceKey || isCommerce || type === "test.ping")
          const listens = asked.onlyFailed || asked.filters === "*" || type.startsWith(asked.filters.slice(0, -1))
          const meant = type !== "test.ping" || own.length > 0
          const isAsked = asked.types === "absent" || asked.types === "*" || asked.types === type
          const due = asked.onlyFailed
            ? own.length > 0 && own.every((status) => status === "failed" || status === "canceled")
            : !own.some((status) => open.includes(status))
          return inRange && mine && listens && meant && isAsked && due ? [n] : []
        })
        const before = yield* queue(id)
        const body = {
          from_event_id: `evt_${asked.from * 1_000}-0`,
          created_lte: last,
          ...asked.types === "absent" ? {} : { types: [asked.types] },
          only_failed: asked.onlyFailed
        }
        const answer = assertOk(yield* ask(asked.commerceKey ? `${me}c` : `w${me}`, `/${id}/replay`, { body }))
        assert.deepStrictEqual(answer, { queued: queued.length, has_more: false, next_event_id: null })
        const added = [...yield* queue(id)]
        for (const row of before) added.splice(added.indexOf(row), 1)
        assert.deepStrictEqual(added, queued.map((n) => `${n * 1_000} pending`))
        assert.lengthOf(yield* queue(other), asked.stories.flatMap(({ others }) => others).length)
      }),
    { fastCheck: { numRuns: 60 } } as never
  )
})

describe("filters", () => {
  const Type = Schema.Literals(eventTypes as never)

  it.prop(
    "select an event as the reference says: exactly, by a prefix that ends at a dot, or all but the opt-in types",
    [Type],
    ([type]: any) => {
      for (const filter of endpointFilters) {
        const expected = (filter === "*" && !isOptIn(type)) || filter === type ||
          (filter.endsWith(".*") && type.startsWith(filter.slice(0, -1)))
        assert.strictEqual(selects([filter], type), expected, `${filter} ${type}`)
      }
      assert.isFalse(selects([], type))
      assert.isFalse(selects([type.slice(0, -1), `${type}.*`, "invoice*", "", "**"], type))
    }
  )

  it("of a replay never reach what the endpoint does not listen to, unless it was sent once", () => {
    const request = { fromEventId: undefined, createdFrom: undefined, createdTo: undefined, types: ["*"] }
    const all = readReplay({ ...request, onlyFailed: true }, { filters: ["invoice.paid"] })
    const some = readReplay({ ...request, onlyFailed: false }, { filters: ["invoice.paid"] })
    assert.deepStrictEqual([(all as any).types, (some as any).types], [eventTypes, ["invoice.paid"]])
  })
})
