/**
 * Goal: a caller sees the version it was written for, on every channel, whatever the service has learned since.
 * Method: one payment on one running service, read by an old and a new caller side by side.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { newestVersion } from "../../schemas/Version.ts"
import { migratedDatabase } from "../support/Database.ts"
import { makeReceiver, type Receiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

const first = "2026-01-15"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly receiver: Receiver
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
      return Desk.of({ service, receiver })
    })
  )
}

type Headers = Readonly<Record<string, string>>

/** The payments in a text of any channel, each as the first version knew it. */
const withoutToken = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, inner) => {
    if (name !== "metadata" || typeof inner !== "object" || inner === null || !("confirmations" in inner)) return inner
    const { token: _, ...older } = inner as Record<string, unknown>
    return older
  })

const renamed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, inner) => name === "api_version" ? first : inner)

layer(Desk.layer, { excludeTestServices: true })("versions", (it) => {
  it.effect("a payment tells its token to new callers only: by header, key, endpoint, in events and views", () =>
    Effect.gen(function*() {
      const { receiver, service } = yield* Desk
      const { merchant_key } = yield* service.keys
      const get = (path: string, headers: Headers) =>
        Effect.map(service.call(path, { headers }), (found) => {
          const version = headers["x-service-version"] ??
            (headers["x-api-key"] === merchant_key ? newestVersion : first)
          assert.strictEqual(found.headers["x-service-version"], version)
          return assertStatus(200, found)
        })
      const newest = { "x-api-key": merchant_key }
      const made = assertStatus(
        200,
        yield* service.call("/api/v1/api-keys", {
          headers: newest,
          body: { name: "old", scope: "merchant", environment: "devnet" }
        })
      ).data
      service.guard(made.key)
      assert.strictEqual(made.api_version, newestVersion)
      const change = { method: "PATCH", headers: newest, body: { api_version: first } }
      assert.strictEqual(
        assertStatus(200, yield* service.call(`/api/v1/api-keys/${made.id}`, change)).data.api_version,
        first
      )
      // What a key was found to be is remembered for 2 s at most.
      const pinned = { "x-api-key": made.key }
      yield* until(
        "the pin holds",
        service.call("/api/v1/events", { headers: pinned }),
        ({ headers }) => headers["x-service-version"] === first
      )
      const olds: ReadonlyArray<Headers> = [{ ...newest, "x-service-version": first }, pinned]
      const news: ReadonlyArray<Headers> = [newest, { ...pinned, "x-service-version": newestVersion }]

      const hook = (path: string, headers: Headers) =>
        Effect.map(
          service.call("/api/v1/webhooks", { headers, body: { url: receiver.url(path), enabled_events: ["*"] } }),
          (found) => assertStatus(200, found).data.api_version
        )
      assert.strictEqual(yield* hook("/old", pinned), first)
      assert.strictEqual(yield* hook("/new", newest), newestVersion)

      const invoice = assertStatus(
        200,
        yield* service.call("/api/v1/invoices", {
          headers: { ...newest, "idempotency-key": randomUUID() },
          body: { amount_usd: 5 }
        })
      )
      const simulated = assertStatus(
        200,
        yield* service.call(`/api/v1/devnet/invoices/${invoice.invoice_id}/simulate`, {
          headers: newest,
          body: { action: "pay", network: "base" }
        })
      ).data
      const { token } = simulated.invoice_payment.metadata
      assert.deepStrictEqual(Object.keys(token), ["id", "symbol", "address", "decimals"])
      const tokens = yield* get("/api/v1/merchant/tokens", newest)
      assert.strictEqual(tokens.tokens.find(({ id }: { id: number }) => id === token.id).token_symbol, token.symbol)

      const events = `/api/v1/events?invoice_id=${invoice.invoice_id}&limit=100`
      const views = [
        `/api/v1/invoices/${invoice.invoice_id}/payments`,
        `/api/v1/invoices/${invoice.invoice_id}?expand=payments`,
        `/api/v1/invoice-payments/${simulated.invoice_payment.id}`
      ]
      for (const path of views) {
        const [shown] = yield* Effect.forEach(news, (headers) => get(path, headers))
        assert.include(JSON.stringify(shown), JSON.stringify(token), path)
        for (const headers of olds) assert.deepStrictEqual(yield* get(path, headers), withoutToken(shown), path)
      }
      const told = yield* until(
        "nothing is on its way",
        get(events, newest),
        ({ data }) => data.data.every((event: { pending_webhooks: number }) => event.pending_webhooks === 0)
      )
      assert.include(JSON.stringify(told), JSON.stringify(token))
      for (const headers of olds) assert.deepStrictEqual(yield* get(events, headers), renamed(withoutToken(told)))

      const ids = told.data.data.map(({ id }: { id: string }) => id)
      const arrived = (path: string) =>
        Effect.map(
          until(
            "the webhooks",
            Effect.sync(() => receiver.arrivals(path).filter(({ headers }) => ids.includes(headers["webhook-id"]))),
            (found) => found.length >= ids.length
          ),
          (found) =>
            found.map(({ body }) => JSON.parse(body.toString())).sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
        )
      const [old, recent] = [yield* arrived("/old"), yield* arrived("/new")]
      assert.deepStrictEqual(old, renamed(withoutToken(recent)))
      assert.deepStrictEqual(
        recent.map((event) => ({ ...event, pending_webhooks: 0 })),
        told.data.data
      )
    }))

  it.effect("a payor is answered in the version it names, else in the newest", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { merchant_key } = yield* service.keys
      const { payment_session_headers: session } = assertStatus(
        200,
        yield* service.call("/api/v1/invoices", {
          headers: { "x-api-key": merchant_key, "idempotency-key": randomUUID() },
          body: { amount_usd: 5 }
        })
      )
      for (const [headers, version] of [[{}, newestVersion], [{ "x-service-version": first }, first]] as const) {
        const found = yield* service.call("/api/v1/payments/session-details", { headers: { ...session, ...headers } })
        assert.deepStrictEqual([found.status, found.headers["x-service-version"]], [200, version])
      }
      const wrong = yield* service.call("/api/v1/payments/session-details", {
        headers: { ...session, "x-service-version": "1" }
      })
      assert.strictEqual(assertStatus(400, wrong).code, "INVALID_VERSION")
    }))
})
