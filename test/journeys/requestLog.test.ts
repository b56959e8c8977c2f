/**
 * Goal: support finds a request and what it did to money in the log by its ids, and finds nothing there that lets
 * anybody in or tells who a customer is. Method: one service, a payment, refused and unknown calls, and its output.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"

type Entry = Readonly<Record<string, unknown>>

class LoggingService extends Context.Service<LoggingService, {
  readonly service: Service
  readonly key: string
  /** Entries of the log so far with this message. */
  readonly entries: (message: string) => ReadonlyArray<Entry>
}>()("test/journeys/LoggingService") {
  static readonly layer = Layer.effect(
    LoggingService,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const directory = yield* temporaryDirectory
      const service = yield* startService({
        directory,
        config: configOf({ database: database.url, chains: [{ use: "simulated" }] })
      })
      const { merchant_key: key } = yield* service.keys
      const entries = (message: string) =>
        service.output().split("\n").filter((line) => line.startsWith("{")).map((line): Entry => JSON.parse(line))
          .filter(({ msg }) => msg === message)
      return { service, key, entries }
    })
  )
}

layer(LoggingService.layer, { excludeTestServices: true })("the log", (it) => {
  it.effect("has an entry of each request, by its route and never by its path", () =>
    Effect.gen(function*() {
      const { entries, key, service } = yield* LoggingService
      const ids = ["req_made", "req_refused", "req_unknown", "req_nobody"] as const
      const [made, refused, unknown, nobody] = ids
      const email = "someone@customer.example"
      const created = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": key, "x-request-id": made, "idempotency-key": "log-1" },
        body: { amount_usd: 5, metadata: { email } }
      })
      assert.strictEqual(created.status, 200, created.text)
      const { invoice_id: id } = created.json
      yield* service.call(`/api/v1/invoices/${id}?expand=nothing`, {
        headers: { "x-api-key": key, "x-request-id": refused }
      })
      for (const path of ["/health/live", "/health/ready"]) yield* service.call(path)
      yield* service.call("/metrics")
      yield* service.call("/no/such/path", { headers: { "x-request-id": unknown } })
      yield* service.call("/api/v1/invoices", { headers: { "x-api-key": `${key}x`, "x-request-id": nobody } })
      const found = yield* until(
        "all four are logged",
        Effect.sync(() =>
          new Map(
            entries("request").filter(({ request_id }) => ids.includes(request_id as never))
              .map((entry) => [entry["request_id"], entry] as const)
          )
        ),
        ({ size }) => size === ids.length
      )
      const routes = entries("request").map(({ route, status }) => `${route} ${status}`)
      assert.deepStrictEqual(
        [...new Set(routes.filter((route) => /health|metrics/.test(route)))],
        ["/metrics 401"],
        "probes are logged where they are refused"
      )
      assert.deepInclude(found.get(made), {
        level: "info",
        method: "POST",
        route: "/api/v1/invoices",
        status: 200,
        merchant_id: created.json.invoice.merchant_id
      })
      assert.isAbove(found.get(made)!["ms"] as number, 0)
      assert.deepInclude(found.get(refused), { route: "/api/v1/invoices/:customer_id", status: 400 })
      assert.deepInclude(found.get(unknown), { route: null, status: 404, merchant_id: null })
      assert.deepInclude(found.get(nobody), { route: "/api/v1/invoices", status: 401, merchant_id: null })
      for (const id of [key, `req_${key}`, `a${key}`]) {
        yield* service.call("/api/v1/invoices", { headers: { "x-api-key": key, "x-request-id": id } })
      }
      yield* until(
        "their ids are redacted",
        Effect.sync(() => entries("request").filter((entry) => String(entry["request_id"]).endsWith("mk_<redacted>"))),
        ({ length }) => length === 3
      )
      const text = JSON.stringify(entries("request"))
      assert.notInclude(text, id)
      assert.notInclude(service.output(), email)
    }))

  it.effect("has an entry of each change of money, by the ids of the request and of what changed", () =>
    Effect.gen(function*() {
      const { entries, key, service } = yield* LoggingService
      const created = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": key, "idempotency-key": "log-2" },
        body: { amount_usd: 7 }
      })
      const { invoice, invoice_id: id } = created.json
      yield* service.call(`/api/v1/devnet/invoices/${id}/simulate`, {
        headers: { "x-api-key": key },
        body: { action: "pay" }
      })
      const entriesOf = () =>
        entries("payment").filter((entry) => entry["invoice_id"] === id || entry["object_id"] === id)
      const found = yield* until(
        "the payment is logged",
        Effect.sync(entriesOf),
        (found) => found.some(({ event }) => event === "invoice.paid")
      )
      const paid = found.find(({ event }) => event === "invoice.paid")!
      assert.deepInclude(paid, {
        object: "invoice",
        object_id: id,
        status: "paid",
        amount: 7_000,
        amount_paid: 7_000,
        environment: "devnet",
        merchant_id: invoice.merchant_id
      })
      const confirmed = found.find(({ status }) => status === "confirmed")!
      assert.deepInclude(confirmed, { object: "invoice_payment", invoice_id: id, amount: 7_000 })
      assert.match(String(confirmed["event_id"]), /^evt_/)
      assert.isString(confirmed["payer_tx_hash"])
    }))
})
