/**
 * Goal: a fulfilment service that fails, lies or is not there costs at most a try, and nobody but it reports on orders.
 * Method: the conformance suite and every fault against a service in a process of its own, which checks what we sign by
 * itself; callbacks against the service as it is started, with one order in it.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { driverLayer, HttpRetailerOptions } from "../../../../modules/retail/drivers/http.ts"
import type { WantedItem } from "../../../../modules/retail/plugin.ts"
import {
  assertUnavailable,
  driverOf,
  placedOrderOf,
  placementOf,
  retailerConformance,
  type RetailerLayer,
  RetailerSubject
} from "../../../conformance/retailers.ts"
import { knownOrder } from "../../../fixtures/plugins/orderbook.ts"
import { migratedDatabase } from "../../../support/Database.ts"
import { callbackHeaders, Fulfilment, fulfilmentSecrets } from "../../../support/Fulfilment.ts"
import { generousLimits } from "../../../support/Limits.ts"
import {
  configOf,
  exchange,
  type Service,
  sources,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../../../support/Service.ts"

const want = (productId: string, quantity = 1, retailer = "amazon"): WantedItem => ({ retailer, productId, quantity })

/** The longest pause before a second try; the next ones are twice as long each. */
const pauseMillis = 20

const layerOf = (
  { baseUrl }: Fulfilment["Service"],
  more: Partial<typeof HttpRetailerOptions.Type> & { readonly secrets?: never } = {},
  secrets: readonly [string, ...ReadonlyArray<string>] = fulfilmentSecrets
) =>
  driverLayer({
    baseUrl,
    environment: "mainnet",
    secrets: [Redacted.make(secrets[0]), ...secrets.slice(1).map((secret) => Redacted.make(secret))],
    ...more
  }, pauseMillis) as RetailerLayer

const subject = Layer.effect(
  RetailerSubject,
  Effect.map(Fulfilment, (fulfilment) =>
    RetailerSubject.of({
      layer: layerOf(fulfilment),
      sold: [[want("widget"), 9_990n], [want("gadget", 3), 24_500n]],
      refused: {
        NO_ELIGIBLE_OFFER: { item: want("gone"), zipCode: null },
        UNSUPPORTED_RETAILER: { item: want("widget", 1, "etsy"), zipCode: null },
        OUT_OF_STOCK: { item: want("sold-out"), zipCode: null },
        NOT_DELIVERABLE: { item: want("widget"), zipCode: "99001" },
        QUANTITY_LIMIT: { item: want("pair", 3), zipCode: null }
      },
      outage: Effect.as(fulfilment.misbehave([{ kind: "status 400", times: 2 }]), {
        item: want("widget"),
        zipCode: "33101"
      }),
      trials: { refused: want("refuse-me"), busy: want("busy-me"), kept: want("keep-me") },
      goodZip: "33101",
      badZip: "beach"
    }))
)

