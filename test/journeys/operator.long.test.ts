/**
 * Goal: the operator API lets in nobody but the operator, does what it says for the whole service, and leaves a trace
 * of every act. Method: two real instances on one database, called over their internal ports; what an act changes is
 * read from the public API of both.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SqlClient } from "effect/sql"
import { connect, emptyDatabase } from "../support/Database.ts"
import { checkerFor } from "../support/OpenApi.ts"
import { makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"
import {
  asPayor,
  assertStatus,
  chooseToken,
  newInvoice,
  openShop,
  readInvoice,
  requestAddress,
  type Shop
} from "./Shop.ts"

const adminToken = "journey-operator-credential-0123456789"

/** A call whose answer is not judged. */
const exchangeAsOperator = (service: Service, path: string, sent: TestRequest = {}) =>
  exchange(service.rpcUrl, `/admin/v1${path}`, {
    ...sent,
    headers: { authorization: `Bearer ${adminToken}`, ...sent.headers }
  })

class Town extends Context.Service<Town, {
  readonly config: object
  readonly services: readonly [Service, Service]
  readonly shops: readonly [Shop, Shop]
  readonly sql: SqlClient.SqlClient
  /** What an answer does that the service's own document of the operator API does not say. */
  readonly violations: ReturnType<typeof checkerFor>
}>()("test/journeys/operator/Town") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const config = {
        ...configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated", options: { networks: ["base", "ethereum"] } }],
          limits: { anonymousPerMinute: 200 }
        }),
        admin: { token: adminToken }
      }
      const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
      const services = yield* Effect.all([start, start], { concurrency: 2 })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const owner = services.find(({ dataDirectory }) => existsSync(join(dataDirectory, "demo-keys.json")))!
      const { merchant_key: key } = yield* owner.keys
      for (const { guard } of services) {
        guard(key)
        guard(adminToken)
      }
      const shop = yield* openShop(services[0], receiver, key)
      const { json } = yield* exchangeAsOperator(services[0], "/openapi.json")
      return { config, services, shops: [shop, { ...shop, service: services[1] }], sql, violations: checkerFor(json) }
    })
  )
}

/**
 * A call of the operator API, by an operator unless another credential is named. Its answer is held against the
 * document that the service gives of this API.
 */
const ask = (service: Service, path: string, sent: TestRequest = {}) =>
  Effect.gen(function*() {
    const { violations } = yield* Town
    const answer = yield* exchangeAsOperator(service, path, sent)
    const method = sent.method ?? (sent.body === undefined ? "GET" : "POST")
    assert.deepStrictEqual(violations({ ...answer, method, path: `/admin/v1${path}` }), [], `${method} ${path}`)
    return answer
  })

const post = (service: Service, path: string, body: object, name?: string) =>
  ask(service, path, { method: "POST", body, ...(name === undefined ? {} : { headers: { "x-operator": name } }) })

const place = { environment: "devnet" } as const

