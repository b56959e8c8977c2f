/**
 * Goal: a merchant's own fulfilment service delivers orders as the simulated retailer does, whatever happens on the
 * line between it and us, and can do nothing to an order but what is true of it. Method: a whole service, and the
 * fulfilment service in a process of its own, which loses answers and goes away, and reports by callbacks signed by
 * hand.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { migratedDatabase } from "../support/Database.ts"
import { callbackHeaders, Fulfilment, fulfilmentSecrets } from "../support/Fulfilment.ts"
import {
  configOf,
  type DemoKeys,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

class Mall extends Context.Service<Mall, { readonly service: Service; readonly keys: DemoKeys }>()(
  "test/journeys/fulfilment/Mall"
) {
  static readonly layer = Layer.effect(
    Mall,
    Effect.gen(function*() {
      const { baseUrl } = yield* Fulfilment
      const { url } = yield* migratedDatabase
      const config = configOf({ database: url, chains: [{ use: "simulated" }] })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: {
          ...config,
          modules: config.modules.map(({ use }) =>
            use === "retail/simulated"
              ? { use: "retail/http", options: { baseUrl, environment: "devnet", secrets: [...fulfilmentSecrets] } }
              : { use }
          )
        }
      })
      for (const secret of fulfilmentSecrets) service.guard(secret)
      return { service, keys: yield* service.keys }
    })
  ).pipe(Layer.provideMerge(Fulfilment.layer))
}

const call = (path: string, body?: unknown, more: TestRequest = {}) =>
  Effect.flatMap(Mall, ({ keys, service }) =>
    service.call(`/api/commerce/merchant/${path}`, {
      ...(body === undefined ? {} : { body }),
      ...more,
      headers: { "x-api-key": keys.commerce_key, "idempotency-key": randomUUID(), ...more.headers }
    }))

const ok = (path: string, body?: unknown, more?: TestRequest) =>
  Effect.map(call(path, body, more), (answer) => assertStatus(200, answer).data)

const asMerchant = (path: string, body: object) =>
  Effect.flatMap(
    Mall,
    ({ keys, service }) =>
      Effect.map(service.call(path, { body, headers: { "x-api-key": keys.merchant_key } }), (answer) =>
        assertStatus(200, answer).data)
  )

const address = {
  first_name: "Ada",
  last_name: "Lovelace-Byron",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada.lovelace@example.com"
}

/** An order that is paid, and waits for its money to settle. */
const paidOrder = Effect.fnUntraced(function*(product_id = "widget") {
  const customer_id = `cust_${randomUUID()}`
  const { estimate_id } = yield* ok("checkout/estimate", {
    customer_id,
    items: [{ product_id, retailer: "amazon", quantity: 1 }]
  })
  const { address_id } = yield* ok("checkout/address", { customer_id, estimate_id, address })
  const { invoice_id, order_id } = yield* ok("checkout/invoice", { customer_id, estimate_id, address_id })
  yield* asMerchant(`/api/v1/devnet/invoices/${invoice_id}/simulate`, { action: "pay" })
  return { id: order_id as string, invoiceId: invoice_id as string }
})

const settle = ({ invoiceId }: { readonly invoiceId: string }) =>
  asMerchant(`/api/v1/devnet/invoices/${invoiceId}/simulate`, { action: "settle" })

const pass = (seconds: number) => asMerchant("/api/v1/devnet/clock/advance", { seconds })

const becomes = Effect.fnUntraced(function*(id: string, substatus: string) {
  const look = Effect.provideService(ok(`orders/${id}`), Mall, yield* Mall)
  return yield* until(substatus, look, (found) => found.substatus === substatus)
})

/** What a callback is answered: `200`, or the code of its error. */
const report = Effect.fnUntraced(function*(id: string, fact: object) {
  const { service } = yield* Mall
  const body = JSON.stringify(fact)
  const answer = yield* service.call(`/api/commerce/retailers/callbacks/${id}`, {
    method: "POST",
    body,
    headers: callbackHeaders(id, body)
  })
  return answer.json?.error?.code ?? answer.status
})

