import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { EventsApi } from "../../../modules/events/api.ts"
import { follow, handlers } from "../../../modules/events/handlers.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { EventBus } from "../../../runtime/EventBus.ts"
import { Credentials } from "../../../runtime/Http.ts"
import type { EventDraft, EventType } from "../../../schemas/Event.ts"
import { compareEventPositions, eventIdOf, readEventId } from "../../../schemas/Ids.ts"
import { Environment } from "../../../schemas/Network.ts"
import { Role, roleHas } from "../../../schemas/Roles.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel } from "../../support/Api.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

/**
 * `<scope>-<merchant>-<environment>` is a key; more parts are the version it is pinned to, and then its maker's role.
 */
const keys = Layer.effectDiscard(Effect.flatMap(Credentials, ({ register }) =>
  register((key) => {
    const [scope, merchant, environment, ...pin] = key.split("-")
    const role = pin.at(-1)
    const version = isRole(role) ? pin.slice(0, -1) : pin
    const apiVersion = version.length === 0 ? newestVersion : version.join("-")
    return Effect.succeed(
      {
        merchantId: Number(merchant),
        environment,
        scope,
        kind: "key",
        credential: `key_${key}`,
        apiVersion,
        ...operatorKey,
        ...(isRole(role) ? { role } : {})
      } as never
    )
  })))

const isRole = Schema.is(Role)

const routes = Layer.merge(HttpApiBuilder.layer(EventsApi).pipe(Layer.provide(handlers)), keys)
// The objects of its events are shorter than real ones.
const served = apiLayer([EventsApi], routes, kernel([]), { isDescribed: false })

type Served = Api | SqlClient.SqlClient | Commit | EventBus

const draft = (type: EventType, more: Readonly<Record<string, unknown>> = {}): EventDraft => ({
  type,
  object: { object: type.split(".")[0] === "commerce" ? "commerce_order" : "invoice", id: "i1", ...more },
  previousAttributes: {}
})

const append = (merchantId: number, drafts: ReadonlyArray<EventDraft>, environment: Environment = "devnet") =>
  Effect.flatMap(
    Commit,
    (commit) =>
      Effect.map(
        commit.append({ merchantId, environment, cause: noCause, writes: [], events: drafts }),
        ({ events }) => events
      )
  )

const get = (merchantId: number, query = "", key = `merchant-${merchantId}-devnet`) =>
  Effect.flatMap(Api, ({ call }) => call(`/api/v1/events${query}`, { headers: { "x-api-key": key } }))

const ids = (answer: Answer): ReadonlyArray<string> => answer.json.data.data.map((event: { id: string }) => event.id)
const codeOf = (answer: Answer) => `${answer.status} ${answer.json.error.code} ${answer.json.error.param}`