layer(Layer.provideMerge(subject, Fulfilment.layer), { excludeTestServices: true })("the http retailer", (it) => {
  retailerConformance(it)

  const quoting = { merchantId: 1, environment: "mainnet", items: [want("widget")], zipCode: null } as const

  /** The calls that `use` makes while the service has these faults. */
  const watched = Effect.fnUntraced(function*<A, E>(
    faults: ReadonlyArray<readonly [kind: string, times: number, answer?: string | undefined]>,
    use: Effect.Effect<A, E>
  ) {
    const fulfilment = yield* Fulfilment
    const before = (yield* fulfilment.seen).calls.length
    yield* fulfilment.misbehave(
      faults.map(([kind, times, answer]) => ({ kind, times, ...answer === undefined ? {} : { answer } }))
    )
    const exit = yield* Effect.exit(use)
    yield* fulfilment.misbehave([])
    return { exit, calls: (yield* fulfilment.seen).calls.slice(before) }
  })

  it.effect("tries again with the same key where that may help", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf(yield* Fulfilment))
      for (const kind of ["status 500", "status 503", "status 429", "cut"]) {
        const { calls, exit } = yield* watched([[kind, 1]], driver.quote(quoting))
        assert.strictEqual(exit._tag, "Success", kind)
        assert.strictEqual(calls.length, 2, kind)
        assert.strictEqual(calls[0]!.key, calls[1]!.key)
      }
      const { calls, exit } = yield* watched([["status 503", 9]], driver.quote(quoting))
      assert.include(assertUnavailable(exit), "HTTP 503")
      assert.strictEqual(calls.length, 4)
    }))

  it.effect("does not try again where it cannot help, and follows nothing", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf(yield* Fulfilment))
      const kinds: ReadonlyArray<readonly [kind: string, reason: string, answer?: string]> = [
        ["status 400", "HTTP 400"],
        ["status 404", "HTTP 404"],
        ["status 201", "HTTP 201"],
        ["redirect", "HTTP 307"],
        ["wait long", "HTTP 429"],
        ["html", "not JSON"],
        ["huge", "more than 262144 bytes"],
        ["answer", "not what the protocol asks for", JSON.stringify({ items: [], refused: [] })]
      ]
      for (const [kind, reason, answer] of kinds) {
        const { calls, exit } = yield* watched([[kind, 1, answer]], driver.quote(quoting))
        assert.include(assertUnavailable(exit, kind), reason, kind)
        assert.deepStrictEqual(calls.map(({ path }) => path), ["/quote"], kind)
      }
    }))

  it.effect("gives a service that is slow its time and no more, however it is slow", () =>
    Effect.gen(function*() {
      const fulfilment = yield* Fulfilment
      const [timeoutMillis, tryTimeoutMillis] = [500, 150]
      const driver = yield* driverOf(layerOf(fulfilment, { timeoutMillis, tryTimeoutMillis }))
      // Time passes only while a try is at the service or a pause lasts, however slow this machine is.
      const asked = Effect.gen(function*() {
        const before = (yield* fulfilment.seen).calls.length
        const asking = yield* Effect.forkChild(driver.quote(quoting))
        const tried = (count: number) =>
          TestClock.withLive(until(`try ${count}`, fulfilment.seen, ({ calls }) => calls.length === before + count))
        yield* tried(1)
        yield* TestClock.adjust(tryTimeoutMillis + pauseMillis)
        yield* tried(2)
        yield* TestClock.adjust(tryTimeoutMillis + 2 * pauseMillis)
        yield* tried(3)
        yield* TestClock.adjust(timeoutMillis - 2 * tryTimeoutMillis - 3 * pauseMillis)
        return yield* Fiber.join(asking)
      }).pipe(Effect.provide(TestClock.layer()))
      for (const kind of ["hang", "drip"]) {
        const { calls, exit } = yield* watched([[kind, 9]], asked)
        assertUnavailable(exit, kind)
        assert.strictEqual(calls.length, 3, kind)
      }
    }))

  it.effect("places once where the answer is lost, and where it is asked anew after that", () =>
    Effect.gen(function*() {
      const fulfilment = yield* Fulfilment
      const driver = yield* driverOf(layerOf(fulfilment))
      const placement = placementOf(driver, "33101", [want("widget")])
      const { calls, exit } = yield* watched([["lost answer", 1]], driver.place(placement))
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(
        calls.map(({ key, path }) => `${path} ${key}`),
        Array(2).fill(`/orders place_${placement.orderId}`)
      )
      yield* driver.place(placement)
      assert.strictEqual((yield* fulfilment.seen).orders.filter(({ id }) => id === placement.orderId).length, 1)
    }))

  it.effect("takes back what may have been placed: an order that never came is canceled all the same, and not delivered later", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf(yield* Fulfilment))
      const placement = placementOf(driver, "33101", [want("widget")])
      const order = placedOrderOf(placement, [], 0)
      assert.deepStrictEqual(yield* driver.track({ ...order, placedAt: null }), [])
      assert.deepStrictEqual(yield* driver.cancel(order), [{ _tag: "CancellationAccepted" }])
      assert.deepStrictEqual((yield* driver.place(placement)).map(({ _tag }) => _tag), ["PlacementFailed"])
      assert.deepStrictEqual(yield* driver.cancel({ ...order, providerOrderId: "W-1" }), [{
        _tag: "CancellationAccepted"
      }])
    }))

  it.effect("sends amounts as integers, and the order whole", () =>
    Effect.gen(function*() {
      const fulfilment = yield* Fulfilment
      const driver = yield* driverOf(layerOf(fulfilment))
      const placement = placementOf(driver, "33101", [want("widget", 2)])
      yield* driver.place(placement)
      const order = (yield* fulfilment.seen).orders.find(({ id }) => id === placement.orderId)!
      const { address, items, ...rest } = order.body
      assert.deepStrictEqual(rest, {
        order_id: placement.orderId,
        merchant_id: 123,
        environment: "mainnet",
        customer_id: "cust_1",
        shipping_option_id: "standard"
      })
      assert.deepStrictEqual(items, [
        {
          line_item_id: "li_1",
          retailer: "amazon",
          product_id: "widget",
          title: "widget",
          quantity: 2,
          unit_amount: 1_000
        }
      ])
      assert.strictEqual(address.zip_code, "33101")
    }))

  it.effect("is known to the service by either secret while one replaces the other, and by no third", () =>
    Effect.gen(function*() {
      const fulfilment = yield* Fulfilment
      const [newest, old] = fulfilmentSecrets
      const next = "ful_ffffffffffffffffffffffffffffffff"
      for (const secrets of [[newest], [old], [next, newest]] as const) {
        const driver = yield* driverOf(layerOf(fulfilment, {}, secrets))
        assert.strictEqual((yield* driver.quote(quoting)).items.length, 1)
      }
      const stranger = yield* driverOf(layerOf(fulfilment, {}, [next]))
      assert.include(assertUnavailable(yield* Effect.exit(stranger.quote(quoting))), "HTTP 401")
    }))

  it.effect("is not there where nobody listens", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf(yield* Fulfilment, { baseUrl: "http://127.0.0.1:9", timeoutMillis: 400 }))
      assert.include(assertUnavailable(yield* Effect.exit(driver.quote(quoting))), "cannot be reached")
    }))

  it.effect("takes an address of its own network by config, plain http only where that is said, and no short secret", () =>
    Effect.sync(() => {
      const decode = Schema.decodeUnknownExit(HttpRetailerOptions)
      const good = { baseUrl: "https://10.0.0.5/tillwire", environment: "mainnet", secrets: ["s".repeat(32)] }
      assert.strictEqual(decode(good)._tag, "Success")
      assert.strictEqual(decode({ ...good, baseUrl: "http://localhost:3000" })._tag, "Success")
      assert.strictEqual(decode({ ...good, baseUrl: "http://fulfilment:3000", plainHttp: true })._tag, "Success")
      const bad = [
        { baseUrl: "http://fulfilment:3000" },
        { baseUrl: "ftp://a.example" },
        { baseUrl: "https://u:p@a.example" },
        { baseUrl: "https://a.example/?x=1" },
        { baseUrl: "https://a.example/#x" },
        { baseUrl: "a.example" },
        { secrets: [] },
        { secrets: ["short"] },
        { secrets: Array(3).fill("s".repeat(32)) },
        { environment: "test" },
        { timeoutMillis: 10_001 },
        { timeoutMillis: 0 },
        { tryTimeoutMillis: 1.5 }
      ]
      for (const more of bad) assert.strictEqual(decode({ ...good, ...more })._tag, "Failure", JSON.stringify(more))
    }))
})

