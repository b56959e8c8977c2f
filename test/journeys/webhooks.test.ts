/**
 * Goal: a merchant whose receiver was down sees what it missed, gets it back unchanged, and can prove what is ours,
 * through a change of secret too. Method: the service as a process and a receiver on a socket; every delivery is
 * verified by two public libraries.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { createHmac, randomUUID } from "node:crypto"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { migratedDatabase } from "../support/Database.ts"
import { answers, makeReceiver, type ReceivedRequest, type Receiver } from "../support/Receiver.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly receiver: Receiver
  readonly ask: (path: string, sent?: TestRequest) => Effect.Effect<any>
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          webhooks: { retryBaseSeconds: 0.02, retryFactor: 1 }
        })
      })
      const { merchant_key: key } = yield* service.keys
      const ask = (path: string, sent: TestRequest = {}) =>
        Effect.map(
          service.call(`/api/v1/${path}`, { ...sent, headers: { "x-api-key": key, "idempotency-key": randomUUID() } }),
          (found) => assertStatus(200, found)
        )
      return { service, receiver, ask }
    })
  )
}

/** An endpoint at a path of its own that hears of new invoices. */
const open = Effect.fnUntraced(function*(more: object = {}) {
  const { ask, receiver } = yield* Desk
  const path = `/${randomUUID()}`
  const { data } = yield* ask("webhooks", {
    body: { url: receiver.url(path), enabled_events: ["invoice.created"], ...more }
  })
  return { path, id: data.id as string, secret: data.secret as string }
})

const invoices = (n: number) =>
  Effect.flatMap(
    Desk,
    ({ ask }) =>
      Effect.forEach(Array.from({ length: n }), () => ask("invoices", { body: { amount_usd: 5 } }), { discard: true })
  )

const deliveries = (id: string, query = "") =>
  Effect.flatMap(
    Desk,
    ({ ask }) => Effect.map(ask(`webhooks/${id}/deliveries?limit=100${query}`), ({ data }) => data.data as Array<any>)
  )

const ended = (id: string, n: number, status: string) =>
  Effect.flatMap(Desk, (desk) =>
    until(
      `${n} deliveries ${status}`,
      Effect.provideService(deliveries(id, `&status=${status}`), Desk, desk),
      (found) => found.length === n
    ))

