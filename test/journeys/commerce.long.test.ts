/**
 * Goal: an order goes from a cart to wherever it ends, and its merchant is told every step of it exactly once, in the
 * same words on every channel. Method: the service with play money, a merchant for each journey with a real webhook
 * receiver and the commerce websocket; what chains, banks and retailers would do comes by the simulator, what an
 * operator would do by RPC.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { OrdersRpc } from "../../modules/commerce/rpc.ts"
import { RefundsRpc } from "../../modules/refunds/rpc.ts"
import { SettlementsRpc } from "../../modules/settlement/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import type { MerchantId } from "../../schemas/Ids.ts"
import { migratedDatabase } from "../support/Database.ts"
import { makeReceiver, type Receiver } from "../support/Receiver.ts"
import {
  configOf,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"
import { type Client, connectTo } from "../support/Sockets.ts"
import { assertStatus, verifySignatures } from "./Shop.ts"

const makeOperator = RpcClient.make(AuthRpc.merge(OrdersRpc, RefundsRpc, SettlementsRpc))

class Mall extends Context.Service<Mall, {
  readonly receiver: Receiver
  readonly service: Service
  readonly operator: Effect.Success<typeof makeOperator>
}>()("test/Mall") {
  static readonly layer = Layer.effect(
    Mall,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }], receivers: [receiver.host] })
      const service = yield* startService({ directory: yield* temporaryDirectory, config })
      const door = yield* Layer.build(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
      return Mall.of({ receiver, service, operator: yield* Effect.provideContext(makeOperator, door) })
    })
  )
}

/** A merchant with its keys, and its ears. */
interface Stall {
  readonly merchantId: MerchantId
  readonly secret: string
  readonly hooks: string
  readonly stream: Client
  /** A call with the commerce key, POST where it has a body; answers `data` of status 200. */
  readonly ask: (path: string, sent?: TestRequest) => Effect.Effect<any>
  /** The same of a call that is refused: `<status> <code>`. */
  readonly refusal: (path: string, sent?: TestRequest) => Effect.Effect<string>
  /** The same as {@link ask} with the merchant key. */
  readonly own: (path: string, sent?: TestRequest) => Effect.Effect<any>
}

const openStall = Effect.gen(function*() {
  const { operator, receiver, service } = yield* Mall
  const { id: merchant_id } = yield* Effect.orDie(operator["auth.merchants.create"]({ name: "Stall" }))
  const makeKey = Effect.fnUntraced(function*(scope: "commerce" | "merchant") {
    const { key } = yield* Effect.orDie(
      operator["auth.keys.create"]({ merchant_id, name: scope, scope, environment: "devnet" })
    )
    service.guard(key)
    return key
  })
  const [commerce, merchant] = [yield* makeKey("commerce"), yield* makeKey("merchant")]
  const call = (key: string) => (path: string, sent: TestRequest = {}) =>
    service.call(path, {
      ...sent,
      headers: { "x-api-key": key, ...(sent.body === undefined ? {} : { "idempotency-key": randomUUID() }) }
    })
  const data = (key: string) => (path: string, sent?: TestRequest) =>
    Effect.map(call(key)(path, sent), (answer) => assertStatus(200, answer).data)
  const hooks = `/${randomUUID()}`
  const { secret } = yield* data(merchant)("/api/v1/webhooks", {
    body: { url: receiver.url(hooks), enabled_events: ["*"] }
  })
  const stream = yield* Effect.orDie(
    connectTo(`${service.url.replace("http", "ws")}/ws/commerce/events`, { headers: { "x-api-key": commerce } })
  )
  const stall: Stall = {
    merchantId: merchant_id,
    secret,
    hooks,
    stream,
    ask: data(commerce),
    own: data(merchant),
    refusal: (path, sent) =>
      Effect.map(call(commerce)(path, sent), ({ json, status }) => `${status} ${json.error?.code}`)
  }
  return stall
})

const orders = "/api/commerce/merchant/orders"
const address = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
}

