/**
 * Goal: an order goes the way its money, its retailer and its merchant say, and every step is told exactly once.
 * Method: a whole service whose simulated settlement and retailer work by themselves; faults by the retailer's trial
 * products; the merchant's devnet clock moved on; retailer and operator from inside by RPC.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { OrdersRpc } from "../../modules/commerce/rpc.ts"
import { RefundsRpc } from "../../modules/refunds/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { migratedDatabase } from "../support/Database.ts"
import {
  configOf,
  type DemoKeys,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

class Mall
  extends Context.Service<Mall, { readonly service: Service; readonly keys: DemoKeys }>()("test/journeys/orders/Mall")
{}

const mall = Layer.effect(
  Mall,
  Effect.gen(function*() {
    const { url } = yield* migratedDatabase
    const config = configOf({ database: url, chains: [{ use: "simulated" }] })
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: {
        ...config,
        modules: config.modules.map(({ use }) =>
          use === "settlement/simulated" || use === "retail/simulated"
            ? {
              use,
              options: {
                auto: true,
                ...(use === "retail/simulated" ? { shipAfterSeconds: 60, deliverAfterSeconds: 7_200 } : {})
              }
            }
            : { use }
        )
      }
    })
    return { service, keys: yield* service.keys }
  })
)

const call = (path: string, body?: unknown, more: TestRequest = {}) =>
  Effect.flatMap(Mall, ({ keys, service }) =>
    service.call(`/api/commerce/merchant/${path}`, {
      ...(body === undefined ? {} : { body }),
      ...more,
      headers: { "x-api-key": keys.commerce_key, ...more.headers }
    }))

const ok = (path: string, body?: unknown, more?: TestRequest) =>
  Effect.map(call(path, body, more), (answer) => assertStatus(200, answer).data)

const refused = (status: number, code: string, ...[path, body, more]: Parameters<typeof call>) =>
  Effect.map(
    call(path, body, more),
    (answer) => assert.deepStrictEqual([answer.status, answer.json?.error?.code], [status, code], answer.text)
  )

const asMerchant = (path: string, body: object) =>
  Effect.flatMap(
    Mall,
    ({ keys, service }) =>
      Effect.map(service.call(path, { body, headers: { "x-api-key": keys.merchant_key } }), (answer) =>
        assertStatus(200, answer).data)
  )

const withKey = (key: string = randomUUID()): TestRequest => ({ headers: { "idempotency-key": key } })

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

interface Bought {
  readonly id: string
  readonly invoiceId: string
}

const buy = Effect.fnUntraced(function*(product_id = "B08N5WRWNW", customer_id = `cust_${randomUUID()}`) {
  const items = [{ product_id, retailer: "amazon", quantity: 1 }]
  const { estimate_id } = yield* ok("checkout/estimate", { customer_id, items })
  const { address_id } = yield* ok("checkout/address", { customer_id, estimate_id, address })
  const { invoice_id, order, order_id } = yield* ok(
    "checkout/invoice",
    { customer_id, estimate_id, address_id },
    withKey()
  )
  assert.strictEqual(order.status, "pending_payment")
  return { id: order_id as string, invoiceId: invoice_id as string } satisfies Bought
})

const pay = ({ invoiceId }: Bought, more: object = {}) =>
  asMerchant(`/api/v1/devnet/invoices/${invoiceId}/simulate`, { action: "pay", ...more })

const pass = (seconds: number) => asMerchant("/api/v1/devnet/clock/advance", { seconds })

const read = ({ id }: Bought) => ok(`orders/${id}`)

/** Looks again until the order is there. */
const becomes = Effect.fnUntraced(function*(order: Bought, substatus: string) {
  const look = Effect.provideService(read(order), Mall, yield* Mall)
  return yield* until(substatus, look, (found) => found.substatus === substatus)
})

/** Lets a minute pass before each look, until the order has been there: it may have gone on since. */
const reaches = Effect.fnUntraced(function*(order: Bought, substatus: string) {
  const look = Effect.provideService(Effect.andThen(pass(60), read(order)), Mall, yield* Mall)
  return yield* until(substatus, look, (found) => substatuses(found).includes(substatus))
})

