/**
 * Goal: a merchant's stream says what the events API and webhooks say, on an instance that did none of it, for as long
 * as its credential lasts. Method: two services on one database; one is called, the other streams.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { migratedDatabase } from "../support/Database.ts"
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
import { type Client, connectTo, endOf } from "../support/Sockets.ts"
import { timed } from "../support/Stopwatch.ts"
import { assertStatus } from "./Shop.ts"
import { signIn } from "./Tenants.ts"

class Pair extends Context.Service<Pair, {
  readonly receiver: Receiver
  readonly called: Service
  readonly streaming: Service
  readonly key: string
  readonly commerceKey: string
}>()("test/Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }], receivers: [receiver.host] })
      const called = yield* startService({ directory: yield* temporaryDirectory, config })
      const { commerce_key: commerceKey, merchant_key: key } = yield* called.keys
      const streaming = yield* startService({ directory: yield* temporaryDirectory, config })
      return Pair.of({ receiver, called, streaming, key, commerceKey })
    })
  )
}

const dial = ({ url }: Service, path: string, headers: Record<string, string> = {}) =>
  connectTo(`${url.replace("http", "ws")}${path}`, { headers })

/** The texts of a stream's events, without their first word on deliveries, which the API counts live. */
const plain = (text: string) => text.replace(/"pending_webhooks":\d+/, "")

const textsOf = ({ texts }: Client) => texts.filter((text) => text.startsWith("{\"id\":\"evt_"))

layer(Pair.layer, { excludeTestServices: true })("streams", (it) => {
  it.effect("carry byte for byte what webhooks carry, and what the API answers but for pending_webhooks", () =>
    Effect.gen(function*() {
      const { called, commerceKey, key, receiver, streaming } = yield* Pair
      const headers = { "x-api-key": key }
      assertStatus(
        200,
        yield* called.call("/api/v1/webhooks", {
          headers,
          body: { url: receiver.url("/hooks"), enabled_events: ["*"] }
        })
      )
      const merchant = yield* dial(streaming, "/ws/merchant/events", headers)
      const commerce = yield* dial(streaming, "/ws/commerce/events", { "x-api-key": commerceKey })
      const create = (as: Record<string, string>) =>
        Effect.map(
          called.call("/api/v1/invoices", {
            headers: { ...as, "idempotency-key": randomUUID() },
            body: { amount_usd: 5, metadata: { note: "✓ \"quoted\" \u2028" } }
          }),
          (made) => assertStatus(200, made).invoice_id as string
        )
      for (const as of [headers, { "x-api-key": commerceKey }]) yield* create(as)
      const paid = yield* create(headers)
      assertStatus(
        200,
        yield* called.call(`/api/v1/devnet/invoices/${paid}/simulate`, { headers, body: { action: "pay" } })
      )
      const all = yield* until(
        "every event is streamed",
        Effect.map(called.call("/api/v1/events?limit=100", { headers }), (found) => {
          const listed: string = found.text.slice(found.text.indexOf("[") + 1, found.text.lastIndexOf("]"))
          return listed.split(/,(?=\{"id":"evt_)/).reverse()
        }),
        (listed) => listed.length >= 6 && textsOf(merchant).length === listed.length
      )
      assert.deepStrictEqual(textsOf(merchant).map(plain), all.map(plain))
      const hooks = yield* receiver.seen("/hooks", all.length)
      const bodies = new Map(hooks.map(({ body }) => [JSON.parse(body.toString()).id, body.toString()]))
      assert.deepStrictEqual(textsOf(merchant), all.map((text) => bodies.get(JSON.parse(text).id)!))
      const sold = all.filter((text) => text.includes("\"invoice_type\":\"commerce\""))
      assert.isAbove(sold.length, 0)
      yield* until(
        "each is on the other stream",
        Effect.sync(() => textsOf(commerce)),
        ({ length }) => length >= sold.length
      )
      assert.deepStrictEqual(textsOf(commerce).map(plain), sold.map(plain))
      // Once more from the table, by another reader.
      const again = yield* dial(called, `/ws/merchant/events?since=evt_0-0`, headers)
      yield* again.take(all.length + 3)
      assert.deepStrictEqual(textsOf(again), textsOf(merchant))
      // Each stream is counted once a second: a look may find one connection counted and the other not yet.
      yield* until(
        "open sockets are counted",
        Effect.map(
          exchange(streaming.rpcUrl, "/metrics", { headers: { authorization: `Bearer ${rpcToken}` } }),
          ({ text }) => text
        ),
        (text) =>
          ["merchant", "commerce"].every((stream) =>
            new RegExp(`tillwire_ws_connections\\{[^}]*stream="${stream}"[^}]*\\} 1\\b`).test(text)
          )
      )
    }))

  it.effect("opened by a wallet's ticket end within 5 s of its sign-out, and all with 1001 when their instance stops", () =>
    Effect.gen(function*() {
      const { called, key, streaming } = yield* Pair
      const session = yield* signIn(called, privateKeyToAccount(generatePrivateKey()))
      const jwt = { authorization: `Bearer ${session.access_token}` }
      const { data } = assertStatus(
        200,
        yield* called.call("/api/v1/ws/token", { headers: jwt, body: { scope: "merchant" } })
      )
      assert.deepInclude(data, { scope: "merchant", environment: "devnet", endpoint: "/ws/merchant/events" })
      const byTicket = yield* dial(streaming, `/ws/merchant/events?token=${data.token}`)
      const byKey = yield* dial(streaming, "/ws/merchant/events", { "x-api-key": key })
      assert.strictEqual((yield* byTicket.next).type, "ready")
      const signOut = Effect.gen(function*() {
        const out = yield* called.call("/api/v1/auth/logout", {
          headers: jwt,
          body: { refresh_token: session.refresh_token }
        })
        assert.strictEqual(out.status, 200, out.text)
        assert.deepStrictEqual(yield* endOf(byTicket), [4401, "TOKEN_INVALID"])
      })
      assert.isBelow((yield* timed(signOut)).millis, 5_000)
      assert.strictEqual(byKey.socket.readyState, 1)
      assert.strictEqual(yield* streaming.stop(), 0)
      assert.deepStrictEqual(yield* endOf(byKey), [1001, undefined])
    }))
})
