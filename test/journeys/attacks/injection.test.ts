/**
 * Goal: what callers write is data everywhere: to the database, to patterns, to headers, to logs and to pages.
 * Method: attack group F, each case by its number, against a running service.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, type TestResponse } from "../../support/Service.ts"
import { asPayor, assertStatus, newInvoice, openShop, type Shop } from "../Shop.ts"
import { assertHarmless, assertRefusedFlat, attack } from "./Assertions.ts"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "simulated" }] })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { service, shop, sql }
    })
  )
}

/** Texts that mean something to SQL, LIKE, JSON, shells and templates, and to nothing here. */
const payloads = [
  "invoice.*'); DROP TABLE invoices;--",
  "' OR '1'='1",
  "\" OR \"\"=\"",
  "1::uuid",
  "${1}",
  "$1",
  "{{7*7}}",
  "%",
  "_",
  "\\",
  "' UNION SELECT NULL,NULL--",
  "'||(SELECT pg_sleep(30))||'",
  "1;SELECT pg_sleep(30)--",
  "') OR 1=1--",
  "' AND 1=1--",
  "' AND 1=2--",
  "1 OR 1=1",
  "admin'--",
  "/**/",
  "\u2019 OR 1=1",
  "'; COPY x TO PROGRAM 'id';--",
  "[$ne]",
  "null",
  "*"
]

/** Query parameters of every list and single read, each alone. */
const filters = [
  "/api/v1/events?type=",
  "/api/v1/events?invoice_id=",
  "/api/v1/events?order_id=",
  "/api/v1/events?customer_id=",
  "/api/v1/events?environment=",
  "/api/v1/events?starting_after=",
  "/api/v1/events?created[gte]=",
  "/api/v1/invoices?customer_id=",
  "/api/v1/invoices?status=",
  "/api/v1/invoices?payer_wallet_address=",
  "/api/v1/invoices?payer_wallet_network=",
  "/api/v1/invoices?starting_after=",
  "/api/v1/invoices?invoice_type=",
  "/api/v1/invoices/totals?customer_id=",
  "/api/v1/merchant/tokens?environment=",
  "/api/v1/merchant/tokens/search?search=",
  "/api/v1/merchant/tokens/search?network=",
  "/api/v1/merchant/tokens/search?token_type=",
  "/api/v1/merchant/tokens/search?blocked=",
  "/api/v1/metrics?timezone=",
  "/api/v1/metrics?group_by="
]
const paths = ["/api/v1/invoices/", "/api/v1/invoices/customer/", "/api/v1/events/", "/api/v1/quotes/"]

const get = (path: string) =>
  Effect.flatMap(Desk, ({ service, shop }) => attack(service, path, { headers: { "x-api-key": shop.key } }))

/** An answer without what differs between two calls. */
const essence = ({ json, status, text }: TestResponse) => {
  const body = json === undefined ? text : JSON.stringify({ ...json, error: json.error?.code ?? json.code ?? null })
  return `${status} ${body}`
}

const itemsOf = ({ json }: TestResponse): ReadonlyArray<unknown> => json?.tokens ?? json?.data?.data ?? json?.data ?? []

