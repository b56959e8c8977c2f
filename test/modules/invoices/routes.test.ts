/**
 * Goal: the merchant's invoice routes answer as modules/docs/reference/invoices.md#creating says, in its order of
 * checks, and tell nobody of what is another's. Method: the real router and commit log; every claim against bodies
 * written down here anew.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import {
  CreatedInvoice,
  ExpandedInvoice,
  InvoiceList,
  InvoiceStatusView,
  PaymentList
} from "../../../modules/invoices/api.ts"
import { Invoice } from "../../../schemas/Invoice.ts"
import { Payment } from "../../../schemas/Payment.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { Api, type Call } from "../../support/Api.ts"
import {
  type Caller,
  callerOf,
  eventsOf,
  invoiceService,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  refused,
  walletOf
} from "./InvoiceService.ts"

const path = "/api/v1/invoices"

/** Base units of a test dollar's cent. */
const cent = 10_000n

/** Exactly the schema's fields, no more. */
const exactly = (schema: Schema.Codec<any, any>, value: unknown) =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(value)

const merchant = Effect.map(newMerchant, (id) => ({
  devnet: callerOf(id),
  mainnet: callerOf(id, "merchant", "mainnet"),
  commerce: callerOf(id, "commerce")
}))

const create = (caller: Caller, body: unknown) => caller.call(path, post(body))

const everyField = {
  amount_usd: 49.99,
  description: "Starter plan",
  customer_id: "cust_123",
  metadata: { order_id: "ORD-1", nested: [{ a: null }] },
  currency: "usd",
  expires_in: 60_000,
  customer_email: "a@example.com",
  invoice_title: "Starter",
  invoice_footer: "Thanks",
  payment_return_url: "https://shop.example/done?a=b",
  payment_return_url_enabled: true,
  locale: "pt-BR",
  payment_tolerance_bps: 50,
  accepted_networks: ["base", "solana"],
  receiver_override_enable: false
}

