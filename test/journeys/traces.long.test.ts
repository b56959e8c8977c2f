/**
 * Goal: an operator follows one call from its arrival to the answer of the webhook it caused, in a collector that reads
 * OpenTelemetry's own definitions, and finds nothing there that lets anybody in or tells who a customer is. Method: one
 * service that traces everything, its collector, and a merchant's receiver.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { formatTraceparent, parseTraceparent } from "../../runtime/telemetry/TraceContext.ts"
import { migratedDatabase } from "../support/Database.ts"
import { makeCollector, type OtlpCollector } from "../support/OtlpCollector.ts"
import { makeReceiver, type Receiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"

const collectorToken = "collector-credential-0123456789"

/** What the tests share: a service that traces a share of its calls, and those of this machine that ask for it. */
class TracedService extends Context.Service<TracedService, {
  readonly service: Service
  readonly collector: OtlpCollector
  readonly receiver: Receiver
  readonly key: string
}>()("test/journeys/TracedService") {
  static readonly layer = Layer.effect(
    TracedService,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const directory = yield* temporaryDirectory
      const collector = yield* makeCollector
      const receiver = yield* makeReceiver()
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }], receivers: [receiver.host] })
      const service = yield* startService({
        directory,
        config: {
          ...config,
          telemetry: {
            ...config.telemetry,
            otlp: {
              url: collector.url,
              headers: { authorization: "Bearer ${env:COLLECTOR_TOKEN}" },
              traces: 1,
              trustedCallers: ["127.0.0.1"]
            }
          }
        },
        environment: { COLLECTOR_TOKEN: collectorToken }
      })
      service.guard(collectorToken)
      const { merchant_key: key } = yield* service.keys
      yield* service.call("/api/v1/webhooks", {
        headers: { "x-api-key": key },
        body: { url: receiver.url("/hook"), enabled_events: ["invoice.created"] }
      }).pipe(Effect.tap(({ status, text }) => Effect.sync(() => assert.isBelow(status, 300, text))))
      return { service, collector, receiver, key }
    })
  )
}

/** Creates an invoice as the demo merchant, by a call with `headers`. */
const createInvoice = Effect.fnUntraced(function*(headers: Readonly<Record<string, string>>, body: object) {
  const { key, service } = yield* TracedService
  const created = yield* service.call("/api/v1/invoices", {
    headers: { "x-api-key": key, "idempotency-key": randomUUID(), ...headers },
    body
  })
  assert.strictEqual(created.status, 200, created.text)
  return created
})

/** Spans of a trace, once there are `count`. */
const spansOf = (collector: OtlpCollector, traceId: string, count: number) =>
  until(
    `the trace has ${count} spans`,
    Effect.sync(() => collector.spans().filter((span) => span.traceId === traceId)),
    ({ length }) => length >= count
  )