const item = { product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", quantity: 1, price: 9.99 }

/** A customer's wallet on BSC, as EIP-55 writes it, and with one letter in the wrong case. */
const wallet = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
const mistyped = wallet.replace("fB", "FB")

/** What the item costs, delivered, in usd_millis (modules/docs/reference/retailers.md#the-simulated-retailer). */
const total = 13_990

/** What somebody buys, and what the invoice then says beside it. */
interface Wanted {
  readonly product_id?: string
  readonly more?: object
}

interface Sale {
  readonly orderId: string
  readonly invoiceId: string
  /** Headers of the payor's calls. */
  readonly session: Readonly<Record<string, string>>
}

/** The customer's way to an order that waits for its payment: cart, estimate, address, invoice. */
const sell = Effect.fnUntraced(function*(stall: Stall, { more = {}, product_id = item.product_id }: Wanted = {}) {
  const customer_id = randomUUID()
  const checkout = (step: string, body: object) =>
    stall.ask(`/api/commerce/merchant/checkout/${step}`, { body: { customer_id, ...body } })
  const cart = yield* stall.ask("/api/commerce/merchant/carts", {
    body: { customer_id, item: { ...item, product_id } }
  })
  assert.include(cart, { item_count: 1, subtotal: 9_990 })
  const estimate = yield* checkout("estimate", { use_cart: true, zip_code: address.zip_code })
  const { estimate_id, pricing: { total } } = estimate
  const addressed = yield* checkout("address", { estimate_id, address })
  assert.strictEqual(addressed.estimate.pricing.total, total)
  const made = yield* checkout("invoice", { estimate_id, address_id: addressed.address_id, ...more })
  assert.include(made, { amount: total, status: "unpaid" })
  assert.deepInclude(made.order, { id: made.order_id, status: "pending_payment", substatus: "AWAITING_PAYMENT" })
  const left = yield* stall.ask(`/api/commerce/merchant/carts?customer_id=${customer_id}`)
  assert.strictEqual(left.item_count, cart.item_count, "the cart is not touched")
  const sale: Sale = { orderId: made.order_id, invoiceId: made.invoice_id, session: made.payment_session_headers }
  return sale
})

const orderOf = (stall: Stall, { orderId }: Sale) => stall.ask(`${orders}/${orderId}`)

/** The payor chooses to pay with test dollars on base. */
const route = Effect.fnUntraced(function*({ session }: Sale) {
  const { service } = yield* Mall
  const offered = yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", {
    headers: session
  })
  const { id: token_id } = assertStatus(200, offered).find((token: any) => token.token_symbol === "USDC")
  const shown = yield* service.call("/api/v1/payments/payment-addresses", {
    headers: session,
    body: { network: "base", token_id }
  })
  assertStatus(200, shown)
})

/** Something that happens to the invoice's money. */
const money = (stall: Stall, { invoiceId }: Sale, action: string, more: object = {}) =>
  stall.own(`/api/v1/devnet/invoices/${invoiceId}/simulate`, { body: { action, ...more } })

/** What the retailer or the payout tells of the order; answers the order, after exactly one event of it. */
const step = Effect.fnUntraced(function*(stall: Stall, { orderId }: Sale, transition_to: string, more: object = {}) {
  const { event_ids, order } = yield* stall.ask(`/api/commerce/devnet/orders/${orderId}/simulate`, {
    body: { transition_to, ...more }
  })
  assert.isNotEmpty(event_ids)
  return order
})

const stateOf = ({ status, substatus }: any) => `${status} ${substatus}`

/** An order whose money has come and is the merchant's. */
const settledSale = Effect.fnUntraced(function*(stall: Stall) {
  const sale = yield* sell(stall)
  yield* money(stall, sale, "pay")
  assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing AWAITING_SETTLEMENT")
  yield* money(stall, sale, "settle")
  assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing PROVIDER_PLACEMENT_SUBMITTED")
  return sale
})

const placedSale = Effect.fnUntraced(function*(stall: Stall) {
  const sale = yield* settledSale(stall)
  assert.strictEqual(stateOf(yield* step(stall, sale, "placed")), "placed AWAITING_TRACKING")
  return sale
})

/** An event's text without how many deliveries are open, which the API counts live. */
const plain = (text: string) => text.replace(/"pending_webhooks":\d+/, "")

/** All that was told of a merchant, oldest first. */
const eventsOf = (stall: Stall) =>
  Effect.map(stall.own("/api/v1/events?limit=100"), ({ data }): ReadonlyArray<any> => data.toReversed())

/**
 * Waits until the order of `sale` has come through exactly `states`, and judges all that was told of this merchant: the
 * events API, the webhooks and the websocket say the same, each event once; what an event says was before is what the
 * one before it said; the last one is the order as it is read.
 */