const verifies = (arrival: ReceivedRequest, secret: string): boolean => {
  const text = arrival.body.toString("utf8")
  const results = [new StandardWebhook(secret), new SvixWebhook(secret)].map((library) => {
    try {
      library.verify(text, arrival.headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  })
  assert.strictEqual(results[0], results[1], "both libraries agree")
  return results[0]!
}

const mac = ({ body, headers }: ReceivedRequest, secret: string): string =>
  createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.`).update(body).digest("hex")

layer(Desk.layer, { excludeTestServices: true })("webhooks, managed by their merchant", (it) => {
  it.effect("what a dead receiver missed is seen attempt by attempt, and comes back once, byte for byte", () =>
    Effect.gen(function*() {
      const { ask, receiver } = yield* Desk
      const { id, path, secret } = yield* open()
      receiver.script(path, answers(500, {}, "out of \u0000 order"))
      // Fewer attempts than open the breaker.
      yield* invoices(2)
      const failed = yield* ended(id, 2, "failed")
      for (const { id: delivery, event_id } of failed) {
        const { data } = yield* ask(`webhooks/deliveries/${delivery}`)
        assert.deepInclude(data, {
          endpoint_id: id,
          event_id,
          attempt_count: 4,
          response_status: 500,
          next_attempt_at: null
        })
        assert.deepStrictEqual(data.attempts.map((each: any) => each.number), [1, 2, 3, 4])
        for (const attempt of data.attempts) {
          assert.deepInclude(attempt, {
            status: "failed",
            response_status: 500,
            response_body: "out of  order",
            error: null
          })
        }
      }
      yield* until("its failures are counted", ask(`webhooks/${id}`), ({ data }) => data.consecutive_failures === 8)
      assert.strictEqual((yield* ask(`events/${failed[0].event_id}`)).data.pending_webhooks, 0)

      receiver.script(path, answers(200))
      const before = receiver.arrivals(path)
      assert.lengthOf(before, 8)
      assert.deepStrictEqual((yield* ask(`webhooks/${id}/replay`, { body: {} })).data, {
        queued: 2,
        has_more: false,
        next_event_id: null
      })
      yield* ended(id, 2, "succeeded")
      const again = receiver.arrivals(path).slice(8)
      assert.sameMembers(again.map(({ headers }) => headers["webhook-id"]), failed.map(({ event_id }) => event_id))
      for (const arrival of again) {
        assert.isTrue(verifies(arrival, secret))
        const first = before.find(({ headers }) => headers["webhook-id"] === arrival.headers["webhook-id"])!
        assert.isTrue(arrival.body.equals(first.body))
        assert.notStrictEqual(arrival.headers["x-service-delivery-id"], first.headers["x-service-delivery-id"])
      }
      assert.strictEqual((yield* ask(`webhooks/${id}/replay`, { body: {} })).data.queued, 0)
      yield* until("its failures are over", ask(`webhooks/${id}`), ({ data }) => data.consecutive_failures === 0)
      const { data: resent } = yield* ask(`webhooks/deliveries/${failed[0].id}/redeliver`, { method: "POST" })
      assert.strictEqual(resent.event_id, failed[0].event_id)
      yield* ended(id, 3, "succeeded")
      assert.isTrue(
        receiver.arrivals(path).at(-1)!.body.equals(
          before.find(({ headers }) => headers["webhook-id"] === resent.event_id)!.body
        )
      )
    }))

  it.effect("a change of secret is noticed by nobody who knows the old one or the new one, until the overlap ends", () =>
    Effect.gen(function*() {
      const { ask, receiver } = yield* Desk
      const { id, path, secret: old } = yield* open()
      const test = Effect.gen(function*() {
        const { data } = yield* ask(`webhooks/${id}/test`, { method: "POST" })
        const arrivals = yield* until(
          "the test event",
          Effect.sync(() => receiver.arrivals(path).filter(({ headers }) => headers["webhook-id"] === data.event_id)),
          (found) => found.length === 1
        )
        return arrivals[0]!
      })
      const { data: rotated } = yield* ask(`webhooks/${id}/rotate-secret`, { body: { overlap_seconds: 600 } })
      const both = yield* test
      assert.deepStrictEqual([verifies(both, old), verifies(both, rotated.secret)], [true, true])
      assert.strictEqual(both.headers["x-service-signature"], mac(both, rotated.secret))
      assert.strictEqual(both.headers["x-service-signature-previous"], mac(both, old))
      const { data: last } = yield* ask(`webhooks/${id}/rotate-secret`, { body: { overlap_seconds: 0 } })
      const one = yield* test
      assert.deepStrictEqual([old, rotated.secret, last.secret].map((secret) => verifies(one, secret)), [
        false,
        false,
        true
      ])
      assert.isUndefined(one.headers["x-service-signature-previous"])
    }))

  it.effect("a test event is told as any other, on its endpoint and in the events", () =>
    Effect.gen(function*() {
      const { ask, receiver } = yield* Desk
      const { id, path, secret } = yield* open()
      const { data } = yield* ask(`webhooks/${id}/test`, { method: "POST" })
      const [delivery] = yield* ended(id, 1, "succeeded")
      assert.deepInclude(delivery, {
        id: data.delivery_id,
        event_id: data.event_id,
        event_type: "test.ping",
        attempt_count: 1
      })
      const [arrival] = receiver.arrivals(path)
      assert.isTrue(verifies(arrival!, secret))
      const told = JSON.parse(arrival!.body.toString("utf8"))
      assert.deepStrictEqual((yield* ask(`events/${data.event_id}`)).data, { ...told, pending_webhooks: 0 })
      assert.deepInclude(told.data.object, { object: "test_ping", message: "Webhook test" })
    }))

  it.effect("a receiver that is gone is left alone, and gets what it missed when its owner enables it", () =>
    Effect.gen(function*() {
      const { ask, receiver, service } = yield* Desk
      const { id, path } = yield* open()
      receiver.script(path, answers(410))
      yield* invoices(1)
      const gone = yield* until("disabled", ask(`webhooks/${id}`), ({ data }) => data.status === "disabled")
      assert.strictEqual(gone.data.disabled_reason, "gone")
      // The endpoint is disabled before its delivery is stored as failed, and one that is under way is not replayed.
      yield* ended(id, 1, "failed")
      const { merchant_key } = yield* service.keys
      const refused = yield* service.call(`/api/v1/webhooks/${id}/replay`, {
        headers: { "x-api-key": merchant_key },
        body: {}
      })
      assert.deepStrictEqual([refused.status, refused.json.error.code], [409, "WEBHOOK_DISABLED"])
      // Told while it was off: never queued, so it takes a recovery of everything since.
      yield* invoices(1)
      receiver.script(path, answers(200))
      const [attempted] = yield* deliveries(id)
      yield* ask(`webhooks/${id}`, { method: "PATCH", body: { status: "enabled" } })
      const body = { from_event_id: attempted.event_id, only_failed: false }
      assert.strictEqual((yield* ask(`webhooks/${id}/replay`, { body })).data.queued, 2)
      yield* ended(id, 2, "succeeded")
      assert.lengthOf(receiver.arrivals(path), 3)
    }))

  it.effect("an endpoint is not moved to where no new one may be", () =>
    Effect.gen(function*() {
      const { ask, service } = yield* Desk
      const { id } = yield* open()
      const before = (yield* ask(`webhooks/${id}`)).data
      const { merchant_key } = yield* service.keys
      for (
        const url of [
          "http://shop.example/",
          "https://127.0.0.1/",
          "https://[::ffff:127.0.0.1]/",
          "https://169.254.169.254/",
          "https://redis/",
          "https://user:pass@shop.example/",
          "https://shop.example:22/",
          "file:///etc/passwd",
          "javascript:alert(1)",
          ""
        ]
      ) {
        const found = yield* service.call(`/api/v1/webhooks/${id}`, {
          method: "PATCH",
          headers: { "x-api-key": merchant_key },
          body: { url }
        })
        assert.deepStrictEqual([found.status, found.json.error.code, found.json.error.param], [
          400,
          "WEBHOOK_URL_INVALID",
          "url"
        ], url)
      }
      assert.deepStrictEqual((yield* ask(`webhooks/${id}`)).data, before)
    }))

  it.effect("a deleted endpoint hears nothing more", () =>
    Effect.gen(function*() {
      const { ask, receiver } = yield* Desk
      const kept = yield* open()
      const { id, path } = yield* open()
      yield* invoices(1)
      yield* ended(kept.id, 1, "succeeded")
      yield* ended(id, 1, "succeeded")
      yield* ask(`webhooks/${id}`, { method: "DELETE" })
      yield* invoices(1)
      yield* ended(kept.id, 2, "succeeded")
      assert.lengthOf(receiver.arrivals(path), 1)
      assert.notInclude((yield* ask("webhooks")).data.data.map((each: any) => each.id), id)
    }))
})
