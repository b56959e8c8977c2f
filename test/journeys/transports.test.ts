/**
 * Goal: events leave by the way that the operator configured, with nothing of the runtime changed: into a file, and
 * through a proxy whose credential nobody reads in a log. Method: the whole service, with both transports and
 * `WEBHOOK_PROXY_URL`; what left is verified as a merchant would.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import { migratedDatabase } from "../support/Database.ts"
import { makeProxy, type Proxy } from "../support/Proxy.ts"
import { identity, makeRawReceiver, receiverCertificate } from "../support/Receiver.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestResponse,
  until
} from "../support/Service.ts"

class Ways extends Context.Service<Ways, {
  readonly service: Service
  readonly proxy: Proxy
  readonly file: string
  /** Requests that the receiver behind the proxy read. */
  readonly received: () => string
  readonly post: (path: string, body: unknown) => Effect.Effect<TestResponse>
}>()("test/Ways") {}

const credential = "proxycredential-0123456789"

const ways = Layer.effect(
  Ways,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const file = join(directory, "audit.ndjson")
    const proxy = yield* makeProxy
    let received = ""
    const receiver = yield* makeRawReceiver((socket) => {
      socket.on("data", (chunk) => {
        received += String(chunk)
        socket.write("HTTP/1.1 204 No Content\r\n\r\n")
      })
    }, identity("otherhost"))
    proxy.set(receiver.host)
    const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
    const service = yield* startService({
      directory,
      config: {
        ...config,
        transports: [
          { use: "https", options: { ca: receiverCertificate } },
          {
            use: "ndjson",
            options: { files: [{ name: "audit", path: file }, { name: "others", path: `${file}.2`, merchants: [99] }] }
          }
        ]
      },
      environment: { WEBHOOK_PROXY_URL: `http://tillwire:${credential}@${proxy.host}` }
    })
    service.guard(credential)
    service.guard(Buffer.from(`tillwire:${credential}`).toString("base64"))
    const { merchant_key: key } = yield* service.keys
    const post = (path: string, body: unknown) =>
      service.call(path, { body, headers: { "x-api-key": key, "idempotency-key": randomUUID() } })
    return Ways.of({ service, proxy, file, post, received: () => received })
  })
)

layer(ways, { excludeTestServices: true })("a configured transport", (it) => {
  it.effect("takes events into a file, signed, and hides the files of other merchants", () =>
    Effect.gen(function*() {
      const { file, post } = yield* Ways
      for (const url of ["ndjson://others", "ndjson://audit/x", "sqs://audit"]) {
        const { json } = yield* post("/api/v1/webhooks", { url, enabled_events: ["*"] })
        assert.strictEqual(json.error.code, "WEBHOOK_URL_INVALID")
      }
      const made = yield* post("/api/v1/webhooks", { url: "ndjson://audit", enabled_events: ["invoice.created"] })
      assert.strictEqual(made.status, 200, made.text)
      const invoice = yield* post("/api/v1/invoices", { amount: 1_000 })
      const [line] = yield* until(
        "the line is written",
        Effect.sync(() => readFileSync(file, "utf8").split("\n").slice(0, -1)),
        ({ length }) => length === 1
      )
      const { body, event_id, headers } = JSON.parse(line!)
      assert.deepInclude(new Webhook(made.json.data.secret).verify(body, headers), {
        id: event_id,
        type: "invoice.created"
      })
      assert.include(body, invoice.json.invoice_id)
    }))

  it.effect("sends https through the proxy of WEBHOOK_PROXY_URL, and its credential to the proxy alone", () =>
    Effect.gen(function*() {
      const { post, proxy, received, service } = yield* Ways
      const made = yield* post("/api/v1/webhooks", {
        url: "https://other.example/hooks",
        enabled_events: ["invoice.created"]
      })
      assert.strictEqual(made.status, 200, made.text)
      yield* post("/api/v1/invoices", { amount: 1_000 })
      yield* until("the event came through", Effect.sync(received), (text) => text.includes("invoice.created"))
      assert.deepStrictEqual(proxy.asked()[0], {
        target: "other.example:443",
        authorization: `Basic ${Buffer.from(`tillwire:${credential}`).toString("base64")}`
      })
      assert.notMatch(received(), /proxy-|proxycredential/i)
      assert.include(service.output(), `webhooks leave through the proxy ${proxy.host}`)
    }))
})
