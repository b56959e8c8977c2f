/**
 * Goal: a request that is misspelt never does something else in silence, on any route.
 * Method: every operation of the served OpenAPI document is called with a query parameter, a body field and an environment
 * that do not belong there; the addresses that clients know longest, by every spelling of their URL.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import type { Received, Sent } from "../support/Service.ts"
import { answered } from "./Shop.ts"
import { ask, type Credential, Tenants, tenants } from "./Tenants.ts"

/** Routes whose clients were written before there was a complete list of names. */
const lenient: ReadonlySet<string> = new Set([
  "GET /api/v1/events", "GET /api/v1/events/{eventId}", "GET /api/v1/merchant/tokens", "GET /api/v1/merchant/tokens/search",
  "POST /api/v1/invoices", "GET /api/v1/invoices/{customer_id}", "GET /api/v1/invoices", "GET /api/v1/invoices/totals",
  "GET /api/v1/payments/session-details", "GET /api/v1/payments/available-tokens", "POST /api/v1/payments/payment-addresses",
  "GET /api/v1/payments/payment-status"
])

const wellFormed: Readonly<Record<string, string>> = { family: "evm", eventId: "evt_1700000000000-1", tokenId: "1", network: "base" }

interface Operation {
  readonly method: string
  readonly route: string
  readonly path: string
  readonly operation: any
  readonly credential: Credential
}

const operations = Effect.gen(function*() {
  const { a, service } = yield* Tenants
  const document = answered(200, yield* service.call("/openapi.json"))
  const made = answered(200, yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } }))
  return Object.entries<any>(document.paths).flatMap(([template, item]) =>
    Object.entries<any>(item).filter(([method]) => method !== "parameters").map(([method, operation]): Operation => ({
      method: method.toUpperCase(),
      route: `${method.toUpperCase()} ${template}`,
      path: template.replaceAll(/\{(\w+)\}/g, (_, name: string) => wellFormed[name] ?? randomUUID()),
      operation,
      credential: template.startsWith("/api/v1/payments/")
        ? made.payment_session_headers
        : template.includes("/commerce/") ? a.commerce : a.merchant
    })))
    .filter(({ path }) => path.startsWith("/api/"))
})

const isMerchants = ({ operation }: Operation) => (operation.security ?? []).some((scheme: object) => "bearer" in scheme)

const codeOf = ({ json }: Received): string => typeof json?.error === "string" ? json.code : json?.error?.code

const call = ({ credential, method, path }: Operation, sent: Sent & { readonly query?: string; readonly as?: Credential } = {}) =>
  Effect.flatMap(Tenants, ({ service }) =>
    ask(service, sent.as ?? credential, `${path}${sent.query ?? ""}`, { method, ...sent }))

const warningOf = ({ headers }: Received) => String(headers["x-service-warning"])

layer(tenants, { excludeTestServices: true, timeout: "120 seconds" })("a request", (it) => {
  it.effect("with a query parameter that its route does not know is refused, or warned of where that would break clients", () =>
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
    }), 120_000)

  it.effect("with a body field that its route does not know is told so", () =>
    Effect.gen(function*() {
      for (const each of (yield* operations).filter(({ method }) => method !== "GET")) {
        const answer = yield* call(each, { body: { zz_unknown: 1 } })
        assert.match(warningOf(answer), /^unknown body field "zz_unknown"/, `${each.route} ${answer.text}`)
      }
    }), 120_000)

  it.effect("that names all its route knows is warned of nothing", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const document = answered(200, yield* service.call("/openapi.json"))
      const resolved = (value: any): any =>
        value?.$ref === undefined ? value : resolved(value.$ref.slice(2).split("/").reduce((at: any, key: string) => at[key], document))
      for (const each of yield* operations) {
        const query = (each.operation.parameters ?? []).map(resolved).filter((parameter: any) => parameter.in === "query")
          .map(({ name }: any) => `${encodeURIComponent(name)}=${name === "environment" ? "devnet" : "1"}`).join("&")
        const example = each.operation.requestBody?.content["application/json"].example
        const answer = yield* call(each, {
          query: query === "" ? "" : `?${query}`,
          ...example === undefined ? {} : { body: { ...example, environment: "devnet" } }
        })
        const isForMerchants = isMerchants(each)
        assert.match(warningOf(answer), isForMerchants || example === undefined ? /^undefined$/ : /^[^;]*"environment"[^;]*$/, each.route)
        assert.notInclude(answer.text, "No such query parameter", each.route)
      }
    }), 120_000)

  it.effect("by a key that names the other environment writes nothing, whether the query or the body names it", () =>
    Effect.gen(function*() {
      const writes = (yield* operations).filter((each) => isMerchants(each) && each.method !== "GET")
      assert.isAbove(writes.length, 30)
      for (const each of writes) {
        const inQuery = yield* call(each, { query: "?environment=mainnet", ...each.operation.requestBody === undefined ? {} : { body: {} } })
        assert.deepStrictEqual([inQuery.status, codeOf(inQuery)], [403, "ENVIRONMENT_FORBIDDEN"], each.route)
        const inBody = yield* call(each, { body: { environment: "mainnet" } })
        assert.deepStrictEqual([inBody.status, codeOf(inBody)], [403, "ENVIRONMENT_FORBIDDEN"], each.route)
      }
    }), 120_000)

  it.effect("by a wallet acts where its query or its body says on every write, and nowhere when they differ", () =>
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
        Effect.map(ask(service, a.jwt, path, { method, ...(body === undefined ? {} : { body }) }), (found) => answered(200, found))
      const byBody = yield* write("/api/v1/invoices", "POST", { amount_usd: 5, environment: "mainnet" })
      assert.strictEqual(byBody.invoice.environment, "mainnet")
      const byQuery = yield* write("/api/v1/invoices?environment=mainnet", "POST", { amount_usd: 5 })
      assert.strictEqual(byQuery.invoice.environment, "mainnet")
      assert.strictEqual((yield* write("/api/v1/invoices", "POST", { amount_usd: 5 })).invoice.environment, "devnet")
      const path = `/api/v1/invoices/${byBody.invoice_id}`
      assert.strictEqual((yield* write(path, "PATCH", { description: "a", environment: "mainnet" })).environment, "mainnet")
      assert.strictEqual((yield* write(`${path}/cancel`, "POST", { environment: "mainnet" })).status, "canceled")
      const elsewhere = yield* ask(service, a.jwt, `${path}/cancel`, { method: "POST" })
      assert.strictEqual(codeOf(elsewhere), "INVOICE_NOT_FOUND")
    }), 120_000)

  it.effect("is one request however its URL is escaped, and no other spelling is taken", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const headers = { ...a.merchant, "idempotency-key": randomUUID() }
      const post = (path: string) => service.call(path, { method: "POST", headers, body: { amount_usd: 5 } })
      const made = []
      for (const path of ["/api/v1/invoices", "/api/v1/%69nvoices", "/%61%70i/v1/invoice%73", "/api/v%31/invoices?"]) {
        made.push(answered(200, yield* post(path)).invoice_id)
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
      assert.match(warningOf(answer), /^unknown query parameter "tx_hash", nearest is "\w+"$/)
      const typo = yield* service.call("/api/v1/invoices?custmer_id=a&statsu=paid", { headers: a.merchant })
      assert.strictEqual(
        warningOf(typo),
        "unknown query parameter \"custmer_id\", nearest is \"customer_id\"; unknown query parameter \"statsu\", nearest is \"status\""
      )
    }))
})