/** Guesses an address may make in a minute, here. */
const guesses = 60

class Desk extends Context.Service<Desk, Service>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({
        database: database.url,
        chains: [],
        limits: { ...generousLimits, anonymousPerMinute: guesses }
      })
      const book = new URL("../../../fixtures/plugins/orderbook.ts", import.meta.url).pathname
      const http = { baseUrl: "http://127.0.0.1:9", environment: "devnet", secrets: [...fulfilmentSecrets] }
      return yield* startService({
        directory: yield* temporaryDirectory,
        // The plugin imports a module's own sources.
        program: sources,
        config: { ...config, modules: [{ use: "retail" }, { use: "retail/http", options: http }, { use: book }] }
      })
    })
  )
}

const other = "00000000-0000-4000-8000-000000000001"
const pathOf = (orderId: string) => `/api/commerce/retailers/callbacks/${orderId}`
const placed = { type: "placed", provider_order_id: "W-1" }

layer(Desk.layer, { excludeTestServices: true })(
  "a callback of the fulfilment service",
  (it) => {
    const post = Effect.fnUntraced(function*(
      orderId: string,
      body: unknown,
      { signed, ...more }: TestRequest & { readonly signed?: Parameters<typeof callbackHeaders>[2] } = {}
    ) {
      const service = yield* Desk
      const text = typeof body === "string" ? body : JSON.stringify(body)
      return yield* service.call(pathOf(orderId), {
        method: "POST",
        body: text,
        ...more,
        headers: { ...callbackHeaders(orderId, text, signed), ...more.headers }
      })
    })
    const codeOf = ({ json, status }: { readonly json: any; readonly status: number }) =>
      `${status} ${json?.error?.code ?? "ok"}`
    const reports = Effect.gen(function*() {
      const service = yield* Desk
      return (yield* exchange(service.url, "/api/v1/orderbook")).json as ReadonlyArray<any>
    })

    it.effect("is taken up once, however often it is sent, by either secret", () =>
      Effect.gen(function*() {
        const taken = yield* post(knownOrder, { ...placed, note: "unknown fields are no fault" })
        assert.deepStrictEqual([taken.status, taken.json], [200, { success: true, data: { order_id: knownOrder } }])
        assert.strictEqual(codeOf(yield* post(knownOrder, placed)), "200 ok")
        assert.strictEqual(
          codeOf(yield* post(knownOrder, placed, { signed: { secret: fulfilmentSecrets[1] } })),
          "200 ok"
        )
        assert.deepStrictEqual(yield* reports, [{ _tag: "Placed", providerOrderId: "W-1" }])
      }))

    it.effect("is refused with one answer where it is not signed for this order, now, by the service; known or not", () =>
      Effect.gen(function*() {
        const before = yield* reports
        const body = JSON.stringify(placed)
        const at = Date.now()
        const keyed = (name: string) => ({ headers: { ...callbackHeaders(knownOrder, body), [name]: "" } })
        const forged: ReadonlyArray<readonly [string, Parameters<typeof post>[2]]> = [
          ["another secret", { signed: { secret: "x".repeat(36) } }],
          ["an old time", { signed: { at: at - 301_000 } }],
          ["a time to come", { signed: { at: at + 301_000 } }],
          ["seconds", { signed: { at: Math.floor(at / 1000) } }],
          ["another order", { signed: { target: `/callbacks/${other.replace("1", "2")}` } }],
          ["a call of ours", { signed: { target: "/orders" } }],
          ["another method", { signed: { method: "PUT" } }],
          ["another body", {
            headers: callbackHeaders(knownOrder, JSON.stringify({ type: "delivered", is_confirmed: true }))
          }],
          ["a fresh time on an old signature", {
            headers: { ...callbackHeaders(knownOrder, body, { at: at - 400_000 }), "x-service-timestamp": String(at) }
          }],
          ["no signature", keyed("x-service-signature")],
          ["no time", keyed("x-service-timestamp")],
          ["an API key", { headers: { "x-service-signature": "", "x-api-key": "sk_something" } }]
        ]
        for (const [what, more] of forged) {
          const answers = yield* Effect.forEach([knownOrder, other], (id) => post(id, body, more))
          for (const found of answers) {
            assert.strictEqual(codeOf(found), "401 SIGNATURE_INVALID", what)
            assert.deepStrictEqual({ ...found.json.error, request_id: "" }, {
              ...answers[0]!.json.error,
              request_id: ""
            }, what)
          }
        }
        assert.strictEqual(
          codeOf(yield* post(knownOrder, "{", { headers: { "x-service-signature": "" } })),
          "401 SIGNATURE_INVALID"
        )
        assert.deepStrictEqual(yield* reports, before)
      }))

    it.effect("says what is wrong with it to the service itself, and changes nothing", () =>
      Effect.gen(function*() {
        const before = yield* reports
        const shipment = {
          shipment_id: "p1",
          carrier: null,
          tracking_number: null,
          carrier_tracking_url: null,
          delivery_status: "in_transit",
          retailer_tracking_number: null,
          retailer_tracking_url: null,
          obtained_at: 1_766_320_500,
          line_item_ids: ["li_1"]
        }
        const wrong: ReadonlyArray<readonly [string, unknown, string, TestRequest?]> = [
          [other, placed, "404 ORDER_NOT_FOUND"],
          ["not-an-id", placed, "404 ORDER_NOT_FOUND"],
          [knownOrder, { type: "cancellation_accepted" }, "409 INVALID_TRANSITION"],
          [knownOrder, { type: "paid" }, "400 VALIDATION_ERROR"],
          [knownOrder, { type: "placed" }, "400 VALIDATION_ERROR"],
          [knownOrder, [placed], "400 VALIDATION_ERROR"],
          [knownOrder, { type: "shipped", shipment: { ...shipment, obtained_at: 1.5 } }, "400 VALIDATION_ERROR"],
          [knownOrder, { type: "shipped", shipment: { ...shipment, delivery_status: "lost" } }, "400 VALIDATION_ERROR"],
          [knownOrder, { type: "placed", provider_order_id: "a\u0000" }, "400 VALIDATION_ERROR"],
          [knownOrder, "{\"type\":\"placed\"", "400 INVALID_JSON"],
          [knownOrder, "", "400 VALIDATION_ERROR"],
          [knownOrder, { type: "placed", provider_order_id: "x".repeat(300_000) }, "413 PAYLOAD_TOO_LARGE"],
          [knownOrder, { type: "placed", provider_order_id: "x".repeat(300_000) }, "413 PAYLOAD_TOO_LARGE", {
            chunked: true
          }],
          [knownOrder, placed, "415 UNSUPPORTED_MEDIA_TYPE", { headers: { "content-type": "text/plain" } }]
        ]
        for (const [id, body, code, more] of wrong) {
          assert.strictEqual(codeOf(yield* post(id, body, more)), code, JSON.stringify(body).slice(0, 60))
        }
        const service = yield* Desk
        assert.strictEqual(codeOf(yield* service.call(pathOf(knownOrder))), "405 METHOD_NOT_ALLOWED")
        assert.deepStrictEqual(yield* reports, before)
      }))

    it.effect("stands in the reference of a deployment that has it, with both headers as one credential", () =>
      Effect.gen(function*() {
        const service = yield* Desk
        const { json } = yield* service.call("/openapi.json")
        const { post } = json.paths["/api/commerce/retailers/callbacks/{order_id}"]
        assert.deepStrictEqual(post.security, [{ retailerSignature: [], retailerTimestamp: [] }])
        assert.includeMembers(Object.keys(post.responses), ["200", "400", "401", "404", "409"])
        assert.isNotEmpty(post.parameters.find(({ name }: any) => name === "order_id").description)
        for (const name of ["retailerSignature", "retailerTimestamp"]) {
          assert.notStrictEqual(json.components.securitySchemes[name].description, name)
        }
      }))

    it.effect("is not in the way of others' guesses, which are limited", () =>
      Effect.gen(function*() {
        const guess = Effect.map(post(knownOrder, placed, { signed: { secret: randomUUID() } }), codeOf)
        const codes = yield* Effect.forEach(Array.from({ length: guesses }), () => guess)
        assert.strictEqual(codes.at(-1), "429 RATE_LIMIT_EXCEEDED")
        assert.strictEqual(codeOf(yield* post(knownOrder, placed)), "200 ok")
      }))
  }
)
