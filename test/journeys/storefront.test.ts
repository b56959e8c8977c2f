/**
 * Goal: an estimate becomes exactly one order, for exactly what the customer was shown, or nothing happens at all.
 * Method: a whole service with the simulated retailer, whose prices rise by the minute of the merchant's devnet clock;
 * the guide's own code blocks; and whatever a careless or a hostile shop may send.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { execFile } from "node:child_process"
import { dirname } from "node:path"
import { connect, migratedDatabase } from "../support/Database.ts"
import {
  configOf,
  type DemoKeys,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest
} from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

class Town extends Context.Service<Town, {
  readonly service: Service
  readonly keys: DemoKeys
  readonly sql: SqlClient.SqlClient
}>()("test/journeys/storefront/Town") {}

const town = Layer.effect(
  Town,
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: { ...config, modules: [...config.modules, { use: "docs" }] }
    })
    const sql = Context.get(yield* Layer.build(Layer.orDie(connect(database))), SqlClient.SqlClient)
    return { service, keys: yield* service.keys, sql }
  })
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

const call = (path: string, body?: unknown, more: TestRequest = {}) =>
  Effect.flatMap(Town, ({ keys, service }) =>
    service.call(`/api/commerce/merchant/${path}`, {
      ...(body === undefined ? {} : { body }),
      ...more,
      headers: { "x-api-key": keys.commerce_key, ...more.headers }
    }))

const ok = (path: string, body?: unknown, more?: TestRequest) =>
  Effect.map(call(path, body, more), (answer) => assertStatus(200, answer).data)

const refused = (status: number, code: string, ...[path, body, more]: Parameters<typeof call>) =>
  Effect.map(call(path, body, more), (answer) => {
    assert.deepStrictEqual([answer.status, answer.json?.error?.code], [status, code], answer.text)
    return answer.json.error
  })

const withKey = (key: string = randomUUID()): TestRequest => ({ headers: { "idempotency-key": key } })

/** An estimate with an address, ready to be ordered. */
const ready = Effect.fnUntraced(function*(customer_id: string, product_id = "B08N5WRWNW") {
  const { estimate_id } = yield* ok("checkout/estimate", {
    customer_id,
    items: [{ product_id, retailer: "amazon", quantity: 1 }]
  })
  const { address_id, estimate } = yield* ok("checkout/address", { customer_id, estimate_id, address })
  return { purchase: { customer_id, estimate_id, address_id }, estimate, address_id }
})

/** Everything an order leaves behind, counted. */
const written = Effect.gen(function*() {
  const { sql } = yield* Town
  const [row] = yield* Effect.orDie(
    sql`SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM invoices) AS invoices,
    (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM checkout_estimates WHERE order_id IS NOT NULL) AS used`
  )
  return row
})

const eventsOf = (orderId: string) =>
  Effect.flatMap(Town, ({ keys, service }) =>
    Effect.map(
      service.call(`/api/v1/events?limit=100&order_id=${orderId}`, { headers: { "x-api-key": keys.commerce_key } }),
      (answer) => assertStatus(200, answer).data.data as ReadonlyArray<any>
    ))

const advance = (seconds: number) =>
  Effect.flatMap(Town, ({ keys, service }) =>
    Effect.map(
      service.call("/api/v1/devnet/clock/advance", { body: { seconds }, headers: { "x-api-key": keys.merchant_key } }),
      (answer) => assertStatus(200, answer)
    ))