layer(served as Layer.Layer<Served>)("GET /api/v1/events", (it) => {
  it.effect("answers exactly the envelope of the contract, newest first, from the frozen text", () =>
    Effect.gen(function*() {
      const events = yield* append(1, [draft("invoice.created"), draft("invoice.updated", { note: "\"é\u2028" })])
      const answer = yield* get(1)
      assert.deepStrictEqual(Object.keys(answer.json), ["success", "data"])
      assert.deepStrictEqual(Object.keys(answer.json.data), ["object", "data", "has_more"])
      assert.deepStrictEqual(ids(answer), events.map(({ id }) => id as string).reverse())
      const [newest] = answer.json.data.data
      assert.deepStrictEqual(Object.keys(newest), [
        "id",
        "object",
        "api_version",
        "created",
        "type",
        "livemode",
        "pending_webhooks",
        "request",
        "data"
      ])
      assert.include(answer.text, `"data":${events[1]!.data}}`)
      const one = yield* get(1, `/${newest.id}`)
      assert.deepStrictEqual(one.json, { success: true, data: newest })
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    }))

  it.effect("old and new side by side: by header, by the key's pin, and newest when nothing is said", () =>
    Effect.gen(function*() {
      const token = { id: 1, symbol: "USDC", address: "0xabc", decimals: 6 }
      const object = { object: "invoice_payment", id: "p1", invoice_id: "i1", metadata: { confirmations: 2, token } }
      const [event] = yield* append(40, [{
        type: "invoice_payment.updated",
        object,
        previousAttributes: { metadata: { confirmations: 1, token } }
      }])
      const asked = (key: string, headers: Readonly<Record<string, string>> = {}) =>
        Effect.gen(function*() {
          const { call } = yield* Api
          const list = yield* call("/api/v1/events", { headers: { "x-api-key": key, ...headers } })
          const one = yield* call(`/api/v1/events/${event!.id}`, { headers: { "x-api-key": key, ...headers } })
          assert.deepStrictEqual(list.json.data.data, [one.json.data])
          assert.strictEqual(one.headers.get("x-service-version"), one.json.data.api_version)
          return [one.json.data.api_version, one.json.data.data]
        })
      const newest = [newestVersion, {
        object,
        previous_attributes: { metadata: { confirmations: 1, token } }
      }]
      const old = ["2026-01-15", {
        object: { ...object, metadata: { confirmations: 2 } },
        previous_attributes: { metadata: { confirmations: 1 } }
      }]
      assert.deepStrictEqual(yield* asked("merchant-40-devnet"), newest)
      assert.deepStrictEqual(yield* asked("merchant-40-devnet-2026-01-15"), old)
      assert.deepStrictEqual(yield* asked("merchant-40-devnet", { "x-service-version": "2026-01-15" }), old)
      assert.deepStrictEqual(
        yield* asked("merchant-40-devnet-2026-01-15", { "x-service-version": newestVersion }),
        newest
      )
    }))

  it.effect("counts pending webhooks as they are now", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [event] = yield* append(2, [draft("invoice.created")])
      const pending = Effect.map(get(2, `/${event!.id}`), (answer) => answer.json.data.pending_webhooks)
      for (const status of ["pending", "delivering", "retrying", "succeeded", "failed"]) {
        yield* sql`INSERT INTO webhook_deliveries ${
          sql.insert({
            merchant_id: 2,
            endpoint_id: "we_x",
            event_ms: String(event!.position.ms),
            event_seq: String(event!.position.seq),
            status
          })
        }`
      }
      assert.strictEqual(yield* pending, 3)
      assert.strictEqual((yield* get(2)).json.data.data[0].pending_webhooks, 3)
      yield* sql`UPDATE webhook_deliveries SET status = 'succeeded'`
      assert.strictEqual(yield* pending, 0)
    }))

  it.effect("a walk in pages of 1, 7 or 100, either way, sees every event once while others are added", () =>
    Effect.gen(function*() {
      const batch = Array.from({ length: 10 }, () => draft("invoice.updated"))
      const before = (yield* Effect.forEach(Array.from({ length: 6 }), () => append(3, batch))).flat().map(({ id }) =>
        id as string
      )
      for (const limit of [1, 7, 100]) {
        const older: Array<string> = []
        for (let query = `?limit=${limit}`;;) {
          const page = yield* get(3, query)
          older.push(...ids(page))
          if (!page.json.data.has_more) break
          assert.strictEqual(ids(page).length, limit)
          if (older.length < 40) yield* append(3, [draft("invoice.updated")])
          query = `?limit=${limit}&starting_after=${older.at(-1)}`
        }
        assert.strictEqual(new Set(older).size, older.length)
        const sorted = [...older].sort((a, b) => compareEventPositions(readEventId(b)!, readEventId(a)!))
        assert.deepStrictEqual(older, sorted)
        assert.deepStrictEqual(older.slice(-60), [...before].reverse())

        const newer: Array<string> = []
        const concurrent = yield* Effect.forkChild(Effect.forEach(Array.from({ length: 5 }), () => append(3, batch)))
        for (let cursor = before[0]!;;) {
          const page = yield* get(3, `?limit=${limit}&ending_before=${cursor}`)
          newer.push(...[...ids(page)].reverse())
          if (!page.json.data.has_more) break
          cursor = newer.at(-1)!
        }
        yield* Fiber.join(concurrent)
        assert.strictEqual(new Set(newer).size, newer.length)
        assert.deepStrictEqual(newer.slice(0, 59), before.slice(1))
      }
    }))

  it.effect("filters by type, object, time and environment, and joins filters by AND", () =>
    Effect.gen(function*() {
      const [created, paid] = yield* append(4, [
        draft("invoice.created", { id: "inv-1", customer_id: "c1" }),
        draft("invoice.paid", { id: "inv-2", customer_id: "c1", commerce_order_id: "o1" })
      ])
      const [order] = yield* append(4, [draft("commerce.order.updated", { id: "o1", invoice_id: "inv-2" })])
      const [live] = yield* append(4, [draft("invoice.paid", { id: "inv-3" })], "mainnet")
      const all = [live!, order!, paid!, created!].map(({ id }) => id as string)
      const [liveId, orderId, paidId, createdId] = all as [string, string, string, string]
      const seconds = Number(created!.position.ms / 1000n)
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        ["", all],
        ["?type=*", all],
        ["?type=invoice.paid", [liveId, paidId]],
        ["?type=invoice.*", [liveId, paidId, createdId]],
        ["?type=invoice.created,commerce.*", [orderId, createdId]],
        ["?type=commerce.order.*", [orderId]],
        ["?type=invoice_payment.*", []],
        ["?type=nobody.knows.this", []],
        ["?invoice_id=inv-2", [orderId, paidId]],
        ["?order_id=o1", [orderId, paidId]],
        ["?customer_id=c1&type=invoice.paid", [paidId]],
        ["?customer_id=' OR '1'='1", []],
        ["?environment=mainnet", [liveId]],
        ["?environment=devnet&type=invoice.*", [paidId, createdId]],
        [`?created[gte]=${seconds}`, all],
        [`?created%5Bgte%5D=${seconds}&created%5Blte%5D=${seconds + 60}`, all],
        [`?created[gte]=${seconds + 60}`, []],
        [`?created[lte]=${seconds - 1}`, []],
        [`?created[gte]=${seconds + 60}&created[lte]=${seconds}`, []],
        ["?starting_after=evt_1-1", []],
        ["?limit=2", all.slice(0, 2)],
        ["?limit=2&ending_before=evt_1-1", all.slice(2)]
      ]
      for (const [query, expected] of cases) assert.deepStrictEqual(ids(yield* get(4, query)), expected, query)
    }))

  it.effect("answers in spite of a bound that it does not have, and names the one that was meant", () =>
    Effect.gen(function*() {
      for (
        const [query, warning] of [
          ["created[gt]=1", "unknown query parameter \"created[gt]\", nearest is \"created[gte]\""],
          ["created[gte][x]=1", "unknown query parameter \"created[gte][x]\", nearest is \"created[gte]\""],
          [
            "created=1",
            "unknown query parameter \"created\"; known are type, created[gte], created[lte], limit, starting_after, "
            + "ending_before, invoice_id, order_id, customer_id, environment"
          ]
        ] as const
      ) {
        const answer = yield* get(5, `?${query}`)
        assert.deepStrictEqual([answer.status, answer.headers.get("x-service-warning")], [200, warning])
      }
    }))

  it.effect("refuses what it cannot read with the code and the parameter", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["?limit=0", "400 INVALID_LIMIT limit"],
        ["?limit=101", "400 INVALID_LIMIT limit"],
        ["?limit=x", "400 INVALID_LIMIT limit"],
        ["?starting_after=evt_1-1&ending_before=evt_1-2", "400 INVALID_CURSOR ending_before"],
        ["?starting_after=evt_1", "400 INVALID_CURSOR starting_after"],
        ["?ending_before=evt_1-99999999999999999999", "400 INVALID_CURSOR ending_before"],
        ["?ending_before=", "400 INVALID_CURSOR ending_before"],
        ["?starting_after=evt_1-1&starting_after=evt_1-2", "400 INVALID_CURSOR starting_after"],
        ["?type=invoice.", "400 INVALID_EVENT_TYPE type"],
        ["?type=", "400 INVALID_EVENT_TYPE type"],
        ["?type=a&type=b", "400 INVALID_EVENT_TYPE type"],
        ["?environment=testnet", "400 INVALID_ENVIRONMENT environment"],
        ["?created[gte]=abc", "400 VALIDATION_ERROR created[gte]"],
        ["?created[gte]=1&created[gte]=2", "400 VALIDATION_ERROR created[gte]"],
        ["?created[lte]=1e30", "400 VALIDATION_ERROR created[lte]"],
        ["?invoice_id=a&invoice_id=b", "400 VALIDATION_ERROR invoice_id"],
        ["/evt_1", "400 INVALID_EVENT_ID eventId"],
        ["/evt_1.1", "400 INVALID_EVENT_ID eventId"],
        ["/evt_1-1%0a", "400 INVALID_EVENT_ID eventId"],
        ["/evt_1-1", "404 EVENT_NOT_FOUND null"]
      ]
      for (const [query, expected] of cases) assert.strictEqual(codeOf(yield* get(5, query)), expected, query)
      const foreign = yield* get(5, "?environment=mainnet", "commerce-5-devnet")
      assert.strictEqual(codeOf(foreign), "403 ENVIRONMENT_FORBIDDEN null")
    }))

  it.effect("shows a merchant nothing of another one, and tells it no more than an unknown id", () =>
    Effect.gen(function*() {
      const [mine] = yield* append(6, [draft("invoice.paid", { id: "inv-6", customer_id: "c6" })])
      const { ms, seq } = mine!.position
      const unknown = yield* get(7, "/evt_5-5")
      const strip = (answer: Answer) => answer.text.replaceAll(/req_[0-9a-f-]+/g, "")
      for (const position of [{ ms, seq }, { ms, seq: seq + 1n }, { ms, seq: seq - 1n }]) {
        const answer = yield* get(7, `/${eventIdOf(position)}`)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(strip(answer), strip(unknown))
      }
      for (const query of ["", "?invoice_id=inv-6", "?customer_id=c6", `?ending_before=evt_1-1`]) {
        assert.deepStrictEqual(ids(yield* get(7, query)), [])
      }
      const [own] = yield* append(7, [draft("invoice.paid")])
      assert.deepStrictEqual(ids(yield* get(7, `?ending_before=${mine!.id}`)), [own!.id as string])
    }))

  it.effect("shows a commerce key only commerce events of its own environment", () =>
    Effect.gen(function*() {
      yield* append(8, [draft("invoice.paid", { invoice_type: "standard" })])
      const [order] = yield* append(8, [draft("commerce.order.created")])
      const [invoice] = yield* append(8, [draft("invoice.paid", { invoice_type: "commerce" })])
      const [live] = yield* append(8, [draft("commerce.order.created")], "mainnet")
      const key = "commerce-8-devnet"
      assert.deepStrictEqual(ids(yield* get(8, "", key)), [invoice!.id as string, order!.id as string])
      assert.deepStrictEqual(ids(yield* get(8, "?environment=devnet", key)).length, 2)
      assert.strictEqual((yield* get(8, `/${live!.id}`, key)).status, 404)
      assert.strictEqual((yield* get(8, `/${order!.id}`, key)).status, 200)
      assert.strictEqual((yield* get(8)).json.data.data.length, 4)
    }))

  it.effect("lists opt-in types only where they are named, and pages as if the others were all there are", () =>
    Effect.gen(function*() {
      const exception = (type: EventType): EventDraft => ({
        ...draft(type),
        object: { object: "exception", id: "exc_1" }
      })
      const rounds = ["exception.opened", "invoice.paid", "exception.resolved", "exception.opened"] as const
      const stored = yield* append(
        11,
        Array.from({ length: 6 }, () => rounds.map((type) => type === "invoice.paid" ? draft(type) : exception(type)))
          .flat()
      )
      const newest = (is: (type: string) => boolean) =>
        stored.filter(({ type }) => is(type)).map(({ id }) => id as string).toReversed()
      const paid = newest((type) => type === "invoice.paid")
      for (
        const query of [
          "?limit=100",
          "?limit=100&type=*",
          "?limit=100&environment=devnet",
          "?limit=100&type=*,invoice.*"
        ]
      ) {
        assert.deepStrictEqual(ids(yield* get(11, query)), paid, query)
      }
      for (const query of ["limit=3", "limit=3&environment=devnet"]) {
        const first = yield* get(11, `?${query}`)
        assert.deepStrictEqual([ids(first), first.json.data.has_more], [paid.slice(0, 3), true], query)
        const second = yield* get(11, `?${query}&starting_after=${paid[2]}`)
        assert.deepStrictEqual([ids(second), second.json.data.has_more], [paid.slice(3), false], query)
      }
      const opened = newest((type) => type === "exception.opened")
      assert.deepStrictEqual(ids(yield* get(11, "?limit=100&type=exception.opened")), opened)
      const both = newest((type) => type !== "invoice.paid")
      assert.deepStrictEqual(ids(yield* get(11, "?limit=100&type=exception.*")), both)
      assert.deepStrictEqual(ids(yield* get(11, "?limit=100&type=*,exception.*")), newest(() => true))
      const page = yield* get(11, "?limit=12&type=exception.*")
      assert.deepStrictEqual([ids(page), page.json.data.has_more], [both.slice(0, 12), true])
      assert.strictEqual((yield* get(11, `/${opened[0]}`)).json.data.type, "exception.opened")
      // No commerce key reads exceptions.
      assert.deepStrictEqual(ids(yield* get(11, "?type=exception.*", "commerce-11-devnet")), [])
      const bus = yield* EventBus
      const followed = (take: number, filters?: ReadonlyArray<string>) =>
        follow(bus, 11, { ms: 0n, seq: 0n }, filters).pipe(Stream.take(take), Stream.runCollect)
      assert.deepStrictEqual((yield* followed(6)).map(({ id }) => id as string), paid.toReversed())
      assert.strictEqual((yield* followed(24, ["*", "exception.*"])).length, 24)
    }))

  it.effect("the internal stream goes from a cursor on into what is committed later, without gap or repeat", () =>
    Effect.gen(function*() {
      const bus = yield* EventBus
      const many = Array.from({ length: 150 }, () => draft("invoice.updated"))
      const stored = yield* append(9, many)
      const cursor = stored[9]!.position
      const reader = yield* follow(bus, 9, cursor).pipe(Stream.take(240), Stream.runCollect, Effect.forkChild)
      const later: Array<string> = []
      for (let round = 0; round < 20; round++) {
        yield* append(10, [draft("invoice.updated")])
        later.push(...(yield* append(9, many.slice(0, 5))).map(({ id }) => id as string))
      }
      const seen = [...(yield* Fiber.join(reader))].map(({ id }) => id as string)
      assert.deepStrictEqual(seen, [...stored.slice(10).map(({ id }) => id as string), ...later])
    }))
})