const parcel = (delivery_status: string, line_item_ids: ReadonlyArray<string>, obtained_at = 1_766_320_500) => ({
  type: "shipped",
  shipment: {
    shipment_id: "parcel-1",
    carrier: "UPS",
    tracking_number: "1Z999",
    carrier_tracking_url: "https://carrier.example/1Z999",
    delivery_status,
    retailer_tracking_number: null,
    retailer_tracking_url: null,
    obtained_at,
    line_item_ids
  }
})

/** How often the order's events were told, oldest first. */
const told = Effect.fnUntraced(function*(id: string) {
  const { keys, service } = yield* Mall
  const found = yield* service.call(`/api/v1/events?order_id=${id}&limit=100`, {
    headers: { "x-api-key": keys.commerce_key }
  })
  return assertStatus(200, found).data.data.toReversed().filter(({ type }: any) => type === "commerce.order.updated")
    .map(({ data }: any) => data.object.substatus) as ReadonlyArray<string>
})

const placements = (id: string) =>
  Effect.flatMap(Fulfilment, ({ seen }) =>
    Effect.map(seen, ({ calls, orders }) => ({
      calls: calls.filter(({ key }) => key === `place_${id}`).length,
      orders: orders.filter((order) => order.id === id).length
    })))

layer(Mall.layer, { excludeTestServices: true })(
  "orders of a merchant's own fulfilment service",
  (it) => {
    it.effect("are placed once their money has settled, once though the answer is lost, and follow its callbacks once", () =>
      Effect.gen(function*() {
        const fulfilment = yield* Fulfilment
        const order = yield* paidOrder()
        const { line_items: [{ id: line }] } = yield* becomes(order.id, "AWAITING_SETTLEMENT")
        assert.strictEqual(yield* report(order.id, { type: "placed", provider_order_id: "W-0" }), "INVALID_TRANSITION")
        assert.strictEqual(yield* report(order.id, parcel("in_transit", [line])), "INVALID_TRANSITION")
        assert.deepStrictEqual(yield* placements(order.id), { calls: 0, orders: 0 })

        yield* fulfilment.misbehave([{ kind: "lost answer", times: 1, on: "/orders" }])
        yield* settle(order)
        const placed = yield* becomes(order.id, "AWAITING_TRACKING")
        assert.deepStrictEqual(yield* placements(order.id), { calls: 2, orders: 1 })
        const provider_order_id = placed.fulfillment.provider_order_id

        const facts: ReadonlyArray<readonly [object, unknown]> = [
          [{ type: "placed", provider_order_id }, 200],
          [{ type: "placed", provider_order_id: "W-999" }, "INVALID_TRANSITION"],
          [{ type: "placement_failed", reason: "Changed our mind" }, "INVALID_TRANSITION"],
          [{ type: "cancellation_accepted" }, "INVALID_TRANSITION"],
          [parcel("in_transit", ["li_of_another"]), "INVALID_TRANSITION"],
          [parcel("in_transit", [line]), 200],
          [parcel("in_transit", [line]), 200],
          [parcel("out_for_delivery", [line], 1_766_330_500), 200],
          [parcel("in_transit", [line]), 200],
          [{ type: "delivered", is_confirmed: true }, 200],
          [{ type: "delivered", is_confirmed: true }, 200],
          [{ type: "canceled_by_retailer", reason: "Too late" }, "INVALID_TRANSITION"]
        ]
        for (const [fact, answer] of facts) {
          assert.strictEqual(yield* report(order.id, fact), answer, JSON.stringify(fact))
        }
        assert.deepStrictEqual((yield* told(order.id)).slice(-4), [
          "AWAITING_TRACKING",
          "IN_TRANSIT",
          "OUT_FOR_DELIVERY",
          "DELIVERY_CONFIRMED"
        ])
        assert.strictEqual(yield* report(randomUUID(), { type: "delivered", is_confirmed: true }), "ORDER_NOT_FOUND")
      }))

    it.effect("wait while it is away, and are placed when it is back", () =>
      Effect.gen(function*() {
        const fulfilment = yield* Fulfilment
        const order = yield* paidOrder("gadget")
        yield* becomes(order.id, "AWAITING_SETTLEMENT")
        yield* fulfilment.misbehave([{ kind: "status 503", times: 4, on: "/orders" }])
        yield* settle(order)
        yield* becomes(order.id, "PROVIDER_PLACEMENT_RETRYING")
        yield* pass(60)
        yield* becomes(order.id, "AWAITING_TRACKING")
        assert.strictEqual((yield* placements(order.id)).orders, 1)
      }))

    it.effect("are kept where it has them by now and will not let go, though their money is gone meanwhile", () =>
      Effect.gen(function*() {
        const fulfilment = yield* Fulfilment
        const order = yield* paidOrder("keep-me")
        yield* becomes(order.id, "AWAITING_SETTLEMENT")
        yield* fulfilment.misbehave([{ kind: "lost answer", times: 4, on: "/orders" }])
        yield* settle(order)
        yield* becomes(order.id, "PROVIDER_PLACEMENT_RETRYING")
        yield* fulfilment.misbehave([{
          kind: "answer",
          answer: JSON.stringify({ order_id: order.id, reports: [] }),
          times: 1,
          on: `/orders/${order.id}`
        }])
        yield* asMerchant(`/api/v1/devnet/invoices/${order.invoiceId}/simulate`, { action: "drop" })
        yield* pass(60)
        const asked = Effect.map(
          fulfilment.seen,
          ({ calls }) =>
            calls.filter(({ path }) => path.startsWith(`/orders/${order.id}`)).map(({ method, path }) =>
              `${method}${path.slice(44)}`
            )
        )
        yield* until("the wish to cancel", asked, (calls) => calls.length === 2)
        yield* pass(61)
        const kept = yield* becomes(order.id, "IN_TRANSIT")
        assert.isFalse(
          kept.timeline.some(({ status }: any) => status === "failed"),
          JSON.stringify(kept.timeline)
        )
        assert.deepStrictEqual(yield* asked, ["GET", "POST/cancel", "GET"])
      }))

    it.effect("are canceled by its word", () =>
      Effect.gen(function*() {
        const order = yield* paidOrder()
        yield* settle(order)
        yield* becomes(order.id, "AWAITING_TRACKING")
        yield* ok(`orders/${order.id}/cancel`, {})
        const ended = yield* becomes(order.id, "CANCELLED_BY_MERCHANT")
        assert.deepInclude(ended, { cancellation_status: "accepted", refund_status: "AWAITING_DESTINATION" })
      }))

    it.effect("are not begun on a quote that cannot be used", () =>
      Effect.gen(function*() {
        const fulfilment = yield* Fulfilment
        const before = (yield* ok("orders")).pagination.total
        const wanted = {
          customer_id: "cust_lied_to",
          items: [{ product_id: "widget", retailer: "amazon", quantity: 1 }]
        }
        const lies = [
          { items: [], refused: [], shipping_options: [], tax: 0, fees: 0 },
          { items: "all", fees: 0.5 },
          "nothing"
        ]
        for (const lie of lies) {
          yield* fulfilment.misbehave([{ kind: "answer", answer: JSON.stringify(lie), times: 1, on: "/quote" }])
          const answer = yield* call("checkout/estimate", wanted)
          assert.deepStrictEqual([answer.status, answer.json.error.code], [503, "SERVICE_UNAVAILABLE"])
          assert.notInclude(answer.text, "fulfilment")
        }
        assert.strictEqual((yield* ok("orders")).pagination.total, before)
        assert.strictEqual((yield* call("checkout/estimate", wanted)).status, 200)
      }))
  }
)