layer(Desk.layer, { excludeTestServices: true })("F. injection", (it) => {
  it.effect("62. what stands in a filter or a path is compared as it is, and finds nothing more", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Desk
      for (const customer_id of [payloads[1]!, "cust_1", "%"]) yield* newInvoice(shop, { amount_usd: 5, customer_id })
      for (const filter of filters) {
        const before = yield* get(`${filter}${randomUUID()}`)
        for (const payload of payloads) {
          const answer = yield* get(`${filter}${encodeURIComponent(payload)}`)
          if (filter.includes("customer_id=") || filter.endsWith("type=") || filter.endsWith("search=")) continue
          // Whatever it says, it says so of any text that is not a value here.
          if (answer.status === 200) assert.lengthOf(itemsOf(answer), 0, `${filter}${payload}`)
          else assert.strictEqual(answer.status, before.status === 200 ? 400 : before.status, `${filter}${payload}`)
        }
      }
      for (const customer of [payloads[1]!, "%"]) {
        const { data } = assertStatus(200, yield* get(`/api/v1/invoices?customer_id=${encodeURIComponent(customer)}`))
        assert.deepStrictEqual(data.map((each: any) => each.customer_id), [customer])
        const found = assertStatus(200, yield* get(`/api/v1/invoices/${encodeURIComponent(customer)}`))
        assert.strictEqual(found.customer_id, customer)
      }
      for (const path of paths) {
        const before = yield* get(`${path}${randomUUID()}x`)
        for (const payload of payloads.filter((each) => each !== payloads[1] && each !== "%")) {
          const answer = yield* get(`${path}${encodeURIComponent(payload)}`)
          if (answer.status !== 200) assert.include([400, 404], answer.status, `${path}${payload}`)
          else assert.lengthOf(itemsOf(answer), 0, `${path}${payload}`)
        }
        assert.strictEqual(essence(yield* get(`${path}${randomUUID()}x`)), essence(before), path)
      }
      for (const text of ["%", "_", "\\", "' UNION SELECT"]) {
        const page = assertStatus(200, yield* get(`/api/v1/merchant/tokens/search?search=${encodeURIComponent(text)}`))
        for (const token of page.tokens) {
          const texts = [token.token_symbol, token.token_name, token.token_address]
          assert.isTrue(texts.some((each) => each.includes(text)), `${text}: ${texts.join(", ")}`)
        }
        assert.isBelow(page.total, 3, text)
      }
      const [count] = yield* Effect.orDie(sql<{ n: bigint }>`SELECT count(*) AS n FROM invoices`)
      assert.strictEqual(count?.n, 3n)
    }))

  it.effect("63. long and nested patterns are refused by their length", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const patterns = [
        `/api/v1/events?type=${"a.".repeat(2_500)}*`,
        `/api/v1/events?type=${"a.*.*.*.*,".repeat(500)}`,
        `/api/v1/events?type=${",".repeat(5_000)}`
      ]
      for (const path of patterns) assert.strictEqual((yield* get(path)).json.error.code, "INVALID_EVENT_TYPE")
      const searches = [
        "a".repeat(5_000),
        "(a+)+$".repeat(800),
        `${"a".repeat(300)}!`,
        "((((((a*)*)*)*)*)*)*".repeat(20)
      ]
      for (const text of searches) {
        const answer = yield* get(`/api/v1/merchant/tokens/search?search=${encodeURIComponent(text)}`)
        assertRefusedFlat(answer, 400, "VALIDATION_ERROR", text.slice(0, 20))
      }
      const close = yield* get(`/api/v1/merchant/tokens/search?search=${encodeURIComponent("(a+)+$".repeat(40))}`)
      assert.strictEqual(assertStatus(200, close).total, 0)
      // A pattern that backtracks takes minutes.
      for (let turn = 0; turn < 20; turn++) yield* get(patterns[1]!)
      assert.strictEqual((yield* service.call("/health/live")).status, 200)
    }))

  it.effect("64. markup is kept as it was sent, and leaves as JSON that no browser takes for a page", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const markup = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "</title>",
        "&lt;"
      ]
      for (const text of markup) {
        const invoice = yield* newInvoice(shop, {
          amount_usd: 5,
          customer_id: text,
          description: text,
          invoice_title: text,
          invoice_footer: text,
          metadata: { note: text }
        })
        const read = yield* get(`/api/v1/invoices/${invoice.id}`)
        assert.include(String(read.headers["content-type"]), "application/json")
        assert.deepStrictEqual([read.json.customer_id, read.json.metadata], [text, { note: text }])
        const details = yield* asPayor(shop, invoice, "session-details")
        assert.deepStrictEqual([details.description, details.invoice_title, details.invoice_footer], [text, text, text])
      }
    }))

  it.effect("65. line ends stay inside their text: in answers, headers, events and one log line each", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const forged = "a\r\nX-Forged: yes\r\n\r\n{\"level\":\"error\",\"message\":\"forged\"}\u2028\u0085"
      const made = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": shop.key, "idempotency-key": randomUUID() },
        body: { amount_usd: 5, customer_id: forged, description: forged, metadata: { [forged.slice(0, 20)]: forged } }
      })
      assertHarmless(made, "65")
      if (made.status === 200) {
        const read = yield* get(`/api/v1/invoices/${made.json.invoice_id}`)
        assert.strictEqual(read.json.customer_id, forged)
        assert.isUndefined(read.headers["x-forged"])
      }
      yield* get(`/api/v1/invoices/${encodeURIComponent(forged)}`)
      yield* get(`/api/v1/events?customer_id=${encodeURIComponent(forged)}`)
      for (const { headers } of [made]) {
        for (const value of Object.values(headers)) assert.notMatch(String(value), /forged/i)
      }
      const [, afterDemo = service.output()] = service.output().split("-d '{\"amount_usd\"")
      for (const line of afterDemo.split("\n").slice(1).filter((each) => each.trim() !== "")) {
        const entry = JSON.parse(line)
        assert.notStrictEqual(entry.message, "forged")
      }
    }))

  it.effect("66. nothing is exported as a table: a formula leaves as JSON text", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const formula = "=HYPERLINK(\"https://evil.example\",\"x\")"
      const invoice = yield* newInvoice(shop, { amount_usd: 5, customer_id: formula })
      for (const accept of ["text/csv", "application/vnd.ms-excel", "text/html"]) {
        const read = yield* attack(service, `/api/v1/invoices/${invoice.id}`, {
          headers: { "x-api-key": shop.key, accept }
        })
        assert.include(String(read.headers["content-type"]), "application/json")
        assert.strictEqual(read.json.customer_id, formula)
      }
    }))

  it.effect("67. addresses and memos that look like others are refused, for refunds and for receiving wallets", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const invoice = yield* newInvoice(shop, { amount_usd: 5 })
      const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
      const alike = [
        address.replace("a", "а"),
        `\u202e${address}`,
        `${address}\u200b`,
        ` ${address}`,
        `${address}\n`,
        address.replace("0x", "０x"),
        address.replace("f39F", "F39F"),
        address.replace("0x", "0X"),
        `${address}.eth`
      ]
      for (const text of alike) {
        const refund = yield* attack(service, "/api/v1/payments/refund-address", {
          headers: invoice.session,
          body: { network: "base", address: text }
        })
        assertRefusedFlat(refund, 400, "WALLET_ADDRESS_INVALID", JSON.stringify(text))
      }
      const ton = "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF"
      for (const memo of ["47\u202e11", "４７１１", "4711\u200b", "47\n11", "", "x".repeat(121)]) {
        const refund = yield* attack(service, "/api/v1/payments/refund-address", {
          headers: invoice.session,
          body: { network: "ton", address: ton, memo }
        })
        assertRefusedFlat(refund, 400, "VALIDATION_ERROR", JSON.stringify(memo))
      }
      for (const value of [alike[0]!, alike[1]!, alike[2]!, alike[5]!, alike[6]!]) {
        const wallet = yield* attack(service, "/api/v1/merchant/wallets/evm", {
          method: "PUT",
          headers: { "x-api-key": shop.key },
          body: { kind: "pool", value, environment: "devnet" }
        })
        assertRefusedFlat(wallet, 400, "WALLET_INVALID", JSON.stringify(value))
      }
    }))

  it.effect("68. pictures and links of a merchant are https, those of tokens are ours", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const urls = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://shop.example/logo.png",
        "//evil.example/x",
        "https://user:pass@shop.example/",
        "https://shop.example/\"onload=x",
        "https://shop.example/\u202e",
        "JaVaScRiPt:1"
      ]
      for (const url of urls) {
        const settings = yield* attack(service, "/api/v1/merchant/settings", {
          method: "PATCH",
          headers: { "x-api-key": shop.key },
          body: { branding: { logo_uri: url } }
        })
        assertRefusedFlat(settings, 400, "VALIDATION_ERROR", url)
        if (url.startsWith("https://user")) continue
        const invoice = yield* attack(service, "/api/v1/invoices", {
          headers: { "x-api-key": shop.key, "idempotency-key": randomUUID() },
          body: { amount_usd: 5, payment_return_url: url, payment_return_url_enabled: true }
        })
        if (!url.startsWith("http:")) assertRefusedFlat(invoice, 400, "VALIDATION_ERROR", url)
      }
      const page = assertStatus(200, yield* get("/api/v1/merchant/tokens/search?limit=200"))
      for (const { photo_uri } of page.tokens) assert.match(photo_uri, /^\/assets\/tokens\/[\w.%+-]+\.svg$/)
      const offered = yield* asPayor(shop, yield* newInvoice(shop, { amount_usd: 5 }), "available-tokens?mode=all")
      for (const { photo_uri } of offered) assert.match(photo_uri, /^\/assets\/tokens\/[\w.%+-]+\.svg$/)
    }))
})
