/**
 * Goal: a request that is misspelt never does something else in silence, on any route. Method: every operation of the
 * served OpenAPI document is called with a query parameter, a body field and an environment that do not belong there;
 * the addresses that clients know longest, by every spelling of their URL.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { exchange, type TestRequest, type TestResponse } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, makeKey, makeWebhook, Tenants, tenants } from "./Tenants.ts"

/** Routes whose clients were written before there was a complete list of names. */
const lenient: ReadonlySet<string> = new Set([
  "GET /api/v1/events",
  "GET /api/v1/events/{eventId}",
  "GET /api/v1/merchant/tokens",
  "GET /api/v1/merchant/tokens/search",
  "POST /api/v1/invoices",
  "GET /api/v1/invoices/{customer_id}",
  "GET /api/v1/invoices",
  "GET /api/v1/invoices/totals",
  "GET /api/v1/payments/session-details",
  "GET /api/v1/payments/available-tokens",
  "POST /api/v1/payments/payment-addresses",
  "GET /api/v1/payments/payment-status"
])

const wellFormed: Readonly<Record<string, string>> = {
  family: "evm",
  eventId: "evt_1700000000000-1",
  tokenId: "1",
  network: "base"
}

interface Operation {
  readonly method: string
  readonly route: string
  readonly path: string
  readonly operation: any
  readonly credential: Credential
}

const operations = Effect.gen(function*() {
  const { a, service } = yield* Tenants
  const document = assertStatus(200, yield* service.call("/openapi.json"))
  const made = assertStatus(
    200,
    yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
  )
  return Object.entries<any>(document.paths).flatMap(([template, item]) =>
    Object.entries<any>(item).filter(([method]) => method !== "parameters").map(([method, operation]): Operation => ({
      method: method.toUpperCase(),
      route: `${method.toUpperCase()} ${template}`,
      path: template.replaceAll(/\{(\w+)\}/g, (_, name: string) => wellFormed[name] ?? randomUUID()),
      operation,
      credential: template.startsWith("/api/v1/payments/")
        ? made.payment_session_headers
        : template.includes("/commerce/")
        ? a.commerce
        : a.merchant
    }))
  )
    .filter(({ path }) => path.startsWith("/api/"))
})

const isMerchants = ({ operation }: Operation) =>
  (operation.security ?? []).some((scheme: object) => "bearer" in scheme)

const codeOf = ({ json }: TestResponse): string => typeof json?.error === "string" ? json.code : json?.error?.code

const call = (
  { credential, method, path }: Operation,
  sent: TestRequest & { readonly query?: string; readonly as?: Credential } = {}
) =>
  Effect.flatMap(
    Tenants,
    ({ service }) => ask(service, sent.as ?? credential, `${path}${sent.query ?? ""}`, { method, ...sent })
  )

const warningOf = ({ headers }: TestResponse) => String(headers["x-service-warning"])