const judge = Effect.fnUntraced(function*(stall: Stall, sale: Sale, states: ReadonlyArray<string>) {
  const { receiver } = yield* Mall
  const ofOrder = ({ data: { object } }: any) => object.object === "commerce_order"
  const events = yield* until(
    "the order's last step",
    eventsOf(stall),
    (found) => stateOf(found.findLast(ofOrder)?.data.object ?? {}) === states.at(-1)
  )
  const told = events.filter(ofOrder)
  assert.deepStrictEqual(told.map(({ data }) => stateOf(data.object)), states)
  assert.deepStrictEqual(told.map(({ type }) => type), [
    "commerce.order.created",
    ...states.slice(1).map(() => "commerce.order.updated")
  ])

  const latest = new Map<string, any>()
  for (const { data: { object, previous_attributes } } of events) {
    const before = latest.get(object.id)
    const isSame = before !== undefined && JSON.stringify(before) === JSON.stringify(object)
    if (before !== undefined && !isSame) assert.deepStrictEqual({ ...object, ...previous_attributes }, before)
    latest.set(object.id, object)
  }
  for (const [place, { data: { object } }] of told.entries()) {
    const before = told[place - 1]?.data.object.timeline ?? []
    assert.deepStrictEqual(object.timeline.slice(0, before.length), before, "a timeline only grows")
  }
  const order = yield* orderOf(stall, sale)
  assert.deepStrictEqual(order, told.at(-1).data.object)

  const arrivals = yield* until(
    "the webhooks",
    Effect.sync(() => receiver.arrivals(stall.hooks)),
    (found) => found.length >= events.length
  )
  for (const arrival of arrivals) verifySignatures(arrival, stall.secret)
  const bodies = new Map(arrivals.map(({ body }) => [JSON.parse(body.toString()).id, body.toString()]))
  assert.strictEqual(arrivals.length, events.length, "each event is delivered once")
  assert.deepStrictEqual(
    events.map((event) => plain(JSON.stringify(event))),
    events.map(({ id }) => plain(bodies.get(id)!))
  )
  const streamed = events.map(({ id }) => bodies.get(id)!)
  const heard = yield* until(
    "the websocket",
    Effect.sync(() => stall.stream.texts.filter((text) => text.startsWith("{\"id\":\"evt_"))),
    (found) => found.length >= streamed.length
  )
  assert.deepStrictEqual(heard, streamed)
  return { order, events }
})

/** States of an order until its money is the merchant's. */
const untilSettled = [
  "pending_payment AWAITING_PAYMENT",
  "processing AWAITING_SETTLEMENT",
  "processing PROVIDER_PLACEMENT_SUBMITTED"
]
const untilPlaced = [...untilSettled, "placed AWAITING_TRACKING"]