layer(Town.layer, { excludeTestServices: true })("the operator API", (it) => {
  it.effect("lets in nobody without its own credential, and says which one it wants", () =>
    Effect.gen(function*() {
      const { services: [service], shops: [shop] } = yield* Town
      for (const authorization of ["", "Bearer x", `Bearer ${rpcToken}`, `Bearer ${shop.key}`, `Basic ${adminToken}`]) {
        const refused = yield* ask(service, "/networks", { headers: { authorization } })
        assert.strictEqual(refused.status, 401)
        assert.strictEqual(refused.json.error.code, "UNAUTHORIZED")
        assert.include(refused.json.error.message, "admin.token")
        assert.include(String(refused.headers["www-authenticate"]), "tillwire-admin")
      }
      const outside = yield* exchange(service.url, "/admin/v1/networks", {
        headers: { authorization: `Bearer ${adminToken}` }
      })
      assert.strictEqual(outside.status, 404)
      assert.strictEqual((yield* ask(service, "/nothing")).status, 404)
      assert.strictEqual((yield* ask(service, "/networks", { method: "DELETE" })).status, 405)
    }))

  it.effect("describes each of its calls in a document of its own, for whoever has the credential", () =>
    Effect.gen(function*() {
      const { services: [first, second] } = yield* Town
      const document = assertStatus(200, yield* ask(second, "/openapi.json"))
      const operations: ReadonlyArray<any> = Object.values<any>(document.paths).flatMap((item) => Object.values(item))
      assert.isAbove(operations.length, 15)
      assert.isTrue(Object.keys(document.paths).every((path) => path.startsWith("/admin/v1/")))
      for (const { operationId, responses, security } of operations) {
        assert.deepStrictEqual(security, [{ adminToken: [] }], operationId)
        assert.containsAllKeys(responses, ["200", "401", "429"], operationId)
      }
      const refused = yield* ask(first, "/openapi.json", { headers: { authorization: "Bearer x" } })
      assert.strictEqual(refused.status, 401)
      const { text } = yield* exchange(first.url, "/openapi.json")
      assert.notInclude(text, "/admin/")
      assert.notInclude(text, "X-Operator")
    }))

  it.effect("disables a network on every instance, follows what was promised there, and enables it again", () =>
    Effect.gen(function*() {
      const { services: [first, second], shops } = yield* Town
      const [a, b] = shops
      const promised = yield* newInvoice(a, { amount_usd: 5 })
      const shown = yield* chooseToken(a, promised, "USDC")
      const halfPaid = yield* newInvoice(a, { amount_usd: 5 })
      const simulate = (id: string, key: string, action: string) =>
        second.call(`/api/v1/devnet/invoices/${id}/simulate`, {
          headers: { "x-api-key": b.key, "idempotency-key": key },
          body: { action }
        })
      assertStatus(200, yield* simulate(halfPaid.id, "pay-half", "partial"))
      const disabled = assertStatus(
        200,
        yield* post(first, "/networks/base/disable", { ...place, reason: "nodes disagree" }, "alice")
      ).data
      assert.deepInclude(disabled, { object: "network", network: "base", is_enabled: false })
      assert.strictEqual(disabled.disabled_reason, "nodes disagree")

      const waiting = yield* newInvoice(b, { amount_usd: 5 })
      const body = { network: "base", token_id: shown.supported_token_id }
      const refused = yield* until(
        "the other instance refuses",
        requestAddress(b, waiting, body),
        ({ status }) => status === 400
      )
      assert.strictEqual(refused.json.code, "UNSUPPORTED_NETWORK")
      assert.strictEqual((yield* requestAddress(a, waiting, body)).status, 400)
      assert.deepStrictEqual(
        yield* asPayor(b, waiting, "available-tokens?mode=network&network=base"),
        []
      )
      const only = yield* b.service.call("/api/v1/invoices", {
        headers: { "x-api-key": b.key, "idempotency-key": "only-base" },
        body: { amount_usd: 5, accepted_networks: ["base"] }
      })
      assert.strictEqual(only.json.code, "UNSUPPORTED_NETWORK")
      yield* chooseToken(b, waiting, "USDC", "ethereum")

      assertStatus(200, yield* simulate(promised.id, "pay-promised", "pay"))
      yield* until("the promised payment counts", readInvoice(a, promised.id), ({ status }) => status === "paid")
      assertStatus(200, yield* simulate(halfPaid.id, "pay-rest", "pay"))
      const whole = yield* until("the rest counts", readInvoice(a, halfPaid.id), ({ status }) => status === "paid")
      assert.strictEqual(whole.amount_paid, 5_000)

      const publicStates = yield* Effect.map(
        second.call("/api/v1/networks/status"),
        (answer) => assertStatus(200, answer).data.data
      )
      const publicConditions = publicStates.map(({ condition, healthy, network }: any) => [network, healthy, condition])
      assert.deepStrictEqual(publicConditions, [["base", false, "disabled"], ["ethereum", true, "ok"]])
      assert.notInclude(JSON.stringify(publicStates), "nodes disagree", "why is between operators")

      const estimate = (yield* first.call(
        `/api/v1/quotes/estimate?amount_usd=5&network=base&token_id=${shown.supported_token_id}&environment=devnet`,
        { headers: { "x-api-key": a.key } }
      )).json
      assert.strictEqual(estimate.error.code, "UNSUPPORTED_NETWORK", "no price of what cannot be paid with")

      const listed = assertStatus(200, yield* ask(second, "/networks?environment=devnet")).data.data
      assert.deepStrictEqual(
        listed.map(({ is_enabled, network }: any) => [network, is_enabled]),
        [["base", false], ["ethereum", true]]
      )
      assert.isTrue(
        assertStatus(200, yield* post(second, "/networks/base/enable", place, "bob")).data.is_enabled
      )
      yield* until(
        "both offer it again",
        requestAddress(a, yield* newInvoice(a, { amount_usd: 5 }), body),
        ({ status }) => status === 200
      )
    }))

  it.effect("keeps what is disabled over a restart", () =>
    Effect.gen(function*() {
      const { config, services: [first], shops: [shop] } = yield* Town
      assertStatus(200, yield* post(first, "/networks/ethereum/disable", { ...place, reason: "maintenance" }))
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* startService({ directory: yield* temporaryDirectory, config })
        const invoice = yield* newInvoice({ ...shop, service }, { amount_usd: 5 })
        assert.deepStrictEqual(
          yield* asPayor({ ...shop, service }, invoice, "available-tokens?mode=network&network=ethereum"),
          []
        )
      }))
      assertStatus(200, yield* post(first, "/networks/ethereum/enable", place))
    }))

  it.effect("disables one token and leaves the others of its network", () =>
    Effect.gen(function*() {
      const { services: [first, second], shops: [a, b] } = yield* Town
      const invoice = yield* newInvoice(a, { amount_usd: 5 })
      const shown = yield* chooseToken(a, invoice, "USDC")
      const id = shown.supported_token_id
      assert.strictEqual(
        assertStatus(200, yield* post(first, `/tokens/${id}/disable`, { reason: "frozen" })).data.is_enabled,
        false
      )
      const other = yield* newInvoice(b, { amount_usd: 5 })
      const refused = yield* until(
        "the other instance refuses",
        requestAddress(b, other, { network: "base", token_id: id }),
        ({ status }) => status === 400
      )
      assert.strictEqual(refused.json.code, "TOKEN_NOT_ACCEPTED")
      const offered = yield* asPayor(b, other, "available-tokens?mode=network&network=base")
      assert.isAbove(offered.length, 0)
      assert.notInclude(offered.map((token: any) => token.id), id)
      const found = assertStatus(200, yield* ask(second, "/tokens?is_enabled=false")).data
      assert.deepStrictEqual(found.data.map((token: any) => token.token_id), [id])
      assertStatus(200, yield* post(second, `/tokens/${id}/enable`, {}))
      const again = requestAddress(a, other, { network: "base", token_id: id })
      yield* until("both offer it again", again, ({ status }) => status === 200)
      const page = assertStatus(200, yield* ask(first, "/tokens?limit=1&environment=devnet")).data
      assert.isTrue(page.has_more)
      const next = assertStatus(200, yield* ask(first, `/tokens?limit=1&starting_after=${page.data[0].token_id}`)).data
      assert.isAbove(next.data[0].token_id, page.data[0].token_id)
      assert.strictEqual((yield* post(first, "/tokens/99999999/disable", { reason: "x" })).status, 404)
    }))

  it.effect("shows what is booked of an invoice, and sums that come to nothing", () =>
    Effect.gen(function*() {
      const { services: [first], shops: [a] } = yield* Town
      const invoice = yield* newInvoice(a, { amount_usd: 7 })
      yield* chooseToken(a, invoice, "USDC")
      assertStatus(
        200,
        yield* first.call(`/api/v1/devnet/invoices/${invoice.id}/simulate`, {
          headers: { "x-api-key": a.key, "idempotency-key": "pay-booked" },
          body: { action: "pay" }
        })
      )
      yield* until("it is paid", readInvoice(a, invoice.id), ({ status }) => status === "paid")
      const { data } = assertStatus(200, yield* ask(first, `/invoices/${invoice.id}/ledger`))
      assert.strictEqual(data.invoice_id, invoice.id)
      assert.isAbove(data.transactions.length, 0)
      assert.strictEqual(data.sums.reduce((sum: number, { usd_millis }: any) => sum + usd_millis, 0), 0)
      assert.isTrue(data.sums.some(({ usd_millis }: any) => usd_millis === 7_000))
      assert.strictEqual(
        (yield* ask(first, "/invoices/00000000-0000-4000-8000-000000000000/ledger")).json.error.code,
        "INVOICE_NOT_FOUND"
      )
    }))

  it.effect("sends a merchant's events again, whichever of its endpoints is named", () =>
    Effect.gen(function*() {
      const { services: [first], shops: [a], sql } = yield* Town
      const [owner] = yield* Effect.orDie(
        sql<{ readonly id: number }>`SELECT DISTINCT merchant_id AS id FROM webhook_endpoints WHERE merchant_id > 0`
      )
      const merchant = owner!.id
      const invoice = yield* newInvoice(a, { amount_usd: 3 })
      const sent = () => a.receiver.arrivals(a.hooks).filter(({ body }: any) => String(body).includes(invoice.id))
      yield* until("the event came", Effect.sync(() => sent().length), (count) => count >= 1)
      const before = sent().length
      const replay = assertStatus(
        200,
        yield* post(first, "/webhooks/replay", {
          merchant_id: merchant,
          only_failed: false,
          types: ["invoice.created"]
        })
      ).data
      assert.isAtLeast(replay.queued, 1)
      yield* until("it came again", Effect.sync(() => sent().length), (count) => count > before)
      assert.strictEqual(
        (yield* post(first, "/webhooks/replay", { merchant_id: 2_000_000_000 })).json.error.code,
        "WEBHOOK_NOT_FOUND"
      )
      assertStatus(200, yield* ask(first, "/webhooks/failing"))
      const log = assertStatus(
        200,
        yield* ask(first, `/audit-log?environment=devnet&merchant_id=${merchant}&action=webhook_endpoint.replay`)
      ).data
      assert.match(log.data[0].actor, /^operator:[0-9a-f]{12}$/)
    }))

  it.effect("lists and retries what is stuck, and says what is not", () =>
    Effect.gen(function*() {
      const { services: [first], shops: [a], sql } = yield* Town
      const invoice = yield* newInvoice(a, { amount_usd: 4 })
      yield* chooseToken(a, invoice, "USDC")
      assertStatus(
        200,
        yield* first.call(`/api/v1/devnet/invoices/${invoice.id}/simulate`, {
          headers: { "x-api-key": a.key, "idempotency-key": "pay-stuck" },
          body: { action: "pay" }
        })
      )
      yield* until("it is paid", readInvoice(a, invoice.id), ({ status }) => status === "paid")
      const [payment] = (yield* Effect.orDie(
        sql`SELECT id FROM invoice_payments WHERE invoice_id = ${invoice.id}::uuid`
      )) as any
      const refused = yield* post(first, `/payments/${payment.id}/retry`, {})
      assert.strictEqual(refused.json.error.code, "INVALID_TRANSITION")
      assert.deepStrictEqual(assertStatus(200, yield* ask(first, "/payments/stuck")).data.data, [])
      // As a payment is left whose token had no price for as long as it was tried.
      yield* Effect.orDie(sql`UPDATE invoice_payments SET status = 'manual_retry', version = version + 1,
        metadata = (metadata::jsonb || '{"quote": null}')::json WHERE id = ${payment.id}::uuid`)
      const [stuck] = assertStatus(200, yield* ask(first, "/payments/stuck?environment=devnet&limit=1")).data.data
      assert.deepInclude(stuck, { payment_id: payment.id, invoice_id: invoice.id, status: "manual_retry" })
      assert.include(stuck.reason, "price")
      const retried = assertStatus(200, yield* post(first, `/payments/${payment.id}/retry`, {}, "carol")).data
      assert.strictEqual(retried.status, "confirmed")
      assert.deepStrictEqual(assertStatus(200, yield* ask(first, "/payments/stuck")).data.data, [])
      const entries = (yield* Effect.orDie(sql`SELECT actor, merchant_id FROM audit_entries
        WHERE action = 'payment.retry' AND subject ->> 'id' = ${payment.id}`)) as any
      assert.lengthOf(entries, 1)
      assert.match(entries[0].actor, /^operator:[0-9a-f]{12}:carol$/)
      assert.isAbove(entries[0].merchant_id, 0)
      assert.deepStrictEqual(assertStatus(200, yield* ask(first, "/settlements/stuck")).data.data, [])
      assert.strictEqual(
        (yield* post(first, "/settlements/00000000-0000-4000-8000-000000000000/retry", {})).json.error.code,
        "NOT_FOUND"
      )
    }))

  it.effect("shows every instance with the work that it holds", () =>
    Effect.gen(function*() {
      const { services } = yield* Town
      const lists = yield* Effect.forEach(services, (service) => ask(service, "/instances"))
      const found = lists.map((answer) => assertStatus(200, answer).data.data)
      assert.isAbove(found[0].flatMap(({ leases }: any) => leases).length, 0)
      for (const list of found) assert.isAtMost(list.filter(({ answers_here }: any) => answers_here).length, 1)
    }))

  it.effect("reads blocks again, and refuses what is not followed, not there or not needed", () =>
    Effect.gen(function*() {
      const { services: [first] } = yield* Town
      const [{ head }] = assertStatus(200, yield* ask(first, "/networks?environment=devnet")).data.data
      const asked = { ...place, from: head, to: head }
      const repair = assertStatus(200, yield* post(first, "/networks/base/rescan", asked, "dora")).data
      assert.deepInclude(repair, { object: "repair", kind: "rescan", network: "base" })
      const codes = yield* Effect.forEach(
        [
          ["/networks/base/rescan", { ...asked, to: "999999999999" }],
          ["/networks/base/rescan", { ...asked, from: -1 }],
          ["/networks/solana/rescan", asked],
          ["/networks/nowhere/rescan", asked],
          ["/networks/base/reanchor", place],
          ["/networks/base/disable", { ...place, reason: " " }],
          ["/networks/base/disable", { environment: "mainnet", reason: "x" }],
          ["/networks/base/disable", { environment: "moon", reason: "x" }]
        ] as const,
        ([path, body]) => Effect.map(post(first, path, body), ({ json }) => json.error.code)
      )
      assert.deepStrictEqual(codes, [
        "VALIDATION_ERROR",
        "VALIDATION_ERROR",
        "UNSUPPORTED_NETWORK",
        "UNSUPPORTED_NETWORK",
        "INVALID_TRANSITION",
        "VALIDATION_ERROR",
        "MAINNET_NOT_ENABLED",
        "INVALID_ENVIRONMENT"
      ])
    }))

  it.effect("keeps who did what, as it was and as it is, and nothing of what was refused or already so", () =>
    Effect.gen(function*() {
      const { services: [first] } = yield* Town
      const count = Effect.map(
        ask(first, "/audit-log?environment=devnet&limit=100"),
        (answer) => assertStatus(200, answer).data.data
      )
      const before = (yield* count).length
      assertStatus(200, yield* post(first, "/networks/base/enable", place))
      assert.strictEqual(
        (yield* post(first, "/networks/base/disable", { ...place, reason: "x" }, "no spaces")).status,
        400
      )
      assert.strictEqual((yield* post(first, "/networks/base/disable", place)).status, 400)
      assert.strictEqual((yield* count).length, before)
      const entries = yield* count
      const disable = entries.find(({ action, actor }: any) => action === "network.disable" && actor.endsWith(":alice"))
      assert.deepStrictEqual(disable.subject, { object: "network", id: "base" })
      assert.deepStrictEqual(disable.before, { is_enabled: true, reason: null })
      assert.deepStrictEqual(disable.after, { is_enabled: false, reason: "nodes disagree" })
      assert.match(disable.actor, /^operator:[0-9a-f]{12}:alice$/)
      assert.match(disable.request_id, /^req_/)
      assert.isTrue(entries.some(({ action }: any) => action === "network.rescan"))
    }))

  it.effect("answers whatever it is sent with one of its own errors", () =>
    Effect.gen(function*() {
      const { services: [first] } = yield* Town
      const values: ReadonlyArray<unknown> = [null, 1e308, "\u0000", "x".repeat(5_000), [], {}, true, "-1", "1 OR 1=1"]
      const paths = [
        "/networks/base/rescan",
        "/networks/base/disable",
        "/tokens/0/disable",
        "/webhooks/replay",
        "/webhooks/deliveries/x/retry",
        "/payments/x/retry",
        "/settlements/x/retry"
      ]
      const fields = ["environment", "from", "to", "reason", "merchant_id", "endpoint_id", "created_gte", "types"]
      for (const path of paths) {
        for (const value of values) {
          const body = Object.fromEntries(fields.map((field) => [field, value]))
          const { json, status } = yield* post(first, path, body)
          assert.isTrue(status >= 400 && status < 500, `${path} ${JSON.stringify(value)?.slice(0, 20)}: ${status}`)
          assert.isString(json.error.code)
        }
      }
      const told = (path: string) =>
        Effect.map(post(first, path, { ...place, reason: "why" }), ({ json }) => [json.error.code, json.error.message])
      assert.deepStrictEqual(yield* told("/tokens/abc/disable"), [
        "TOKEN_NOT_FOUND",
        "token_id: write the number of a token, e.g. 123"
      ])
      assert.deepStrictEqual(yield* told("/payments/019b4500-0000-7000-8000-000000000000/retry"), [
        "INVOICE_NOT_FOUND",
        "No payment has this id"
      ])
      for (
        const query of ["limit=0", "limit=x", "starting_after=%00", "starting_after='", "environment=x", "nothing=1"]
      ) {
        for (const path of ["/payments/stuck", "/settlements/stuck", "/tokens", "/webhooks/failing", "/audit-log"]) {
          const { status } = yield* ask(first, `${path}?${query}`)
          assert.strictEqual(status, 400, `${path}?${query}`)
        }
      }
    }))
})