layer(tenants, { excludeTestServices: true })("a request", (it) => {
  it.effect(
    "with a query parameter that its route does not know is refused, or warned of where that would break clients",
    () =>
      Effect.gen(function*() {
        const found = yield* operations
        assert.isAbove(found.length, 70)
        for (const each of found) {
          const body = each.operation.requestBody === undefined ? {} : { body: {} }
          const answer = yield* call(each, { query: "?zz_unknown=1", ...body })
          if (lenient.has(each.route)) {
            assert.match(warningOf(answer), /^unknown query parameter "zz_unknown"/, each.route)
            assert.notInclude(answer.text, "zz_unknown", each.route)
          } else {
            assert.deepStrictEqual([answer.status, codeOf(answer)], [400, "VALIDATION_ERROR"], each.route)
            assert.include(answer.text, "zz_unknown", each.route)
          }
        }
        assert.deepStrictEqual([...lenient].filter((route) => !found.some((each) => each.route === route)), [])
      })
  )

  it.effect("with a body field that its route does not know is told so", () =>
    Effect.gen(function*() {
      for (const each of (yield* operations).filter(({ method }) => method !== "GET")) {
        const answer = yield* call(each, { body: { zz_unknown: 1 } })
        assert.match(warningOf(answer), /^unknown body field "zz_unknown"/, `${each.route} ${answer.text}`)
      }
    }))

  it.effect("that names all its route knows is warned of nothing", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const document = assertStatus(200, yield* service.call("/openapi.json"))
      const resolved = (value: any): any =>
        value?.$ref === undefined
          ? value
          : resolved(value.$ref.slice(2).split("/").reduce((at: any, key: string) => at[key], document))
      for (const each of yield* operations) {
        const query = (each.operation.parameters ?? []).map(resolved).filter((parameter: any) =>
          parameter.in === "query"
        )
          .map(({ name }: any) => `${encodeURIComponent(name)}=${name === "environment" ? "devnet" : "1"}`).join("&")
        const example = each.operation.requestBody?.content["application/json"].example
        const answer = yield* call(each, {
          query: query === "" ? "" : `?${query}`,
          ...example === undefined ? {} : { body: { ...example, environment: "devnet" } }
        })
        const isForMerchants = isMerchants(each)
        assert.match(
          warningOf(answer),
          isForMerchants || example === undefined ? /^undefined$/ : /^[^;]*"environment"(?:; known are [^;]*)?$/,
          each.route
        )
        assert.notInclude(answer.text, "No such query parameter", each.route)
      }
    }))

  it.effect(
    "by a key that names the other environment writes nothing, whether the query or the body names it",
    () =>
      Effect.gen(function*() {
        const writes = (yield* operations).filter((each) => isMerchants(each) && each.method !== "GET")
        assert.isAbove(writes.length, 30)
        for (const each of writes) {
          const inQuery = yield* call(each, {
            query: "?environment=mainnet",
            ...each.operation.requestBody === undefined ? {} : { body: {} }
          })
          assert.deepStrictEqual([inQuery.status, codeOf(inQuery)], [403, "ENVIRONMENT_FORBIDDEN"], each.route)
          const inBody = yield* call(each, { body: { environment: "mainnet" } })
          assert.deepStrictEqual([inBody.status, codeOf(inBody)], [403, "ENVIRONMENT_FORBIDDEN"], each.route)
        }
      })
  )

  it.effect(
    "by a wallet acts where its query or its body says on every write, and nowhere when they differ",
    () =>
      Effect.gen(function*() {
        const { a, service } = yield* Tenants
        for (const each of (yield* operations).filter((each) => isMerchants(each) && each.method !== "GET")) {
          const torn = yield* call(each, { as: a.jwt, query: "?environment=devnet", body: { environment: "mainnet" } })
          assert.strictEqual(torn.status, 400, each.route)
          assert.include(["INVALID_ENVIRONMENT", "VALIDATION_ERROR"], codeOf(torn), each.route)
          const wrong = yield* call(each, { as: a.jwt, body: { environment: "production" } })
          assert.strictEqual(wrong.status, 400, each.route)
          assert.include(wrong.text, "environment", each.route)
        }
        const write = (path: string, method: string, body?: object) =>
          Effect.map(
            ask(service, a.jwt, path, { method, ...(body === undefined ? {} : { body }) }),
            (found) => assertStatus(200, found)
          )
        const byBody = yield* write("/api/v1/invoices", "POST", { amount_usd: 5, environment: "mainnet" })
        assert.strictEqual(byBody.invoice.environment, "mainnet")
        const byQuery = yield* write("/api/v1/invoices?environment=mainnet", "POST", { amount_usd: 5 })
        assert.strictEqual(byQuery.invoice.environment, "mainnet")
        assert.strictEqual((yield* write("/api/v1/invoices", "POST", { amount_usd: 5 })).invoice.environment, "devnet")
        const path = `/api/v1/invoices/${byBody.invoice_id}`
        assert.strictEqual(
          (yield* write(path, "PATCH", { description: "a", environment: "mainnet" })).environment,
          "mainnet"
        )
        assert.strictEqual((yield* write(`${path}/cancel`, "POST", { environment: "mainnet" })).status, "canceled")
        const elsewhere = yield* ask(service, a.jwt, `${path}/cancel`, { method: "POST" })
        assert.strictEqual(codeOf(elsewhere), "INVOICE_NOT_FOUND")
      })
  )

  it.effect("is one request however its URL is escaped, and no other spelling is taken", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const headers = { ...a.merchant, "idempotency-key": randomUUID() }
      const post = (path: string) => exchange(service.url, path, { method: "POST", headers, body: { amount_usd: 5 } })
      const made = []
      for (const path of ["/api/v1/invoices", "/api/v1/%69nvoices", "/%61%70i/v1/invoice%73", "/api/v%31/invoices?"]) {
        made.push(assertStatus(200, yield* post(path)).invoice_id)
      }
      assert.lengthOf(new Set(made), 1)
      for (const path of ["/api/v1/invoices/", "/API/V1/INVOICES", "//api/v1/invoices", "/api/v1//invoices"]) {
        const answer = yield* post(path)
        assert.deepStrictEqual([answer.status, answer.json.code], [404, "NOT_FOUND"], path)
      }
    }))

  it.effect("for a list names the filter that it does not have, instead of answering every row without a word", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const answer = yield* service.call("/api/v1/invoices?tx_hash=0xabc", { headers: a.merchant })
      assert.strictEqual(answer.status, 200)
      assert.match(warningOf(answer), /^unknown query parameter "tx_hash"; known are [\w, ]*status[\w, ]*$/)
      const typo = yield* service.call("/api/v1/invoices?custmer_id=a&statsu=paid", { headers: a.merchant })
      assert.strictEqual(
        warningOf(typo),
        "unknown query parameter \"custmer_id\", nearest is \"customer_id\"; unknown query parameter \"statsu\", nearest is \"status\""
      )
    }))

  it.effect("for a version of the API that there is not is told which there are, by one code everywhere", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const url = "https://93.184.215.14/hooks"
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/webhooks", { method: "POST", body: { url, enabled_events: ["*"] } })
      )
      const key = yield* makeKey(service, a.jwt, { scope: "merchant", environment: "devnet" })
      const body = { api_version: "2020-01-01" }
      for (
        const [method, path, more] of [
          ["POST", "/api/v1/webhooks", { url, enabled_events: ["*"] }],
          ["PATCH", `/api/v1/webhooks/${made.data.id}`, {}],
          ["PATCH", `/api/v1/api-keys/${key.id}`, {}]
        ] as const
      ) {
        const answer = yield* ask(service, a.merchant, path, { method, body: { ...more, ...body } })
        assert.deepStrictEqual([answer.status, codeOf(answer), answer.json.error.param], [
          400,
          "INVALID_VERSION",
          "api_version"
        ], path)
        assert.include(answer.text, made.data.api_version)
      }
      const change = (api_version: string) =>
        ask(service, a.merchant, `/api/v1/webhooks/${made.data.id}`, { method: "PATCH", body: { api_version } })
      assert.strictEqual((yield* change(made.data.api_version)).status, 200)
      const other = yield* change("2026-01-15")
      assert.deepStrictEqual([other.status, codeOf(other)], [400, "VALIDATION_ERROR"])
      assertStatus(200, yield* ask(service, a.merchant, `/api/v1/webhooks/${made.data.id}`, { method: "DELETE" }))
    }))

  it.effect("for webhook endpoints is answered in pages, as every list is", () =>
    Effect.gen(function*() {
      const { b, service } = yield* Tenants
      for (let n = 0; n < 12; n++) {
        const body = { url: `https://93.184.215.14/${n}`, enabled_events: ["*"] }
        assertStatus(200, yield* ask(service, b.merchant, "/api/v1/webhooks", { method: "POST", body }))
      }
      const page = (query: string) => service.call(`/api/v1/webhooks${query}`, { headers: b.merchant })
      const ids: ReadonlyArray<string> = assertStatus(200, yield* page("?limit=100")).data.data.map(({ id }: any) => id)
      const listed = (query: string) =>
        Effect.map(page(query), (found) => {
          const { data, has_more } = assertStatus(200, found).data
          return [data.map(({ id }: any) => ids.indexOf(id)), has_more]
        })
      assert.deepStrictEqual(yield* listed(""), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], true])
      assert.deepStrictEqual(yield* listed("?limit=100"), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], false])
      assert.deepStrictEqual(yield* listed(`?limit=2&starting_after=${ids[9]}`), [[10, 11], false])
      assert.deepStrictEqual(yield* listed(`?limit=2&starting_after=${ids[3]!.toUpperCase().replace("WE_", "we_")}`), [[
        4,
        5
      ], true])
      assert.deepStrictEqual(yield* listed(`?limit=2&ending_before=${ids[3]}`), [[1, 2], true])
      assert.deepStrictEqual(yield* listed(`?limit=9&ending_before=${ids[3]}`), [[0, 1, 2], false])
      for (
        const [query, code] of [
          ["limit=0", "INVALID_LIMIT"],
          ["limit=101", "INVALID_LIMIT"],
          ["starting_after=x", "INVALID_CURSOR"],
          [`starting_after=we_${randomUUID()}`, "INVALID_CURSOR"],
          [`starting_after=${ids[0]}&ending_before=${ids[1]}`, "INVALID_CURSOR"]
        ]
      ) assert.strictEqual(codeOf(yield* page(`?${query}`)), code, query)
    }))

  it.effect("for totals or a list of a span that ends before it begins is refused", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      for (const path of ["/api/v1/invoices/totals", "/api/v1/invoices", "/api/v1/invoices/customer/nobody"]) {
        const answer = yield* service.call(`${path}?created_gte=20&created_lte=10`, { headers: a.merchant })
        assert.deepStrictEqual([answer.status, codeOf(answer)], [400, "VALIDATION_ERROR"], path)
        assert.include(answer.text, "created_gte", path)
        assert.strictEqual(
          (yield* service.call(`${path}?created_gte=10&created_lte=10`, { headers: a.merchant })).status,
          200,
          path
        )
      }
    }))

  it.effect("finds an object by its id in either case", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const customer = randomUUID().toUpperCase()
      const { invoice_id } = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", {
          method: "POST",
          body: { amount_usd: 5, customer_id: customer }
        })
      )
      const get = (path: string) => service.call(path, { headers: a.merchant })
      const upper = invoice_id.toUpperCase()
      assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/devnet/networks/base/fault", { method: "POST", body: { mode: "ok" } })
      )
      for (const path of [`/api/v1/invoices/${upper}`, `/api/v1/invoices/${customer}`]) {
        assert.strictEqual(assertStatus(200, yield* get(path)).id, invoice_id, path)
      }
      for (const part of ["status", "payments"]) {
        assert.strictEqual((yield* get(`/api/v1/invoices/${upper}/${part}`)).status, 200, part)
      }
      const { data } = assertStatus(
        200,
        yield* ask(service, a.merchant, `/api/v1/devnet/invoices/${upper}/simulate`, {
          method: "POST",
          body: { action: "pay" }
        })
      )
      assert.strictEqual((yield* get(`/api/v1/invoice-payments/${data.invoice_payment.id.toUpperCase()}`)).status, 200)
      const hook = yield* makeWebhook(service, a, a.merchant)
      assert.strictEqual((yield* get(`/api/v1/webhooks/we_${hook.slice(3).toUpperCase()}`)).status, 200)
    }))

  it.effect("for an invoice that nobody could pay, because none of its networks is served, is refused", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const create = (credential: Credential, networks: ReadonlyArray<string>) =>
        ask(service, credential, "/api/v1/invoices", {
          method: "POST",
          body: { amount_usd: 5, accepted_networks: networks }
        })
      const none = yield* create(a.mainnet, ["base", "solana"])
      assert.deepStrictEqual([none.status, codeOf(none)], [400, "UNSUPPORTED_NETWORK"])
      assert.include(none.text, "accepted_networks")
      assert.strictEqual(codeOf(yield* create(a.merchant, [])), "UNSUPPORTED_NETWORK")
      assert.strictEqual((yield* create(a.merchant, ["base"])).status, 200)
      const served = assertStatus(200, yield* service.call("/api/v1/networks/status?environment=devnet"))
      const names: ReadonlyArray<string> = served.data.data.map(({ network }: any) => network)
      const other = ["cardano", "sui", "ton", "solana"].find((network) => !names.includes(network))
      if (other !== undefined) {
        assert.strictEqual(codeOf(yield* create(a.merchant, [other])), "UNSUPPORTED_NETWORK")
        assert.strictEqual((yield* create(a.merchant, [other, "base"])).status, 200)
      }
    }))

  it.effect("may end an invoice that a commerce key made without an order", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const made = assertStatus(
        200,
        yield* ask(service, a.commerce, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      const canceled = yield* ask(service, a.commerce, `/api/v1/invoices/${made.invoice_id}/cancel`, { method: "POST" })
      assert.deepInclude(assertStatus(200, canceled), {
        status: "canceled",
        invoice_type: "commerce",
        commerce_order_id: null
      })
    }))

  it.effect("may name a return page of the developer's own machine on devnet, and only there", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const create = (credential: Credential, payment_return_url: string) =>
        ask(service, credential, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5, payment_return_url } })
      for (
        const url of [
          "http://localhost/done",
          "http://localhost:3000/done?a=b",
          "http://127.0.0.1:5173/",
          "http://[::1]:8000/",
          "HTTP://LOCALHOST/"
        ]
      ) {
        const made = assertStatus(200, yield* create(a.merchant, url))
        const details = yield* service.call("/api/v1/payments/session-details", {
          headers: made.payment_session_headers
        })
        assert.strictEqual(assertStatus(200, details).payment_return_url, url)
        const real = yield* create(a.mainnet, url)
        assert.deepStrictEqual([real.status, codeOf(real)], [400, "VALIDATION_ERROR"], url)
        assert.include(real.text, "payment_return_url")
      }
      for (
        const url of [
          "http://shop.example/",
          "http://localhost.shop.example/",
          "http://user@localhost/",
          "http://10.0.0.1/",
          "javascript:alert(1)"
        ]
      ) {
        assert.strictEqual(codeOf(yield* create(a.merchant, url)), "VALIDATION_ERROR", url)
      }
      assert.strictEqual((yield* create(a.mainnet, "https://shop.example/done")).status, 200)
    }))
})