/** Events of an order, oldest first: one created, then one for each commit, each leading back to the one before. */
const history = Effect.fnUntraced(function*({ id }: Bought) {
  const { keys, service } = yield* Mall
  const found = yield* service.call(`/api/v1/events?order_id=${id}&limit=100`, {
    headers: { "x-api-key": keys.commerce_key }
  })
  const events: ReadonlyArray<any> = assertStatus(200, found).data.data.toReversed()
    .filter(({ type }: any) => type.startsWith("commerce.order."))
  assert.strictEqual(events[0].type, "commerce.order.created")
  events.slice(1).forEach(({ data, type }, index) => {
    assert.strictEqual(type, "commerce.order.updated")
    assert.deepStrictEqual({ ...data.object, ...data.previous_attributes }, events[index].data.object)
  })
  assert.deepStrictEqual(events.at(-1).data.object, yield* read({ id, invoiceId: "" }))
  return events.map(({ data }) => `${data.object.substatus} ${data.object.refund_status}`)
})

const substatuses = (order: any): ReadonlyArray<string> => order.timeline.map(({ substatus }: any) => substatus)

/** The internal port of the service under test. */
const door = Layer.unwrap(
  Effect.map(Mall, ({ service }) => InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
)

layer(mall, { excludeTestServices: true })("orders", (it) => {
  it.effect("go from payment to delivery by themselves, with every event told once", () =>
    Effect.gen(function*() {
      const order = yield* buy()
      yield* pay(order)
      yield* becomes(order, "AWAITING_TRACKING")
      yield* pass(120)
      yield* becomes(order, "IN_TRANSIT")
      yield* pass(86_400)
      const done = yield* becomes(order, "DELIVERY_CONFIRMED")
      const happy = [
        "AWAITING_PAYMENT",
        "AWAITING_SETTLEMENT",
        "PROVIDER_PLACEMENT_SUBMITTED",
        "AWAITING_TRACKING",
        "IN_TRANSIT",
        "DELIVERED",
        "DELIVERY_CONFIRMED"
      ]
      assert.deepStrictEqual(substatuses(done).filter((each) => each !== "PAYMENT_CONFIRMING"), happy)
      assert.deepInclude(done.payment, { status: "paid" })
      assert.deepInclude(done.payment.settlement, { status: "settled" })
      assert.deepStrictEqual(done.line_items.map(({ status }: any) => status), ["delivered"])
      assert.deepStrictEqual(
        (yield* history(order)).filter((each) => !each.startsWith("PAYMENT_CONFIRMING")),
        [
          ...happy.slice(0, 5),
          "DELIVERY_CONFIRMED"
        ].map((each) => `${each} NONE`)
      )
    }))

  it.effect("are placed again by a silent retailer; refused for good, they fail and are refunded without a fee", () =>
    Effect.gen(function*() {
      const slow = yield* buy("SIM-PLACE-UNAVAILABLE-2")
      const never = yield* buy("SIM-PLACE-REFUSED")
      yield* pay(slow)
      yield* pay(never)
      yield* becomes(slow, "PROVIDER_PLACEMENT_RETRYING")
      yield* reaches(slow, "AWAITING_TRACKING")
      const failed = yield* becomes(never, "PLACEMENT_FAILED")
      assert.deepInclude(failed.refund, {
        status: "AWAITING_DESTINATION",
        amount: failed.total_amount,
        fee: 0,
        reason: "order_failed"
      })
      assert.deepInclude(failed.refund_quote, { fee: 0, net_amount: failed.total_amount })
      const path = `orders/${never.id}/refund-destination`
      const put = { method: "PUT" } as const
      const good = "0x52908400098527886E0F7030069857D2E4169EE7"
      yield* refused(400, "WALLET_ADDRESS_INVALID", path, { address: good.replace("E7", "e7"), network: "bsc" }, put)
      yield* refused(400, "VALIDATION_ERROR", path, { address: good, network: "dogecoin" }, put)
      const sent = yield* ok(path, { address: good, network: "bsc" }, put)
      assert.deepInclude(sent.refund, {
        status: "PROCESSING",
        destination_wallet_address: good,
        destination_network: "bsc",
        fee: 0
      })
      yield* refused(409, "INVALID_TRANSITION", path, { address: good, network: "base" }, put)
      const operator = yield* RpcClient.make(RefundsRpc)
      yield* operator["refunds.report"]({
        refund_id: sent.refund.refund_id,
        report: { status: "succeeded", tx_hash: "0xabc" },
        actor: "payout-desk"
      })
      const { keys, service } = yield* Mall
      const logged = yield* service.call(`/api/v1/audit-log?subject_id=${sent.refund.refund_id}`, {
        headers: { "x-api-key": keys.merchant_key }
      })
      const [act, ...others] = assertStatus(200, logged).data.data
      assert.deepStrictEqual(others, [])
      assert.include(act, { actor: "service:payout-desk", action: "refund.report_succeeded" })
      assert.deepInclude(act.before, { status: "processing", tx_hash: null })
      assert.deepInclude(act.after, { status: "succeeded", tx_hash: "0xabc" })
      const repaid = yield* read(never)
      assert.deepInclude(repaid, { refund_status: "REFUNDED", refund_quote: null })
      assert.deepStrictEqual(repaid.line_items.map(({ status }: any) => status), ["refunded"])
      assert.deepStrictEqual((yield* history(never)).slice(-3), [
        "PLACEMENT_FAILED AWAITING_DESTINATION",
        "PLACEMENT_FAILED PROCESSING",
        "PLACEMENT_FAILED REFUNDED"
      ])
    }).pipe(Effect.provide(door)))

  it.effect("are canceled with their invoice before they are paid, once, and not in between", () =>
    Effect.gen(function*() {
      const order = yield* buy()
      const key = randomUUID()
      yield* refused(400, "IDEMPOTENCY_KEY_MISSING", `orders/${order.id}/cancel`, {})
      const { keys, service } = yield* Mall
      const alone = yield* service.call(`/api/v1/invoices/${order.invoiceId}/cancel`, {
        body: {},
        headers: { "x-api-key": keys.merchant_key }
      })
      assert.strictEqual(alone.json.code, "INVOICE_NOT_CANCELABLE")
      assert.include(alone.json.error, `POST /api/commerce/merchant/orders/${order.id}/cancel`)
      const first = yield* ok(`orders/${order.id}/cancel`, {}, withKey(key))
      assert.deepStrictEqual(first, {
        order_id: order.id,
        status: "cancelled",
        substatus: "CANCELLED_BY_MERCHANT",
        refund_quote: null
      })
      const again = yield* call(`orders/${order.id}/cancel`, {}, withKey(key))
      assert.deepStrictEqual([again.json.data, again.headers["idempotent-replayed"]], [first, "true"])
      yield* refused(409, "ORDER_NOT_CANCELABLE", `orders/${order.id}/cancel`, {}, withKey())
      assert.deepInclude((yield* read(order)).payment, { status: "canceled" })
      const part = yield* buy()
      yield* pay(part, { action: "partial" })
      yield* becomes(part, "PARTIALLY_PAID")
      const ended = yield* ok(
        `orders/${part.id}/cancel`,
        { refundDestinationWalletAddressBsc: "0x52908400098527886E0F7030069857D2E4169EE7", reason: "Changed my mind" },
        withKey()
      )
      assert.isAbove(ended.refund_quote.fee, 0)
      const after = yield* read(part)
      assert.strictEqual(after.timeline.at(-1).message, "Changed my mind")
      assert.deepInclude(after.refund, {
        status: "PROCESSING",
        reason: "order_cancelled",
        amount: after.payment.amount_paid
      })
    }))

  it.effect("end with an invoice that nobody pays in time", () =>
    Effect.gen(function*() {
      const order = yield* buy()
      yield* pass(3_600)
      const ended = yield* becomes(order, "PAYMENT_EXPIRED")
      assert.deepInclude(ended, { status: "cancelled", refund_status: "NONE" })
      assert.deepStrictEqual(yield* history(order), ["AWAITING_PAYMENT NONE", "PAYMENT_EXPIRED NONE"])
    }))

  it.effect("once placed, are canceled if the retailer agrees", () =>
    Effect.gen(function*() {
      const stays = yield* buy("SIM-CANCEL-REFUSED")
      const goes = yield* buy()
      yield* pay(stays)
      yield* pay(goes)
      yield* becomes(stays, "AWAITING_TRACKING")
      yield* becomes(goes, "AWAITING_TRACKING")
      for (const { id } of [stays, goes]) {
        const asked = yield* ok(`orders/${id}/cancel`, undefined, { ...withKey(), method: "POST" })
        assert.deepInclude(asked, { status: "placed", substatus: "CANCELLATION_REQUESTED" })
        assert.isAbove(asked.refund_quote.net_amount, 0)
      }
      const back = yield* becomes(stays, "AWAITING_TRACKING")
      assert.deepInclude(back, { cancellation_status: "rejected", refund_status: "NONE", refund_quote: null })
      const ended = yield* becomes(goes, "CANCELLED_BY_MERCHANT")
      assert.deepInclude(ended, { cancellation_status: "accepted", refund_status: "AWAITING_DESTINATION" })
    }))

  it.effect("hear internal services as they hear the retailer", () =>
    Effect.gen(function*() {
      const order = yield* buy()
      const inside = yield* RpcClient.make(OrdersRpc)
      const merchant_id = MerchantId.make((yield* Mall).keys.merchant_id)
      const here = { merchant_id, order_id: order.id }
      const codeOf = (call: Effect.Effect<unknown, { readonly code?: string }>) =>
        Effect.map(Effect.flip(call), ({ code }) => code)
      assert.strictEqual((yield* inside["orders.get"](here)).substatus, "AWAITING_PAYMENT")
      const codes = yield* Effect.forEach([
        inside["orders.report.placed"]({ ...here, provider_order_id: "p1" }),
        inside["orders.report.delivered"]({ ...here, confirmed: true }),
        inside["orders.report.failed"]({ ...here, reason: "No" }),
        inside["orders.get"]({ merchant_id, order_id: randomUUID() })
      ], (call) => codeOf(call as never))
      assert.deepStrictEqual(codes, [
        "INVALID_TRANSITION",
        "INVALID_TRANSITION",
        "INVALID_TRANSITION",
        "ORDER_NOT_FOUND"
      ])
      assert.deepStrictEqual(yield* history(order), ["AWAITING_PAYMENT NONE"])
    }).pipe(Effect.provide(door)))

  it.effect("are nobody else's: of another merchant there is none, and a key of merchant scope is refused", () =>
    Effect.gen(function*() {
      const { keys, service } = yield* Mall
      const order = yield* buy()
      const inside = yield* RpcClient.make(AuthRpc)
      const { id: merchant_id } = yield* inside["auth.merchants.create"]({ name: "Other" })
      const { key } = yield* inside["auth.keys.create"]({
        merchant_id,
        name: "shop",
        scope: "commerce",
        environment: "devnet"
      })
      service.guard(key)
      const before = yield* history(order)
      for (
        const [headers, status, code] of [
          [{ "x-api-key": key }, 404, "ORDER_NOT_FOUND"],
          [{ "x-api-key": keys.merchant_key }, 403, "SCOPE_MISMATCH"]
        ] as const
      ) {
        yield* refused(status, code, `orders/${order.id}`, undefined, { headers })
        yield* refused(status, code, `payments/${order.id}/status`, undefined, { headers })
        yield* refused(status, code, `orders/${order.id}/cancel`, {}, { headers: { ...headers, ...withKey().headers } })
        const destination = { address: "0x52908400098527886E0F7030069857D2E4169EE7", network: "bsc" }
        yield* refused(status, code, `orders/${order.id}/refund-destination`, destination, { headers, method: "PUT" })
      }
      const bulk = yield* ok("payments/bulk-status", { order_ids: [order.id] }, { headers: { "x-api-key": key } })
      assert.deepStrictEqual(bulk, { payments: [], not_found: [order.id] })
      assert.deepStrictEqual((yield* ok("orders", undefined, { headers: { "x-api-key": key } })).pagination.total, 0)
      const inner = yield* RpcClient.make(OrdersRpc)
      const hidden = yield* Effect.flip(inner["orders.get"]({ merchant_id, order_id: order.id }))
      assert.strictEqual((hidden as { readonly code?: string }).code, "ORDER_NOT_FOUND")
      assert.deepStrictEqual(yield* history(order), before)
    }).pipe(Effect.provide(door)))

  it.effect("are listed by every filter with their total, and asked for by the hundred", () =>
    Effect.gen(function*() {
      const customer = `cust_${randomUUID()}`
      const [first, second] = [yield* buy("B08N5WRWNW", customer), yield* buy("B09B8V1LZ3", customer)]
      yield* ok(`orders/${first.id}/cancel`, {}, withKey())
      const list = (query: string) => ok(`orders?customer_id=${customer}&${query}`)
      const ids = (found: any) => found.orders.map(({ id }: any) => id)
      assert.deepStrictEqual(ids(yield* list("")), [second.id, first.id])
      assert.deepStrictEqual(yield* Effect.map(list("limit=1&offset=1"), (found) => [ids(found), found.pagination]), [
        [first.id],
        { limit: 1, offset: 1, count: 1, total: 2 }
      ])
      assert.deepStrictEqual(ids(yield* list("status=cancelled&retailer=amazon")), [first.id])
      assert.deepStrictEqual(ids(yield* list("wallet_network=bsc")), [])
      const all = yield* ok("orders?limit=100")
      for (
        const [field, value] of [["status", "cancelled"], ["status", "failed"], ["retailer", "amazon"], [
          "retailer",
          "ebay"
        ]] as const
      ) {
        const some = yield* ok(`orders?limit=100&${field}=${value}`)
        assert.deepStrictEqual(
          ids(some),
          all.orders.filter((order: any) => order[field] === value).map(({ id }: any) => id)
        )
        assert.strictEqual(some.pagination.total, some.orders.length, `${field}=${value}`)
      }
      assert.strictEqual(all.pagination.total, all.orders.length)
      const since = all.orders[0].created_at
      const recent = yield* ok(`orders?created_from=${since}&limit=100`)
      assert.strictEqual(
        recent.pagination.total,
        all.orders.filter(({ created_at }: any) => created_at >= since).length
      )
      for (
        const [query, code] of [
          ["status=lost", "VALIDATION_ERROR"],
          ["limit=0", "INVALID_LIMIT"],
          ["limit=101", "INVALID_LIMIT"],
          ["offset=-1", "INVALID_OFFSET"],
          ["offset=10001", "INVALID_OFFSET"],
          ["wallet_network=doge", "VALIDATION_ERROR"],
          ["created_from=yesterday", "VALIDATION_ERROR"],
          ["environment=mainnet", "ENVIRONMENT_FORBIDDEN"]
        ] as const
      ) yield* refused(code === "ENVIRONMENT_FORBIDDEN" ? 403 : 400, code, `orders?${query}`)
      const status = yield* ok(`payments/${first.id}/status`)
      assert.deepInclude(status, {
        order_id: first.id,
        invoice_id: first.invoiceId,
        status: "canceled",
        order_status: "cancelled"
      })
      const nobody = randomUUID()
      const bulk = yield* ok("payments/bulk-status", { order_ids: [second.id, nobody, first.id, second.id] })
      assert.deepStrictEqual(bulk.payments.map(({ order_id }: any) => order_id), [second.id, first.id])
      assert.deepStrictEqual(bulk.not_found, [nobody])
      yield* refused(400, "VALIDATION_ERROR", "payments/bulk-status", { order_ids: [] })
      yield* refused(400, "VALIDATION_ERROR", "payments/bulk-status", {
        order_ids: Array.from({ length: 101 }, () => randomUUID())
      })
      yield* refused(404, "ORDER_NOT_FOUND", `orders/${nobody}`)
    }))
})