layer(invoiceService)("creating an invoice", (it) => {
  it.effect("takes every documented field, and answers with exactly the documented body", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const body = yield* devnet.ok(path, post(everyField))
      exactly(CreatedInvoice, body)
      const { invoice, invoice_id: id, session_token: token, signature } = body
      assert.deepStrictEqual(Object.keys(body), [
        "invoice_id",
        "payment_url",
        "session_token",
        "signature",
        "expires_at",
        "payment_session_headers",
        "invoice"
      ])
      assert.strictEqual(body.payment_url, `http://till.test/pay/${id}?session_token=${token}&signature=${signature}`)
      assert.deepStrictEqual(body.payment_session_headers, { "x-session-token": token, "x-signature": signature })
      assert.deepStrictEqual(invoice, {
        id,
        object: "invoice",
        merchant_id: devnet.id,
        status: "unpaid",
        invoice_type: "standard",
        currency: "usd",
        amount: 49_990,
        amount_decimal: "49.990",
        amount_paid: 0,
        amount_paid_decimal: "0.000",
        amount_remaining: 49_990,
        amount_remaining_decimal: "49.990",
        amount_unit: "usd_millis",
        customer_id: "cust_123",
        payer_wallet_address: null,
        payer_wallet_network: null,
        commerce_order_id: null,
        environment: "devnet",
        expires_at: invoice.created_at + 60,
        created_at: invoice.created_at,
        paid_at: null,
        last_payment_at: null,
        metadata: everyField.metadata
      })
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<any>`SELECT details, policy FROM invoices WHERE id = ${id}::uuid`
      assert.deepStrictEqual(row.details, {
        description: "Starter plan",
        title: "Starter",
        footer: "Thanks",
        customerEmail: "a@example.com",
        returnUrl: "https://shop.example/done?a=b",
        locale: "pt-BR"
      })
      assert.deepStrictEqual(row.policy.acceptedNetworks, ["base", "solana"])
      const off = yield* newInvoice(devnet, { ...everyField, payment_return_url_enabled: false })
      const [other] = yield* sql<any>`SELECT details FROM invoices WHERE id = ${off.id}::uuid`
      assert.notProperty(other.details, "returnUrl")
    }))

  it.effect("reads both forms of the amount, to the cent of a cent, within its range", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const amounts: ReadonlyArray<readonly [object, number]> = [
        [{ amount: 10 }, 10],
        [{ amount: 1_000_000_000 }, 1_000_000_000],
        [{ amount_usd: 0.01 }, 10],
        [{ amount_usd: "49.999" }, 49_999],
        [{ amount_usd: "1000000" }, 1_000_000_000],
        [{ amount_usd: 5 }, 5_000],
        [{ amount_usd: "007.5" }, 7_500]
      ]
      for (const [body, amount] of amounts) assert.strictEqual((yield* newInvoice(devnet, body)).amount, amount)
      for (
        const body of [
          {},
          { amount: 10, amount_usd: 1 },
          { amount: null },
          { amount: 10.5 },
          { amount: "10" },
          { amount_usd: "1e3" },
          { amount_usd: 1.2345 },
          { amount_usd: "" },
          { amount_usd: true },
          { amount_usd: "NaN" }
        ]
      ) {
        refused(yield* create(devnet, body), 400, "INVALID_AMOUNT_FORMAT")
      }
      refused(yield* create(devnet, "{\"amount\":1e400}"), 400, "INVALID_AMOUNT_FORMAT")
      for (
        const body of [
          { amount: 0 },
          { amount: 9 },
          { amount: -10 },
          { amount: 1_000_000_001 },
          { amount_usd: 0.009 },
          { amount_usd: "1000000.001" },
          { amount_usd: "-5" },
          { amount: 1e300 }
        ]
      ) {
        refused(yield* create(devnet, body), 400, "INVALID_AMOUNT_RANGE", " is in ")
      }
    }))

  it.effect("checks credentials, the key, the body's shape, the amount, then the other fields, in this order", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const { call } = yield* Api
      const wrong = { amount: 10.5, currency: "eur" }
      refused(yield* call(path, { body: "[", headers: {} }), 401, "UNAUTHORIZED")
      refused(yield* call(path, { body: "[", headers: { "x-api-key": "nobody" } }), 401, "API_KEY_INVALID")
      refused(yield* devnet.call(path, { body: "[" }), 400, "IDEMPOTENCY_KEY_MISSING")
      refused(
        yield* devnet.call(path, { body: "[", headers: { "idempotency-key": "a b" } }),
        400,
        "IDEMPOTENCY_KEY_INVALID"
      )
      refused(yield* create(devnet, "["), 400, "INVALID_JSON")
      for (const body of ["[]", "null", "7"]) refused(yield* create(devnet, body), 400, "VALIDATION_ERROR")
      refused(yield* create(devnet, "{\"amount\":1e400}"), 400, "INVALID_AMOUNT_FORMAT", "amount is in usd_millis")
      refused(
        yield* create(devnet, "{\"amount_usd\":-1e400}"),
        400,
        "INVALID_AMOUNT_FORMAT",
        "amount_usd is in dollars"
      )
      refused(
        yield* create(devnet, "{\"amount\":10,\"metadata\":{\"a\":1e400}}"),
        400,
        "VALIDATION_ERROR",
        "metadata.a must be any JSON value, its numbers no larger than 1.8e308"
      )
      refused(yield* create(devnet, wrong), 400, "INVALID_AMOUNT_FORMAT")
      refused(yield* create(devnet, { ...wrong, amount: 1 }), 400, "INVALID_AMOUNT_RANGE")
      refused(yield* create(devnet, { ...wrong, amount: 10 }), 400, "VALIDATION_ERROR", "currency must be usd")
    }))

  it.effect("refuses every other field out of its range, by its name", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const wrong: Readonly<Record<string, ReadonlyArray<unknown>>> = {
        description: ["x".repeat(256), 7],
        customer_id: ["", "x".repeat(256)],
        metadata: [
          [],
          "x",
          Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 1])),
          { ["k".repeat(65)]: 1 },
          { big: "x".repeat(16_384) }
        ],
        expires_in: [59_999, 2_592_000_001, 60_000.5, "60000"],
        customer_email: ["nobody", "a b@example.com", `${"x".repeat(250)}@example.com`],
        invoice_title: ["x".repeat(256)],
        invoice_footer: ["x".repeat(2_001)],
        payment_return_url: [
          "http://shop.example",
          "javascript:alert(1)",
          "https://u:p@shop.example",
          "https://x y",
          "https://",
          "HTTP://SHOP.EXAMPLE/",
          "http:\\\\localhost\\"
        ],
        payment_return_url_enabled: ["true"],
        locale: ["english language", ""],
        payment_tolerance_bps: [-1, 10_001, 0.5],
        accepted_networks: [["bitcoin"], "base", Array.from({ length: 11 }, () => "base")],
        receiver_override_enable: [true, null, "false", 0],
        currency: ["eur", "USD"]
      }
      for (const [name, values] of Object.entries(wrong)) {
        for (const value of values) {
          refused(yield* create(devnet, { amount: 10, [name]: value }), 400, "VALIDATION_ERROR", name)
        }
      }
      refused(yield* create(devnet, { amount: 10, accepted_networks: [] }), 400, "UNSUPPORTED_NETWORK", "it is empty")
      const kept = {
        ...Object.fromEntries(Array.from({ length: 48 }, (_, n) => [`k${n}`, n])),
        constructor: 1,
        toString: null
      }
      assert.deepStrictEqual(
        (yield* newInvoice(devnet, { amount: 10, metadata: kept, unknown: { field: 1 } })).metadata,
        kept
      )
      assert.strictEqual(
        (yield* create(devnet, "{\"amount\":10,\"metadata\":{\"__proto__\":{\"a\":1}}}")).text.includes(
          "{\"__proto__\":{\"a\":1}}"
        ),
        true
      )
    }))

  it.effect("takes a wallet's call where it says, else where its merchant's calls are, and a key's in its own place only", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const wallet = walletOf(devnet.id)
      const environmentOf = (query = "") =>
        Effect.map(wallet.ok(`${path}${query}`, post({ amount: 10 })), ({ invoice }) => invoice.environment)
      assert.strictEqual(yield* environmentOf(), "devnet")
      assert.strictEqual(yield* environmentOf("?environment=mainnet"), "mainnet")
      const settings = (query: string, body: object) =>
        wallet.call(`/api/v1/merchant/settings${query}`, { method: "PATCH", body })
      assert.strictEqual(
        (yield* settings("?environment=mainnet", { late_window_seconds: 60, default_environment: "mainnet" })).status,
        200
      )
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* environmentOf(), "mainnet")
      assert.strictEqual(yield* environmentOf("?environment=devnet"), "devnet")
      assert.strictEqual((yield* devnet.ok("/api/v1/merchant/settings")).late_window_seconds, 604_800)

      const { id } = yield* newInvoice(devnet, { amount: 10 })
      refused(yield* wallet.call(`${path}/${id}/cancel`, { method: "POST" }), 404, "INVOICE_NOT_FOUND")
      const writes: ReadonlyArray<readonly [string, Call]> = [
        [path, post({ amount: 10 })],
        [`${path}/${id}`, { method: "PATCH", body: {} }],
        [`${path}/${id}/cancel`, { method: "POST" }],
        ["/api/v1/merchant/settings", { method: "PATCH", body: {} }]
      ]
      for (const [where, write] of writes) {
        for (const caller of [wallet, devnet]) {
          refused(yield* caller.call(`${where}?environment=testnet`, write), 400, "INVALID_ENVIRONMENT")
        }
        refused(yield* devnet.call(`${where}?environment=mainnet`, write), 403, "ENVIRONMENT_FORBIDDEN")
        assert.strictEqual((yield* devnet.call(`${where}?environment=devnet`, write)).status, 200)
      }
    }))

  it.effect("makes a commerce invoice with a commerce key, in the key's environment", () =>
    Effect.gen(function*() {
      const { commerce, mainnet } = yield* merchant
      assert.include(yield* newInvoice(commerce, { amount: 10 }), { invoice_type: "commerce", environment: "devnet" })
      assert.include(yield* newInvoice(mainnet, { amount: 10 }), { invoice_type: "standard", environment: "mainnet" })
    }))
})