layer(TracedService.layer, { excludeTestServices: true })("a trace", (it) => {
  const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }

  it.effect("goes from the caller through the call and its commit to the answer of the webhook", () =>
    Effect.gen(function*() {
      const { collector, receiver } = yield* TracedService
      const created = yield* createInvoice({ traceparent: formatTraceparent(caller) }, { amount_usd: 5 })
      const spans = yield* spansOf(collector, caller.traceId, 3)
      const [call] = spans.filter(({ name }) => name === "POST /api/v1/invoices")
      const [commit] = spans.filter(({ name }) => name === "commit")
      const [attempt] = spans.filter(({ name }) => name === "webhook attempt")
      assert.deepInclude(call, { parentSpanId: caller.spanId, kind: 2, isFailed: false })
      assert.deepInclude(call!.attributes, {
        "http.request.method": "POST",
        "http.route": "/api/v1/invoices",
        "http.response.status_code": 200,
        "tillwire.merchant_id": created.json.invoice.merchant_id
      })
      assert.deepInclude(commit, { parentSpanId: call!.spanId, kind: 1, isFailed: false })
      assert.isAtLeast(Number(commit!.startNanos - call!.startNanos), 0)
      assert.isAtLeast(Number(call!.endNanos - commit!.endNanos), 0)
      assert.deepInclude(attempt, { parentSpanId: call!.spanId, kind: 3, isFailed: false })
      assert.deepInclude(attempt!.attributes, {
        "tillwire.event_type": "invoice.created",
        "tillwire.attempt": 1,
        "http.response.status_code": 200
      })
      const arrival = receiver.arrivals("/hook").find(({ headers }) =>
        headers["traceparent"]?.includes(caller.traceId)
      )!
      assert.deepStrictEqual(parseTraceparent(arrival.headers["traceparent"]), {
        traceId: caller.traceId,
        spanId: attempt!.spanId,
        isSampled: true
      })
      assert.notInclude(String(arrival.body), "traceparent")
      const id = created.headers["x-request-id"]
      assert.strictEqual(id, `req_${caller.traceId}-${call!.spanId}-01`)
    }))

  it.effect("is not made of a call that its trusted caller does not trace, and its webhook has no header", () =>
    Effect.gen(function*() {
      const { collector, key, receiver, service } = yield* TracedService
      const before = receiver.arrivals("/hook").length
      const unsampled = { ...caller, traceId: "1".repeat(32) }
      const created = yield* createInvoice(
        { traceparent: formatTraceparent(unsampled).replace(/01$/, "00") },
        { amount_usd: 6 }
      )
      assert.match(created.headers["x-request-id"] as string, /^req_[0-9a-f-]{36}$/)
      const arrivals = yield* receiver.seen("/hook", before + 1)
      assert.notProperty(arrivals.at(-1)!.headers, "traceparent")
      // What was asked later is there: what was asked before would be as well.
      const later = { ...caller, traceId: "2".repeat(32) }
      yield* service.call("/api/v1/invoices?limit=1", {
        headers: { "x-api-key": key, traceparent: formatTraceparent(later) }
      })
      yield* spansOf(collector, later.traceId, 1)
      assert.notInclude(collector.spans().map(({ traceId }) => traceId), unsampled.traceId)
    }))

  it.effect("is chosen by no caller's request id", () =>
    Effect.gen(function*() {
      const { key, service } = yield* TracedService
      const forged = `req_${"3".repeat(32)}-${"4".repeat(16)}-01`
      const answer = yield* service.call("/api/v1/invoices?limit=1", {
        headers: { "x-api-key": key, "x-request-id": forged }
      })
      assert.notStrictEqual(answer.headers["x-request-id"], forged)
    }))

  it.effect("goes on through the internal port", () =>
    Effect.gen(function*() {
      const { collector, service } = yield* TracedService
      const internal = { ...caller, traceId: "5".repeat(32) }
      const call = (token: string, traceId: string) =>
        Effect.promise(() =>
          fetch(`${service.rpcUrl}/rpc`, {
            method: "POST",
            headers: {
              authorization: `Bearer ${token}`,
              "content-type": "application/ndjson",
              traceparent: formatTraceparent({ ...internal, traceId })
            },
            body: `${JSON.stringify({ _tag: "Request", id: "1", tag: "health.check", payload: null, headers: [] })}\n`
          }).then((response) => response.text())
        )
      const refused = "6".repeat(32)
      yield* call("no-such-token", refused)
      yield* call(rpcToken, internal.traceId)
      const [span] = yield* spansOf(collector, internal.traceId, 1)
      assert.deepInclude(span, { name: "POST /rpc", parentSpanId: internal.spanId, kind: 2 })
      assert.notInclude(collector.spans().map(({ traceId }) => traceId), refused)
    }))

  it.effect("has spans with stable names, few attributes, and no secret, customer, address or path", () =>
    Effect.gen(function*() {
      const { collector, key, receiver, service } = yield* TracedService
      const created = yield* createInvoice(
        { traceparent: formatTraceparent({ ...caller, traceId: "7".repeat(32) }) },
        { amount_usd: 7, metadata: { email: "someone@customer.example" } }
      )
      const { invoice_id: id } = created.json
      const paid = yield* service.call(`/api/v1/devnet/invoices/${id}/simulate`, {
        headers: { "x-api-key": key },
        body: { action: "pay" }
      })
      assert.strictEqual(paid.status, 200, paid.text)
      yield* service.call(`/api/v1/invoices/${id}?token=canary-in-a-query`, { headers: { "x-api-key": key } })
      yield* service.call(`/api/v1/invoices/${key}`, { headers: { "x-api-key": key, "x-request-id": `req_${key}` } })
      const last = { ...caller, traceId: "8".repeat(32) }
      yield* service.call("/no/such/canary-path", { headers: { traceparent: formatTraceparent(last) } })
      yield* spansOf(collector, last.traceId, 1)
      const spans = yield* until(
        "the chain and the prices are there",
        Effect.sync(collector.spans),
        (found) => ["chain turn", "price round"].every((name) => found.some((span) => span.name === name))
      )
      for (const { attributes, name } of spans) {
        assert.match(name, /^(commit|webhook attempt|chain turn|price round|[A-Z]+( \/[a-z0-9/_:*.-]*)?)$/i)
        for (const attribute of Object.keys(attributes)) {
          assert.match(attribute, /^(http\.(request\.method|route|response\.status_code)|tillwire\.[a-z_.]+)$/)
        }
      }
      const bytes = collector.bytes()
      const [, address] = new URL(receiver.url("/hook")).host.split(":")
      const withoutRequestHead = bytes.replaceAll(`Bearer ${collectorToken}`, "")
      for (
        const secret of [
          key,
          collectorToken,
          "someone@customer.example",
          "canary-in-a-query",
          "canary-path",
          "/hook",
          `:${address}`,
          id
        ]
      ) assert.isFalse(withoutRequestHead.includes(secret), `${secret} was sent`)
      assert.include(bytes, `Bearer ${collectorToken}`)
      for (const resource of collector.resources()) assert.deepInclude(resource, { "service.name": "tillwire" })
    }))
})

layer(TracedService.layer, { excludeTestServices: true })("the metrics of the service", (it) => {
  it.effect("arrive at the collector under the names of /metrics, with the same labels", () =>
    Effect.gen(function*() {
      const { collector, service } = yield* TracedService
      const metrics = yield* until(
        "the metrics are there",
        Effect.sync(collector.metrics),
        ({ size }) => size > 0
      )
      const { text } = yield* exchange(service.rpcUrl, "/metrics")
      const scraped = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!))
      assert.isAbove(metrics.size, 20)
      assert.deepStrictEqual([...metrics.keys()].filter((name) => !scraped.has(name)), [])
      const ready = metrics.get("tillwire_ready")
      assert.strictEqual(ready.gauge.dataPoints[0].asDouble ?? Number(ready.gauge.dataPoints[0].asInt), 1)
      for (const { name, sum } of metrics.values()) {
        if (sum !== undefined) assert.strictEqual(sum.aggregationTemporality, 2, `${name} counts from the start`)
      }
    }))
})