layer(Mall.layer, { excludeTestServices: true })("an order", (it) => {
  it.effect("is placed once its money has settled, shipped and delivered", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall, { more: { metadata: { note: "✓ \"quoted\" \u2028" } } })
      yield* money(stall, sale, "pay")
      assert.strictEqual(
        yield* stall.refusal(`/api/commerce/devnet/orders/${sale.orderId}/simulate`, {
          body: { transition_to: "placed" }
        }),
        "409 INVALID_TRANSITION"
      )
      yield* money(stall, sale, "settle")
      yield* step(stall, sale, "placed")
      const tracking = { carrier: "UPS", tracking_number: "1Z999" }
      const shipped = yield* step(stall, sale, "shipped", { tracking })
      assert.deepInclude(shipped.fulfillment.shipments[0], { ...tracking, delivery_status: "in_transit" })
      yield* step(stall, sale, "delivery_confirmed")
      const { events, order } = yield* judge(stall, sale, [
        ...untilPlaced,
        "shipped IN_TRANSIT",
        "delivered DELIVERY_CONFIRMED"
      ])
      assert.deepInclude(order, { refund_status: "NONE", cancellation_status: "none", total_amount: total })
      assert.strictEqual(order.payment.settlement.status, "settled")
      assert.deepStrictEqual(order.timeline.map(stateOf), [
        ...untilPlaced,
        "shipped IN_TRANSIT",
        "delivered DELIVERY_CONFIRMED"
      ])
      assert.deepStrictEqual(events.slice(0, 2).map(({ type }) => type), ["commerce.order.created", "invoice.created"])
      assert.strictEqual(events.filter(({ type }) => type === "invoice.paid").length, 1)
    }))

  it.effect("is canceled with its invoice before it is paid, and is nothing to cancel while it is processed", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall)
      const ended = yield* stall.ask(`${orders}/${sale.orderId}/cancel`, { body: { reason: "Changed my mind" } })
      assert.deepInclude(ended, { status: "cancelled", substatus: "CANCELLED_BY_MERCHANT", refund_quote: null })
      assert.include(yield* stall.ask(`/api/commerce/merchant/payments/${sale.orderId}/status`), { status: "canceled" })
      const { events } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "cancelled CANCELLED_BY_MERCHANT"
      ])
      assert.deepStrictEqual(events.map(({ type }) => type), [
        "commerce.order.created",
        "invoice.created",
        "invoice.updated",
        "invoice.canceled",
        "commerce.order.updated"
      ])

      const paid = yield* settledSale(stall)
      const body = { reason: "Too late" }
      assert.strictEqual(yield* stall.refusal(`${orders}/${paid.orderId}/cancel`, { body }), "409 ORDER_NOT_CANCELABLE")
    }))

  it.effect("is canceled after placement where the retailer agrees, and refunded, less the fee", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* placedSale(stall)
      const asked = yield* stall.ask(`${orders}/${sale.orderId}/cancel`, {
        body: { refund_destination_wallet_address_bsc: wallet }
      })
      assert.deepInclude(asked, { status: "placed", substatus: "CANCELLATION_REQUESTED" })
      assert.deepInclude(asked.refund_quote, { amount: total, network: "bsc" })
      const canceled = yield* step(stall, sale, "cancelled")
      assert.include(canceled, { cancellation_status: "accepted" })
      assert.include(canceled.refund, { amount: total, destination_wallet_address: wallet })
      const refunded = yield* step(stall, sale, "refunded")
      assert.deepInclude(refunded, { status: "cancelled", refund_status: "REFUNDED" })
      assert.isString(refunded.refund.tx_hash)
      assert.strictEqual(refunded.refund.fee, asked.refund_quote.fee)
      yield* judge(stall, sale, [
        ...untilPlaced,
        "placed CANCELLATION_REQUESTED",
        "cancelled CANCELLED_BY_MERCHANT",
        "cancelled CANCELLED_BY_MERCHANT"
      ])
    }))

  it.effect("goes on after placement where the retailer does not let it be canceled", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* placedSale(stall)
      yield* stall.ask(`${orders}/${sale.orderId}/cancel`, { body: {} })
      const kept = yield* step(stall, sale, "cancellation_rejected")
      assert.include(kept, { cancellation_status: "rejected", refund_status: "NONE" })
      yield* step(stall, sale, "shipped")
      yield* step(stall, sale, "delivery_confirmed")
      yield* judge(stall, sale, [
        ...untilPlaced,
        "placed CANCELLATION_REQUESTED",
        "placed AWAITING_TRACKING",
        "shipped IN_TRANSIT",
        "delivered DELIVERY_CONFIRMED"
      ])
    }))

  it.effect("that cannot be placed fails, and all of it is refunded once its customer says where to", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* settledSale(stall)
      const failed = yield* step(stall, sale, "failed")
      assert.deepInclude(failed, {
        status: "failed",
        substatus: "PLACEMENT_FAILED",
        refund_status: "AWAITING_DESTINATION"
      })
      assert.include(failed.refund, { amount: total, fee: 0 })
      const path = `${orders}/${sale.orderId}/refund-destination`
      const body = { address: mistyped, network: "bsc" }
      assert.strictEqual(yield* stall.refusal(path, { method: "PUT", body }), "400 WALLET_ADDRESS_INVALID")
      const told = yield* stall.ask(path, { method: "PUT", body: { address: wallet, network: "bsc" } })
      assert.include(told.refund, { destination_wallet_address: wallet })
      const refunded = yield* step(stall, sale, "refunded")
      assert.deepInclude(refunded, { status: "failed", refund_status: "REFUNDED" })
      const { events } = yield* judge(stall, sale, [
        ...untilSettled,
        ...Array.from({ length: 3 }, () => "failed PLACEMENT_FAILED")
      ])
      assert.strictEqual(events.filter(({ type }) => type === "invoice_payment.refunded").length, 1)
      const [payment] = events.filter(({ type }) => type === "invoice_payment.refunded")
      assert.strictEqual(payment.data.object.settlement_status, "refunded")
    }))

  it.effect("waits for an operator where its money does not settle, and is placed once the operator has settled it", () =>
    Effect.gen(function*() {
      const { operator } = yield* Mall
      const stall = yield* openStall
      const sale = yield* sell(stall)
      const { invoice_payment: { id } } = yield* money(stall, sale, "pay")
      yield* money(stall, sale, "fail_settlement")
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing AWAITING_SETTLEMENT")
      const report = (told: any) => Effect.orDie(operator["settlements.report"]({ payment_id: id, report: told }))
      yield* report({ status: "review", reason: "The bank asks" })
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing SETTLEMENT_REVIEW")
      const { settlement } = yield* Effect.orDie(operator["settlements.get"]({ payment_id: id }))
      assert.deepInclude(settlement, { settlement_status: "manual", reason: "The bank asks", is_open: true })
      yield* report({ status: "settled", tx_hash: "0xsettled", network: "base", amount: null })
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing PROVIDER_PLACEMENT_SUBMITTED")
      yield* step(stall, sale, "placed")
      const { order } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "processing AWAITING_SETTLEMENT",
        "processing AWAITING_SETTLEMENT",
        "processing SETTLEMENT_REVIEW",
        "processing PROVIDER_PLACEMENT_SUBMITTED",
        "placed AWAITING_TRACKING"
      ])
      assert.deepInclude(order.payment.settlement, { status: "settled", tx_hash: "0xsettled" })
    }))

  it.effect("fails where the operator gives its settlement up, and is paid back by the operator at the second try", () =>
    Effect.gen(function*() {
      const { operator } = yield* Mall
      const stall = yield* openStall
      const sale = yield* sell(stall, { more: { refund_destination_wallet_address_bsc: wallet } })
      const { invoice_payment: { id } } = yield* money(stall, sale, "pay")
      yield* Effect.orDie(
        operator["settlements.report"]({ payment_id: id, report: { status: "given_up", reason: "Frozen" } })
      )
      const order = yield* orderOf(stall, sale)
      assert.strictEqual(stateOf(order), "failed SETTLEMENT_FAILED")
      assert.include(order.refund, { amount: total, fee: 0, destination_wallet_address: wallet })
      const { refunds } = yield* Effect.orDie(
        operator["refunds.list"]({ merchant_id: stall.merchantId, status: "processing" })
      )
      assert.deepStrictEqual(refunds.map(({ refund }) => refund.amount), [total])
      const refund_id = refunds[0]!.refund.id
      const report = (told: any) => Effect.orDie(operator["refunds.report"]({ refund_id, report: told }))
      const refundStatus = Effect.map(orderOf(stall, sale), ({ refund_status }) => refund_status)
      assert.strictEqual(yield* refundStatus, "PROCESSING")
      yield* report({ status: "failed", failure_code: "payout_failed" })
      assert.strictEqual(yield* refundStatus, "FAILED")
      yield* Effect.orDie(operator["refunds.retry"]({ refund_id }))
      assert.strictEqual(yield* refundStatus, "PROCESSING")
      yield* report({ status: "submitted", tx_hash: `0x${"ab".repeat(32)}` })
      yield* report({ status: "succeeded", tx_hash: `0x${"ab".repeat(32)}` })
      yield* report({ status: "succeeded", tx_hash: `0x${"ab".repeat(32)}` })
      assert.strictEqual(yield* refundStatus, "REFUNDED")
      const { events } = yield* judge(stall, sale, [
        ...untilSettled.slice(0, 2),
        ...Array.from({ length: 5 }, () => "failed SETTLEMENT_FAILED")
      ])
      assert.strictEqual(events.filter(({ type }) => type === "invoice_payment.refunded").length, 1)
    }))

  it.effect("ends with its invoice when its merchant's clock says so, and what comes after is owed back", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall)
      yield* route(sale)
      const { ahead_seconds } = yield* stall.own("/api/v1/devnet/clock/advance", { body: { seconds: 1_801 } })
      assert.strictEqual(ahead_seconds, 1_801)
      const { events, order } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "cancelled PAYMENT_EXPIRED"
      ])
      assert.deepStrictEqual(events.map(({ type }) => type), [
        "commerce.order.created",
        "invoice.created",
        "invoice.updated",
        "invoice.expired",
        "commerce.order.updated"
      ])
      assert.isAtLeast(order.updated_at, order.created_at + 1_800)
      assert.include(order, { refund_status: "NONE" })
      yield* money(stall, sale, "late")
      const { order: owing } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "cancelled PAYMENT_EXPIRED",
        "cancelled PAYMENT_EXPIRED"
      ])
      assert.include(owing, { refund_status: "AWAITING_DESTINATION" })
      assert.include(owing.refund, { amount: total })
      assert.include(yield* stall.ask(`/api/commerce/merchant/payments/${sale.orderId}/status`), { amount_paid: 0 })
    }))

  it.effect("that is short when its invoice ends gets no grace, and what came is owed back", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall)
      yield* money(stall, sale, "partial")
      yield* stall.own("/api/v1/devnet/clock/advance", { body: { seconds: 1_801 } })
      const { order } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "pending_payment PARTIALLY_PAID",
        "cancelled PAYMENT_EXPIRED"
      ])
      assert.include(order, { refund_status: "AWAITING_DESTINATION" })
      assert.include(order.refund, { amount: total / 2 })
    }))

  it.effect("whose retailer gives no answer is tried again, and is reported by whoever fulfils it instead", () =>
    Effect.gen(function*() {
      const { operator } = yield* Mall
      const stall = yield* openStall
      const sale = yield* sell(stall, { product_id: "SIM-PLACE-UNAVAILABLE-9" })
      yield* money(stall, sale, "pay")
      yield* money(stall, sale, "settle")
      const isRetrying = (order: any) => stateOf(order) === "processing PROVIDER_PLACEMENT_RETRYING"
      yield* until("the first try has failed", orderOf(stall, sale), isRetrying)
      const order = { merchant_id: stall.merchantId, order_id: sale.orderId }
      const placed = yield* Effect.orDie(operator["orders.report.placed"]({ ...order, provider_order_id: "PO-1" }))
      assert.strictEqual(placed.fulfillment.provider_order_id, "PO-1")
      const refused = yield* Effect.flip(operator["orders.report.failed"]({ ...order, reason: "Too late" }))
      assert.include(refused, { code: "INVALID_TRANSITION" })
      const shipment = {
        shipment_id: "ship_1",
        carrier: "UPS",
        tracking_number: "1Z999",
        carrier_tracking_url: null,
        delivery_status: "in_transit",
        retailer_tracking_number: null,
        retailer_tracking_url: null,
        obtained_at: placed.updated_at!,
        line_item_ids: ["li_1"]
      } as const
      const shipped = operator["orders.report.shipped"]({ ...order, shipment })
      assert.deepStrictEqual(yield* Effect.orDie(shipped), yield* Effect.orDie(shipped))
      yield* Effect.orDie(operator["orders.report.delivered"]({ ...order, confirmed: false }))
      yield* judge(stall, sale, [
        ...untilSettled,
        "processing PROVIDER_PLACEMENT_RETRYING",
        "placed AWAITING_TRACKING",
        "shipped IN_TRANSIT",
        "delivered DELIVERED"
      ])
    }))

  it.effect("whose payment vanishes from the chain is taken back from its retailer, and fails", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* settledSale(stall)
      yield* money(stall, sale, "drop")
      yield* until("it has failed", orderOf(stall, sale), (order) => stateOf(order) === "failed PAYMENT_REVERSED")
      assert.include(yield* orderOf(stall, sale), { refund_status: "NONE" })
    }))

  it.effect("whose payment vanishes takes its invoice with it, so that money that comes later is refunded", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall)
      yield* money(stall, sale, "pay")
      yield* money(stall, sale, "reorg")
      const failed = yield* orderOf(stall, sale)
      assert.strictEqual(stateOf(failed), "failed PAYMENT_REVERSED")
      assert.include(failed.payment, { status: "canceled", amount_paid: 0 })
      assert.include(failed.refund, { status: "AWAITING_DESTINATION", amount: total, fee: 0, reason: "late_payment" })
    }))

  it.effect("whose settled payment vanishes cannot be paid again, not even before its retailer was asked to give it back", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall, { product_id: "SIM-PLACE-UNAVAILABLE-9" })
      yield* money(stall, sale, "pay")
      yield* money(stall, sale, "settle")
      const isRetrying = (order: any) => stateOf(order) === "processing PROVIDER_PLACEMENT_RETRYING"
      yield* until("its retailer was called", orderOf(stall, sale), isRetrying)
      const { event_ids } = yield* money(stall, sale, "reorg")
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing PROVIDER_PLACEMENT_RETRYING")
      yield* stall.own("/api/v1/devnet/clock/advance", { body: { seconds: 60 } })
      yield* until("it has failed", orderOf(stall, sale), (order) => stateOf(order) === "failed PAYMENT_REVERSED")
      const told = (yield* eventsOf(stall)).filter(({ data: { object } }) => object.id === sale.invoiceId)
      const atReversal = told.findIndex(({ id }) => event_ids.includes(id))
      assert.deepStrictEqual(told.slice(atReversal).map(({ data: { object }, type }) => `${type} ${object.status}`), [
        "invoice.updated canceled",
        "invoice.canceled canceled"
      ])
      const { refund, total_amount } = yield* orderOf(stall, sale)
      assert.deepInclude(told[atReversal].data.previous_attributes, { status: "paid", amount_paid: total_amount })
      assert.include(refund, { status: "AWAITING_DESTINATION", amount: total_amount, fee: 0 })
    }))

  it.effect("is taken through its steps back to back, faster than its retailer is asked, without an error in the log", () =>
    Effect.gen(function*() {
      const { service } = yield* Mall
      const stall = yield* openStall
      yield* Effect.forEach(
        Array.from({ length: 20 }),
        Effect.fnUntraced(function*() {
          const sale = yield* sell(stall)
          for (const transition of ["payment_confirmed", "payment_settled", "placed", "cancelled"]) {
            yield* step(stall, sale, transition)
          }
          yield* step(stall, sale, "refunded", { wallet_address: wallet })
          assert.include(yield* orderOf(stall, sale), { status: "cancelled", refund_status: "REFUNDED" })
        }),
        { concurrency: 4, discard: true }
      )
      assert.deepStrictEqual(service.errors().filter((line) => line.includes("order")), [])
    }))

  it.effect("whose refund had no address for 30 days is refunded as soon as it has one", () =>
    Effect.gen(function*() {
      const { operator } = yield* Mall
      const stall = yield* openStall
      const sale = yield* settledSale(stall)
      const { refund: { refund_id } } = yield* step(stall, sale, "failed")
      yield* stall.own("/api/v1/devnet/clock/advance", { body: { seconds: 31 * 86_400 } })
      const expired = Effect.orDie(operator["refunds.list"]({ merchant_id: stall.merchantId, status: "expired" }))
      yield* until("the refund has expired", expired, ({ refunds }) =>
        refunds.some(({ refund }) =>
          refund.id === refund_id
        ))
      assert.include(yield* orderOf(stall, sale), { refund_status: "AWAITING_DESTINATION" })
      const told = yield* stall.ask(`${orders}/${sale.orderId}/refund-destination`, {
        method: "PUT",
        body: { address: wallet, network: "bsc" }
      })
      assert.include(told, { refund_status: "PROCESSING" })
      assert.notStrictEqual(told.refund.refund_id, refund_id)
      assert.include(yield* step(stall, sale, "refunded"), { refund_status: "REFUNDED" })
    }))

  it.effect("is paid in parts, and waits until every part has settled", () =>
    Effect.gen(function*() {
      const stall = yield* openStall
      const sale = yield* sell(stall)
      yield* money(stall, sale, "partial")
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "pending_payment PARTIALLY_PAID")
      yield* money(stall, sale, "settle")
      yield* money(stall, sale, "pay")
      assert.strictEqual(stateOf(yield* orderOf(stall, sale)), "processing AWAITING_SETTLEMENT")
      yield* money(stall, sale, "settle")
      const { order } = yield* judge(stall, sale, [
        "pending_payment AWAITING_PAYMENT",
        "pending_payment PARTIALLY_PAID",
        "pending_payment PARTIALLY_PAID",
        "processing AWAITING_SETTLEMENT",
        "processing PROVIDER_PLACEMENT_SUBMITTED"
      ])
      assert.include(order.payment, { amount_paid: total })
    }))
})