layer(invoiceService)("reading invoices", (it) => {
  it.effect("finds one by its id, else the newest one of a customer, in the caller's environment", () =>
    Effect.gen(function*() {
      const { devnet, mainnet } = yield* merchant
      const first = yield* newInvoice(devnet, { amount: 10, customer_id: "a/b c%" })
      yield* TestClock.adjust("1 second")
      const second = yield* newInvoice(devnet, { amount: 10, customer_id: "a/b c%" })
      const posing = yield* newInvoice(devnet, { amount: 10, customer_id: first.id })
      const other = yield* newInvoice(mainnet, { amount: 10, customer_id: "a/b c%" })
      const get = (caller: Caller, id: string, query = "") => caller.call(`${path}/${encodeURIComponent(id)}${query}`)
      const answer = yield* get(devnet, first.id)
      exactly(Invoice, answer.json)
      assert.deepStrictEqual(answer.json, first)
      assert.strictEqual((yield* get(devnet, "a/b c%")).json.id, second.id)
      assert.strictEqual((yield* get(devnet, posing.id)).json.id, posing.id)
      assert.strictEqual((yield* get(mainnet, "a/b c%")).json.id, other.id)
      assert.strictEqual((yield* get(devnet, "a/b c%", "?environment=mainnet")).json.id, other.id)
      refused(yield* get(devnet, other.id), 404, "INVOICE_NOT_FOUND")
      refused(yield* get(devnet, first.id, "?environment=testnet"), 400, "INVALID_ENVIRONMENT")
      refused(yield* get(devnet, "nobody"), 404, "INVOICE_NOT_FOUND")
    }))

  it.effect("expands what is named, and nothing else", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const created = yield* devnet.ok(path, post({ amount: 10_000 }))
      const { invoice } = created
      const get = (query: string) => devnet.call(`${path}/${invoice.id}?${query}`)
      assert.deepStrictEqual((yield* get("expand=latest_payment,payments,payment_url")).json, {
        ...invoice,
        latest_payment: null,
        payments: { object: "list", data: [], has_more: false },
        payment_url: created.payment_url
      })
      for (let part = 1; part <= 3; part++) {
        yield* TestClock.adjust("1 second")
        yield* receiveTransfer(invoice, usdc, BigInt(part) * cent)
      }
      const all = (yield* get("expand=payments,latest_payment")).json
      exactly(ExpandedInvoice, all)
      assert.deepStrictEqual(all.payments.data.map(({ amount }: any) => amount), [30, 20, 10])
      assert.deepStrictEqual(all.latest_payment, all.payments.data[0])
      assert.notProperty(all, "payment_url")
      const two = (yield* get("expand=payments&payments_limit=2")).json
      assert.deepStrictEqual([two.payments.data.length, two.payments.has_more], [2, true])
      assert.deepStrictEqual(Object.keys((yield* get("payments_limit=2")).json), Object.keys(invoice))
      for (const expand of ["all", "payments,", "", "payments,session"]) {
        refused(yield* get(`expand=${expand}`), 400, "VALIDATION_ERROR", "expand must be a comma list of ")
      }
      for (const limit of ["0", "101", "x"]) {
        refused(yield* get(`expand=payments&payments_limit=${limit}`), 400, "INVALID_LIMIT")
      }
      const list = yield* devnet.ok(`${path}?expand=payments,latest_payment,payment_url&payments_limit=2`)
      exactly(InvoiceList, list)
      assert.deepStrictEqual(
        list.data[0],
        (yield* get("expand=payments,latest_payment,payment_url&payments_limit=2")).json
      )
      refused(yield* devnet.call(`${path}?expand=payments&payments_limit=11`), 400, "INVALID_LIMIT")
    }))

  it.effect("shows status, payments and single payments, each as its caller may", () =>
    Effect.gen(function*() {
      const { commerce, devnet, mainnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 10_000, customer_id: "c" })
      const status = () => devnet.ok(`${path}/${invoice.id}/status`)
      assert.deepStrictEqual(yield* status(), { object: "invoice_status", invoice, latest_payment: null })
      for (const amount of [1n, 2n, 3n, 4n]) {
        yield* TestClock.adjust("1 second")
        yield* receiveTransfer(invoice, usdc, amount * cent)
      }
      const view = yield* status()
      exactly(InvoiceStatusView, view)
      assert.deepStrictEqual([view.invoice.amount_paid, view.latest_payment.amount], [100, 40])

      const payments = (query = "") => devnet.call(`${path}/${invoice.id}/payments${query}`)
      const all = (yield* payments()).json
      exactly(PaymentList, all)
      assert.deepStrictEqual(all.data.map(({ amount }: any) => amount), [40, 30, 20, 10])
      const ids: ReadonlyArray<string> = all.data.map(({ id }: any) => id)
      const older = (yield* payments(`?limit=2&starting_after=${ids[0]}`)).json
      assert.deepStrictEqual([older.data.map(({ id }: any) => id), older.has_more], [ids.slice(1, 3), true])
      const newer = (yield* payments(`?limit=2&ending_before=${ids[3]}`)).json
      assert.deepStrictEqual([newer.data.map(({ id }: any) => id), newer.has_more], [ids.slice(1, 3), true])
      assert.deepStrictEqual((yield* payments(`?ending_before=${ids[1]}`)).json.data, all.data.slice(0, 1))
      refused(yield* payments(`?starting_after=${invoice.id}`), 400, "INVALID_CURSOR")
      refused(yield* payments("?starting_after=x"), 400, "INVALID_CURSOR")
      refused(yield* payments(`?starting_after=${ids[0]}&ending_before=${ids[1]}`), 400, "INVALID_CURSOR")
      for (const limit of ["0", "101", "-1", "1.5", ""]) {
        refused(yield* payments(`?limit=${limit}`), 400, "INVALID_LIMIT")
      }

      const one = yield* devnet.ok(`/api/v1/invoice-payments/${ids[0]}`)
      exactly(Payment, one)
      assert.deepStrictEqual(one, all.data[0])
      const stranger = callerOf(yield* newMerchant)
      for (const caller of [commerce, mainnet, stranger]) {
        refused(yield* caller.call(`/api/v1/invoice-payments/${ids[0]}`), 404, "NOT_FOUND")
        refused(yield* caller.call(`${path}/${invoice.id}`), 404, "INVOICE_NOT_FOUND")
        for (const rest of ["/status", "/payments"]) {
          refused(yield* caller.call(`${path}/${invoice.id}${rest}`), 404, "INVOICE_NOT_FOUND")
        }
        refused(yield* caller.call(`${path}/${invoice.id}`, { method: "PATCH", body: {} }), 404, "INVOICE_NOT_FOUND")
        refused(yield* caller.call(`${path}/${invoice.id}/cancel`, { method: "POST" }), 404, "INVOICE_NOT_FOUND")
      }
      refused(
        yield* commerce.call(`/api/v1/invoice-payments/${ids[0]}?environment=mainnet`),
        403,
        "ENVIRONMENT_FORBIDDEN"
      )
      assert.strictEqual((yield* mainnet.ok(`/api/v1/invoice-payments/${ids[0]}?environment=devnet`)).id, ids[0])
      for (const id of ["x", crypto.randomUUID()]) {
        refused(yield* devnet.call(`/api/v1/invoice-payments/${id}`), 404, "NOT_FOUND")
      }
      for (const id of ["x", "c", crypto.randomUUID()]) {
        refused(yield* devnet.call(`${path}/${id}/status`), 404, "INVOICE_NOT_FOUND")
      }
    }))

  it.effect("an older version of the API sees the payments of its own time, wherever they stand", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const invoice = yield* newInvoice(devnet, { amount: 10_000 })
      yield* receiveTransfer(invoice, usdc, cent)
      const tokensSeen = Effect.fnUntraced(function*(version: string) {
        const ok = (where: string) => devnet.ok(where, { headers: { "x-service-version": version } })
        const expanded = yield* ok(`${path}/${invoice.id}?expand=latest_payment,payments`)
        const listed = yield* ok(`${path}/${invoice.id}/payments`)
        const shown = [
          expanded.latest_payment,
          expanded.payments.data[0],
          listed.data[0],
          (yield* ok(`${path}/${invoice.id}/status`)).latest_payment,
          (yield* ok(`${path}?expand=latest_payment`)).data[0].latest_payment,
          yield* ok(`/api/v1/invoice-payments/${listed.data[0].id}`)
        ]
        return new Set(shown.map(({ metadata }) => "token" in metadata))
      })
      assert.deepStrictEqual(yield* tokensSeen("2026-01-15"), new Set([false]))
      assert.deepStrictEqual(yield* tokensSeen("2026-11-01"), new Set([true]))
    }))

  it.effect("lists by every filter, newest first, and refuses every bad one by its code", () =>
    Effect.gen(function*() {
      const { commerce, devnet } = yield* merchant
      const made: Array<any> = []
      for (const more of [{}, { customer_id: "ann" }, { customer_id: "bob" }, { customer_id: "ann" }]) {
        made.push(yield* newInvoice(devnet, { amount: 10_000, ...more }))
        yield* TestClock.adjust("1 second")
      }
      made.push(yield* newInvoice(commerce, { amount: 10 }))
      yield* receiveTransfer(made[1], usdc, 1_000n * cent)
      yield* receiveTransfer(made[2], usdc, 1n * cent)
      yield* devnet.ok(`${path}/${made[0].id}/cancel`, { method: "POST" })
      const indexes = (query: string) =>
        Effect.map(devnet.ok(`${path}${query}`), ({ data }) =>
          data.map(({ id }: any) => made.findIndex((one) => one.id === id)))
      const second = (after: number) =>
        made[0].created_at + after
      const iso = (after: number) => new Date(second(after) * 1000).toISOString().replace("Z", "")
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
        ["", [4, 3, 2, 1, 0]],
        ["?status=all", [4, 3, 2, 1, 0]],
        ["?status=unpaid", [4, 3]],
        ["?status=paid,underpaid", [2, 1]],
        ["?status=canceled", [0]],
        ["?status=expired", []],
        ["?customer_id=ann", [3, 1]],
        ["/customer/ann", [3, 1]],
        ["/customer/ann?status=paid", [1]],
        ["/customer/nobody", []],
        ["?invoice_type=commerce", [4]],
        ["?invoice_type=standard&status=unpaid", [3]],
        ["?payer_wallet_address=0xpayer", [2, 1]],
        ["?payer_wallet_network=base", [2, 1]],
        ["?payer_wallet_network=sui", []],
        ["?environment=mainnet", []],
        [`?created_gte=${second(2)}`, [4, 3, 2]],
        [`?created_lte=${iso(1)}Z`, [1, 0]],
        [`?created_gte=${iso(1.5 + 3_600)}%2B01:00&created_lte=${iso(2.9)}Z`, [2]],
        ["?created_gte=1970-01-01", [4, 3, 2, 1, 0]],
        ["?limit=2", [4, 3]],
        ["?limit=2&page=2", [2, 1]],
        [`?limit=2&starting_after=${made[3].id}`, [2, 1]],
        [`?limit=2&ending_before=${made[1].id}`, [3, 2]]
      ]
      for (const [query, expected] of cases) assert.deepStrictEqual(yield* indexes(query), expected, query)
      assert.deepStrictEqual((yield* commerce.ok(path)).data.map(({ id }: any) => id), [made[4].id])
      const { data: _, ...page } = yield* devnet.ok(`${path}?limit=2&page=2`)
      assert.deepStrictEqual(page, { object: "list", has_more: true, page: 2, limit: 2, total: 5 })
      const wrong = {
        INVALID_LIMIT: ["limit=0", "limit=101", "limit=ten"],
        INVALID_PAGE: ["page=0", "page=-1", "page=x", "page=1.5"],
        INVALID_CURSOR: [
          "starting_after=x",
          `starting_after=${made[0].id}&ending_before=${made[0].id}`,
          `page=1&starting_after=${made[0].id}`
        ],
        INVALID_ENVIRONMENT: ["environment=testnet"],
        VALIDATION_ERROR: [
          "status=open",
          "status=",
          "invoice_type=other",
          "created_gte=yesterday",
          "created_lte=2026-01-01T00:00:00",
          "created_gte=-1",
          "payer_wallet_network=bitcoin",
          `customer_id=${"x".repeat(256)}`,
          "expand=everything"
        ]
      }
      for (const [code, queries] of Object.entries(wrong)) {
        for (const query of queries) refused(yield* devnet.call(`${path}?${query}`), 400, code)
      }
    }))
})