layer(town, { excludeTestServices: true })("checkout", (it) => {
  it.effect("is three calls, as the guide writes them", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const guide = (yield* service.call("/docs/guides/selling.md")).text
      const script = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join("\n")
      const said = yield* Effect.callback<string>((resume) => {
        execFile(
          "bash",
          ["-euo", "pipefail", "-c", script],
          { cwd: dirname(service.dataDirectory) },
          (error, out, complained) =>
            resume(
              error === null ? Effect.succeed(out) : Effect.die(new Error(`${complained}\n${out}`, { cause: error }))
            )
        )
      })
      assert.deepStrictEqual(said.trim().split("\n"), ["13.990", "standard", "13.990 pending_payment", "32.000", "2"])
    }).pipe(Effect.scoped))

  it.effect("answers an order with the invoice that pays it, told in one commit", () =>
    Effect.gen(function*() {
      const { keys, service, sql } = yield* Town
      const { estimate, purchase } = yield* ready("cust_whole")
      const made = yield* ok("checkout/invoice", {
        ...purchase,
        shipping_option_id: "expedited",
        refundDestinationWalletAddressBsc: "0x52908400098527886e0f7030069857d2e4169ee7",
        metadata: { basket: "B-7", estimateId: "kept" }
      }, withKey("whole"))
      assert.deepStrictEqual(Object.keys(made), [
        "order_id",
        "invoice_id",
        "payment_url",
        "session_token",
        "signature",
        "payment_session_headers",
        "merchant_id",
        "environment",
        "customer_id",
        "amount",
        "amount_decimal",
        "amount_unit",
        "status",
        "expires_at",
        "order",
        "endpoints"
      ])
      assert.deepStrictEqual(
        [made.amount, made.amount_decimal, made.status, made.customer_id, made.environment, made.amount_unit],
        [19_490, "19.490", "unpaid", "cust_whole", "devnet", "usd_millis"]
      )
      assert.strictEqual(made.amount, estimate.pricing.total - estimate.pricing.shipping + 6_500)
      assert.deepStrictEqual(
        [made.order.id, made.order.invoice_id, made.order.total_amount, made.order.status, made.order.substatus],
        [made.order_id, made.invoice_id, made.amount, "pending_payment", "AWAITING_PAYMENT"]
      )
      assert.deepStrictEqual(
        made.order.line_items.map((
          { amount, product_id, quantity, title }: any
        ) => [product_id, title, quantity, amount]),
        estimate.valid_items.map((
          { amount, product_id, quantity, title }: any
        ) => [product_id, title, quantity, amount])
      )
      assert.deepStrictEqual(made.endpoints, {
        check_order: `/api/commerce/merchant/orders/${made.order_id}`,
        check_payment: `/api/commerce/merchant/payments/${made.order_id}/status`,
        cancel_order: `/api/commerce/merchant/orders/${made.order_id}/cancel`
      })
      for (const path of [made.endpoints.check_order, made.endpoints.check_payment]) {
        assertStatus(200, yield* service.call(path, { headers: { "x-api-key": keys.commerce_key } }))
      }
      const session = yield* service.call("/api/v1/payments/session-details", { headers: made.payment_session_headers })
      assert.strictEqual(session.status, 200, session.text)
      assert.isTrue(
        made.payment_url.startsWith(
          `${service.url}/pay/${made.invoice_id}?session_token=${made.session_token}&signature=`
        )
      )
      const events = (yield* eventsOf(made.order_id)).toReversed()
      assert.deepStrictEqual(events.map(({ type }) => type), ["commerce.order.created", "invoice.created"])
      assert.lengthOf(new Set(events.map(({ request }) => JSON.stringify(request))), 1)
      assert.strictEqual(events[0].request.idempotency_key, "whole")
      assert.deepStrictEqual(events[0].data, { object: made.order, previous_attributes: {} })
      const invoice = events[1].data.object
      assert.deepStrictEqual(
        [
          invoice.id,
          invoice.commerce_order_id,
          invoice.invoice_type,
          invoice.amount,
          invoice.expires_at - invoice.created_at
        ],
        [made.invoice_id, made.order_id, "commerce", made.amount, 1_800]
      )
      assert.deepStrictEqual(invoice.metadata, { basket: "B-7", estimateId: "kept" })
      // Rows of one transaction: the order, its invoice, the estimate, the events and the kept answer.
      const rows = yield* Effect.orDie(sql`
        SELECT xmin::text AS written FROM orders WHERE id = ${made.order_id}
        UNION ALL SELECT xmin::text FROM invoices WHERE id = ${made.invoice_id}
        UNION ALL SELECT xmin::text FROM checkout_estimates WHERE order_id = ${made.order_id}
        UNION ALL SELECT xmin::text FROM events WHERE order_id = ${made.order_id}
        UNION ALL SELECT xmin::text FROM idempotency WHERE scope = 'POST /api/commerce/merchant/checkout/invoice whole'`)
      assert.lengthOf(rows, 6)
      assert.lengthOf(new Set(rows.map(({ written }) => written)), 1)
    }))

  it.effect("makes one order of an estimate under fifty tries at once, whatever their keys", () =>
    Effect.gen(function*() {
      const before: any = yield* written
      const one = yield* ready("cust_fifty")
      const tries = yield* Effect.all(
        Array.from({ length: 50 }, () => call("checkout/invoice", one.purchase, withKey())),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(tries.filter(({ status }) => status === 200), 1)
      for (const answer of tries.filter(({ status }) => status !== 200)) {
        assert.deepStrictEqual([answer.status, answer.json.error.code], [409, "ESTIMATE_ALREADY_USED"], answer.text)
      }
      const other = yield* ready("cust_fifty")
      const same = yield* Effect.all(
        Array.from({ length: 50 }, () => call("checkout/invoice", other.purchase, withKey("fifty"))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(same.map(({ status }) => status))], [200])
      assert.lengthOf(new Set(same.map(({ text }) => text)), 1)
      const after: any = yield* written
      assert.deepStrictEqual(
        [
          after.orders - before.orders,
          after.invoices - before.invoices,
          after.events - before.events,
          after.used - before.used
        ].map(Number),
        [2, 2, 4, 2]
      )
      yield* refused(409, "ESTIMATE_ALREADY_USED", "checkout/address", {
        customer_id: "cust_fifty",
        estimate_id: one.purchase.estimate_id,
        address
      })
      yield* refused(422, "IDEMPOTENCY_KEY_REUSED", "checkout/invoice", one.purchase, withKey("fifty"))
    }))

  it.effect("never charges a price that was not shown, and lives for 900 seconds", () =>
    Effect.gen(function*() {
      // The price rises with each minute of the merchant's clock: none may end while the test runs.
      const { data: { now } } = yield* advance(1)
      yield* advance(61 - now % 60)
      // Thirty steps up, then it falls back to the first: begin on a step that another follows.
      const risen = (estimate: any) => estimate.valid_items[0].unit_amount
      const first = yield* ready("cust_drift", "SIM-PRICE-RISES")
      const begun = risen(first.estimate) < 12_800
        ? first
        : (yield* advance(120), yield* ready("cust_drift", "SIM-PRICE-RISES"))
      const before = yield* written
      yield* advance(60)
      const error = yield* refused(409, "ESTIMATE_CHANGED", "checkout/invoice", begun.purchase, withKey())
      assert.deepStrictEqual(
        [
          risen(error.details.estimate),
          error.details.estimate.valid_items[0].price_changed,
          error.details.estimate.pricing.total
        ],
        [risen(begun.estimate) + 100, true, begun.estimate.pricing.total + 100]
      )
      assert.deepStrictEqual(yield* written, before)
      const again = yield* ok("checkout/address", {
        customer_id: "cust_drift",
        estimate_id: begun.purchase.estimate_id,
        address
      })
      assert.deepStrictEqual(again.estimate, error.details.estimate)
      const made = yield* ok("checkout/invoice", { ...begun.purchase, address_id: again.address_id }, withKey())
      assert.strictEqual(made.amount, again.estimate.pricing.total)
      const late = yield* ready("cust_late")
      yield* advance(900)
      yield* refused(410, "ESTIMATE_EXPIRED", "checkout/invoice", late.purchase, withKey())
    }))

  it.effect("refuses what is wrong, names it, and writes nothing", () =>
    Effect.gen(function*() {
      const { keys } = yield* Town
      const { purchase } = yield* ready("cust_bad")
      const other = yield* ready("cust_other")
      const before = yield* written
      const invoice = (body: object, status: number, code: string, more = withKey()) =>
        refused(status, code, "checkout/invoice", body, more)
      yield* invoice(purchase, 400, "IDEMPOTENCY_KEY_MISSING", {})
      yield* invoice({ ...purchase, customer_id: "cust_other" }, 404, "ESTIMATE_NOT_FOUND")
      yield* invoice({ ...purchase, customer_id: undefined }, 400, "CUSTOMER_IDENTITY_REQUIRED")
      yield* invoice({ ...purchase, estimate_id: "x".repeat(300) }, 404, "ESTIMATE_NOT_FOUND")
      yield* invoice({ ...purchase, address_id: other.address_id }, 404, "ADDRESS_NOT_FOUND")
      for (
        const [field, value, param] of [
          ["estimate_id", 1, "estimate_id"],
          ["address_id", null, "address_id"],
          ["metadata", [], "metadata"],
          ["metadata", Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 1])), "metadata"],
          ["metadata", { ["k".repeat(65)]: 1 }, "metadata"],
          ["metadata", { k: "v".repeat(16_384) }, "metadata"],
          ["shipping_option_id", "by-balloon", "shipping_option_id"],
          ["shipping_option_id", {}, "shipping_option_id"]
        ] as const
      ) {
        const error = yield* invoice({ ...purchase, [field]: value }, 400, "VALIDATION_ERROR")
        assert.strictEqual(error.param, param)
      }
      for (
        const wallet of [
          "0xF39fd6e51aad88f6f4ce6ab8827279cfffb92266",
          "bnb",
          "0x" + "0".repeat(40),
          "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"
        ]
      ) {
        const error = yield* invoice(
          { ...purchase, refund_destination_wallet_address_bsc: wallet },
          400,
          "WALLET_ADDRESS_INVALID"
        )
        assert.strictEqual(error.param, "refund_destination_wallet_address_bsc")
      }
      assert.deepStrictEqual(yield* written, before)
      const made = yield* ok("checkout/invoice", (yield* ready("cust_paid")).purchase, withKey())
      const headers = made.payment_session_headers
      const { service } = yield* Town
      const offered = yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", { headers })
      const body = { network: "base", token_id: assertStatus(200, offered)[0].id }
      const { temp_address } = assertStatus(
        200,
        yield* service.call("/api/v1/payments/payment-addresses", { headers, body })
      )
      const contract =
        assertStatus(200, yield* service.call("/api/v1/payments/available-tokens?mode=all&network=bsc", { headers }))
          .find(({ token_address }: any) => token_address !== null).token_address
      const beforeOwn = yield* written
      for (const own of [temp_address, contract]) {
        const error = yield* invoice(
          { ...purchase, refund_destination_wallet_address_bsc: own },
          400,
          "WALLET_ADDRESS_INVALID"
        )
        assert.strictEqual(error.param, "refund_destination_wallet_address_bsc")
      }
      assert.deepStrictEqual(yield* written, beforeOwn)
      yield* invoice(purchase, 403, "SCOPE_MISMATCH", {
        headers: { "x-api-key": keys.merchant_key, ...withKey().headers }
      })
      yield* refused(503, "SERVICE_UNAVAILABLE", "checkout/estimate", {
        customer_id: "a",
        items: [{ product_id: "SIM-QUOTE-UNAVAILABLE", retailer: "amazon" }]
      })
      assert.deepStrictEqual(yield* written, beforeOwn)
      assertStatus(200, yield* call("checkout/invoice", purchase, withKey()))
    }))

  it.effect("tells nobody where a customer lives but the shop and the retailer", () =>
    Effect.gen(function*() {
      const { service, sql } = yield* Town
      const { purchase } = yield* ready("cust_home")
      const { order_id } = yield* ok("checkout/invoice", purchase, withKey())
      yield* refused(400, "ADDRESS_INVALID", "checkout/address", {
        customer_id: "cust_home",
        estimate_id: "none",
        address: { ...address, email: "no" }
      })
      const events = yield* Effect.orDie(sql<{ data: string }>`SELECT data FROM events`)
      const told = `${service.output()} ${events.map(({ data }) => data).join(" ")} ${
        JSON.stringify(yield* eventsOf(order_id))
      }`
      for (
        const secret of [
          address.street_address,
          address.last_name,
          address.email,
          address.phone,
          encodeURIComponent(address.phone)
        ]
      ) {
        assert.notInclude(told, secret)
      }
      assert.deepStrictEqual(service.errors(), [])
    }))
})