layer(served as Layer.Layer<Served>)("events that tell of more than payments", (it) => {
  const objects = { "batch.paid": "batch", "balance_transaction.created": "balance_transaction" } as const
  const rights = { "batch.paid": "batches:read", "balance_transaction.created": "balances:read" } as const

  it.effect("are listed, and read by their ids, by those alone who may read their objects", () =>
    Effect.gen(function*() {
      for (const [type, object] of Object.entries(objects) as ReadonlyArray<[keyof typeof rights, string]>) {
        for (const environment of Environment.literals) {
          const [event] = yield* append(
            21,
            [{ type, object: { object, id: "o1" }, previousAttributes: {} }],
            environment
          )
          for (const role of Role.literals) {
            const key = `merchant-21-devnet-${newestVersion}-${role}`
            const may = roleHas(role, rights[type], environment)
            const prefix = `${type.split(".")[0]}.*`
            for (const named of [type, prefix, `invoice.paid,${prefix}`]) {
              const found = yield* get(21, `?environment=${environment}&type=${named}`, key)
              assert.strictEqual(found.status, may ? 200 : 403, `${role} ${environment} ${named}`)
              if (may) assert.include(ids(found), event!.id)
              else assert.strictEqual(codeOf(found), "403 PERMISSION_DENIED type")
            }
            const one = yield* get(21, `/${event!.id}`, key)
            assert.strictEqual(one.status, may ? 200 : 404, `${role} ${environment} ${type}`)
            const both = yield* get(21, `?type=${type}`, key)
            assert.strictEqual(both.status, roleHas(role, rights[type], "mainnet") ? 200 : 403, role)
            assert.deepStrictEqual(ids(yield* get(21, "", key)), [])
          }
        }
      }
    }))

  it.effect("are refused in words that name the environment which the caller may read", () =>
    Effect.gen(function*() {
      const refused = yield* get(21, "?type=batch.*", `merchant-21-devnet-${newestVersion}-support`)
      assert.include(refused.json.error.message, "Name the environment devnet")
      assert.deepInclude(refused.json.error.details, { right: "batches:read" })
    }))
})