layer(invoiceService)("changing an invoice", (it) => {
  const patch = (body: unknown, key?: string) => ({
    method: "PATCH",
    body,
    headers: key === undefined ? {} : { "idempotency-key": key }
  })

  it.effect("sets, replaces and removes metadata by key, and tells it with what was there before", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const before = yield* newInvoice(devnet, { amount: 10, metadata: { a: 1, b: { c: 2 } } })
      const one = `${path}/${before.id}`
      const after = yield* devnet.ok(one, patch({ metadata: { b: null, d: [3] }, amount: 99, status: "paid" }, "k"))
      assert.deepStrictEqual(after, { ...before, metadata: { a: 1, d: [3] } })
      assert.deepStrictEqual(yield* devnet.ok(one), after)
      const [, updated, ...more] = yield* eventsOf(before.id)
      assert.lengthOf(more, 0)
      assert.strictEqual(updated!.type, "invoice.updated")
      assert.strictEqual(updated!.idempotency_key, "k")
      assert.deepStrictEqual(updated!.data, { object: after, previous_attributes: { metadata: before.metadata } })
      assert.deepStrictEqual((yield* devnet.ok(one, patch({ metadata: null }))).metadata, {})
    }))

  it.effect("a change of description alone is kept and told by no event, and the same again is no change", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const before = yield* newInvoice(devnet, { amount: 10, description: "old", metadata: { a: 1 } })
      const one = `${path}/${before.id}`
      const row = Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [found] = yield* sql<any>`SELECT version, details FROM invoices WHERE id = ${before.id}::uuid`
        return [Number(found.version), found.details.description ?? null]
      })
      assert.deepStrictEqual(yield* devnet.ok(one, patch({ description: "new" })), before)
      assert.deepStrictEqual(yield* row, [2, "new"])
      for (const body of [{}, { description: "new" }, { metadata: { a: 1 } }, { metadata: { b: null } }]) {
        assert.deepStrictEqual(yield* devnet.ok(one, patch(body)), before)
      }
      assert.deepStrictEqual(yield* row, [2, "new"])
      yield* devnet.ok(one, patch({ description: null }))
      assert.deepStrictEqual(yield* row, [3, null])
      assert.lengthOf(yield* eventsOf(before.id), 1)
    }))

  it.effect("is refused beyond the limits of metadata as they would be after it, and changes nothing then", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n]))
      const before = yield* newInvoice(devnet, { amount: 10, metadata: many })
      const one = `${path}/${before.id}`
      refused(yield* devnet.call(one, patch({ metadata: { more: 1 } })), 400, "VALIDATION_ERROR", "metadata")
      refused(yield* devnet.call(one, patch({ metadata: [] })), 400, "VALIDATION_ERROR", "metadata")
      refused(yield* devnet.call(one, patch({ description: "x".repeat(256) })), 400, "VALIDATION_ERROR", "description")
      refused(yield* devnet.call(one, patch("[1]")), 400, "VALIDATION_ERROR")
      assert.deepStrictEqual(yield* devnet.ok(one), before)
      const swapped = yield* devnet.ok(one, patch({ metadata: { k0: null, more: 1 } }))
      assert.strictEqual(Object.keys(swapped.metadata).length, 50)
    }))

  it.effect("repeats its first answer for the same key, whatever happened since", () =>
    Effect.gen(function*() {
      const { devnet } = yield* merchant
      const { id } = yield* newInvoice(devnet, { amount: 10 })
      const one = `${path}/${id}`
      const first = yield* devnet.call(one, patch({ metadata: { a: 1 } }, "k"))
      yield* devnet.ok(one, patch({ metadata: { a: 2 } }))
      const again = yield* devnet.call(one, patch({ metadata: { a: 1 } }, "k"))
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual((yield* devnet.ok(one)).metadata, { a: 2 })
      refused(yield* devnet.call(one, patch({ metadata: { a: 3 } }, "k")), 422, "IDEMPOTENCY_KEY_REUSED")
    }))

  it.effect("cancels what nobody pays, and no more: a second cancel is refused and keeps its refusal", () =>
    Effect.gen(function*() {
      const { commerce, devnet } = yield* merchant
      const cancel = (caller: Caller, { id }: any, key?: string) =>
        caller.call(`${path}/${id}/cancel`, {
          method: "POST",
          headers: key === undefined ? {} : { "idempotency-key": key }
        })
      const open = yield* newInvoice(devnet, { amount: 10_000 })
      assert.strictEqual((yield* cancel(devnet, open, "c")).json.status, "canceled")
      assert.strictEqual((yield* cancel(devnet, open, "c")).json.status, "canceled")
      refused(yield* cancel(devnet, open), 409, "INVOICE_NOT_CANCELABLE")
      const part = yield* newInvoice(devnet, { amount: 10_000 })
      yield* receiveTransfer(part, usdc, cent)
      refused(yield* cancel(devnet, part), 409, "INVOICE_NOT_CANCELABLE")
      const pending = yield* newInvoice(devnet, { amount: 10_000 })
      yield* receiveTransfer(pending, usdc, cent, "seen")
      refused(yield* cancel(devnet, pending), 409, "INVOICE_NOT_CANCELABLE")
      assert.strictEqual((yield* cancel(commerce, yield* newInvoice(commerce, { amount: 10 }))).status, 200)
      assert.deepStrictEqual((yield* devnet.ok(`${path}/${open.id}`, patch({ metadata: { a: 1 } }))).status, "canceled")
    }))
})
