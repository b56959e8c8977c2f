/**
 * Goal: no secret is ever printed, whatever goes wrong while it is held.
 * Method: a service at its most talkative is given every kind of secret in good and broken requests, over every door,
 * and its whole output is searched, and what it sends to a collector of traces and metrics. Each journey's service is
 * searched the same way when it stops (see `startService`); here it is shown that the search finds what it looks for.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { WebSocket } from "ws"
import { migratedDatabase } from "../support/Database.ts"
import { makeCollector } from "../support/OtlpCollector.ts"
import { answers, makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  leakedSecrets,
  rpcToken,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"
import { chooseToken, newInvoice, openShop, requestAddress } from "./Shop.ts"

describe("secrets", () => {
  it("are found by the search wherever they stand, but for the demo keys told once", () => {
    const block = "\n  Demo Store is ready (devnet)\n    merchant key   mk_dev_secret\n  -d '{\"amount_usd\": 5}'\n"
    assert.deepStrictEqual(leakedSecrets(`{"msg":"x"}\n${block}{"msg":"y"}`, ["mk_dev_secret"]), [])
    assert.deepStrictEqual(leakedSecrets(`${block}{"msg":"mk_dev_secret"}`, ["mk_dev_secret"]), ["mk_dev_secret"])
    assert.deepStrictEqual(leakedSecrets(block + block, ["mk_dev_secret"]), ["mk_dev_secret"])
  })

  it.live("never reach the log or the collector, in good requests and in broken ones", () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const database = yield* migratedDatabase
      const collector = yield* makeCollector
      const config = configOf({
        database: database.url,
        receivers: [receiver.host],
        chains: [{ use: "simulated" }],
        webhooks: { retryBaseSeconds: 0.05 }
      })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, telemetry: { ...config.telemetry, otlp: { url: collector.url, traces: 1 } } }
      })
      const { commerce_key, merchant_key } = yield* service.keys
      const shop = yield* openShop(service, receiver, merchant_key)
      // The receiver throws everything it was sent back at us.
      receiver.script(shop.hooks, (n, { body, headers }, response) =>
        answers(n === 1 ? 200 : 500, { "x-echo": shop.secret }, `${shop.secret} ${JSON.stringify(headers)} ${body}`)(
          n,
          null as never,
          response
        ))
      const invoice = yield* newInvoice(
        shop,
        { amount_usd: 5, metadata: { note: merchant_key }, description: shop.secret }
      )
      const shown = yield* chooseToken(shop, invoice, "USDC")
      yield* service.call(
        `/api/v1/devnet/invoices/${invoice.id}/simulate`,
        { headers: { "x-api-key": merchant_key }, body: { action: "pay" } }
      )
      yield* until(
        "a failed delivery",
        Effect.sync(() =>
          receiver.arrivals(shop.hooks)
        ),
        (all) => all.length >= 4
      )

      const session = invoice.session
      const secrets = [
        merchant_key,
        commerce_key,
        shop.secret,
        session["x-session-token"],
        session["x-signature"],
        shown.ws_connection.token,
        rpcToken
      ]
      for (const secret of secrets) {
        const query = new URLSearchParams(
          { "x-api-key": secret, token: secret, session_token: secret, signature: secret }
        )
        const places = [`/pay/${invoice.id}`, `/${secret}`, `/api/v1/invoices/${secret}`]
        for (const path of ["/api/v1/events", "/api/v1/invoices", "/ws/payment", ...places]) {
          yield* service.call(
            `${path}?${query}`,
            { headers: { "x-api-key": secret, authorization: `Bearer ${secret}` } }
          )
          yield* service.call(
            `${path}?${query}`,
            { headers: { ...session, cookie: `s=${secret}` }, body: `{"broken":"${secret}"` }
          )
        }
        yield* service.call(
          "/api/v1/invoices",
          {
            headers: { "x-api-key": merchant_key, "idempotency-key": secret },
            body: { amount: secret, metadata: secret }
          }
        )
        yield* service.call(
          "/api/v1/webhooks",
          {
            headers: { "x-api-key": merchant_key },
            body: { url: `https://u:${secret}@shop.example`, enabled_events: [secret] }
          }
        )
        yield* requestAddress(shop, invoice, { network: secret, token_id: secret })
        const unknownCall = `{"_tag":"Request","id":"1","tag":"${secret}","payload":"${secret}"}\n`
        for (const body of [unknownCall, `{"broken":"${secret}"`]) {
          yield* exchange(service.rpcUrl, "/rpc", { headers: { authorization: `Bearer ${rpcToken}` }, body })
          yield* exchange(
            service.rpcUrl,
            `/rpc?token=${secret}`,
            { headers: { authorization: `Bearer ${secret}` }, body }
          )
        }
      }
      const socket = new WebSocket(`${service.url.replace("http", "ws")}/ws/payment?token=${shown.ws_connection.token}`)
      socket.on("error", () => undefined)
      yield* until("the socket opens", Effect.sync(() => socket.readyState), (state) => state === WebSocket.OPEN)
      socket.send(JSON.stringify({ object: "ws_ping", token: shop.secret }))
      socket.send("x".repeat(5_000))
      yield* until("the socket is closed", Effect.sync(() => socket.readyState), (state) => state === WebSocket.CLOSED)

      const unknown = `canary-${randomUUID()}`
      yield* service.call("/api/v1/events", { headers: { "x-api-key": unknown } })
      yield* service.stop()
      assert.include(service.output(), "\"msg\":\"ready\"")
      assert.deepStrictEqual(leakedSecrets(service.output(), [...secrets, unknown, database.url]), [])
      assert.isAbove(collector.spans().length, secrets.length)
      assert.isAbove(collector.metrics().size, 0)
      assert.deepStrictEqual(leakedSecrets(collector.bytes(), [...secrets, unknown, database.url]), [])
    }).pipe(Effect.scoped))
})
