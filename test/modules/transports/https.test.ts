import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plugin } from "../../../modules/transports/https.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type Transport, Webhooks } from "../../../runtime/Webhooks.ts"
import { settingsOf } from "../../runtime/webhooks/Delivery.ts"
import { makeReceiver, neverAnswers, receiverCertificate } from "../../support/Receiver.ts"

/** The transport as the deliverer gets it; `receivers` may be local. */
const transport = (receivers: ReadonlyArray<string>, options: { readonly ca?: string } = {}) =>
  Effect.gen(function*() {
    let registered: Transport | undefined
    yield* Layer.build(
      plugin.layer(options).pipe(
        Layer.provide(Layer.mock(Webhooks, { register: (each) => Effect.sync(() => void (registered = each)) })),
        Layer.provide(Layer.succeed(Settings, settingsOf(receivers)))
      ) as Layer.Layer<never, unknown>
    )
    return (url: string, timeoutMillis = 5_000) =>
      registered!.send({
        deliveryId: "whd_1",
        eventId: "evt_1700000000000-1",
        attempt: 1,
        merchantId: 1,
        environment: "devnet",
        url,
        headers: { "Content-Type": "application/json" },
        body: "{}",
        timeoutMillis
      })
  })

describe("the https transport", () => {
  it.live("trusts no certificate it has no authority for", () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver("https")
      const failure = yield* Effect.flip((yield* transport([receiver.host]))(receiver.url("/")))
      assert.deepInclude(failure, { own: false, timedOut: false })
      assert.match((failure as { readonly reason: string }).reason, /SELF_SIGNED/)
      assert.strictEqual(receiver.arrivals().length, 0)
      const send = yield* transport([receiver.host], { ca: receiverCertificate })
      assert.strictEqual((yield* send(receiver.url("/"))).status, 200)
    }).pipe(Effect.scoped))

  it.live("sends nothing where its own check says no", () =>
    Effect.gen(function*() {
      const secure = yield* makeReceiver("https")
      const plain = yield* makeReceiver("http")
      const send = yield* transport([], { ca: receiverCertificate })
      assert.deepInclude(yield* Effect.flip(send(secure.url("/"))), { reason: "The host is not a public name", own: false })
      assert.deepInclude(yield* Effect.flip(send(plain.url("/"))), { reason: "The URL must start with https://", own: false })
      assert.strictEqual(secure.arrivals().length + plain.arrivals().length, 0)
    }).pipe(Effect.scoped))

  it.live("keeps connections, follows no redirect, keeps 4 KiB, and gives up in time", () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const ports = new Set<number | undefined>()
      receiver.script("/", (_, __, response) => {
        ports.add(response.socket?.remotePort)
        response.writeHead(302, { location: receiver.url("/inside") }).end("x".repeat(10_000))
      })
      receiver.script("/mute", neverAnswers)
      const send = yield* transport([receiver.host])
      for (let n = 0; n < 5; n++) {
        const answer = yield* send(receiver.url("/"))
        assert.deepStrictEqual([answer.status, answer.body.length], [302, 4_096])
      }
      // A socket that is not yet free again when the next request comes makes a second one.
      assert.isAtMost(ports.size, 2)
      assert.strictEqual(receiver.arrivals("/inside").length, 0)
      const failure = yield* Effect.flip(send(receiver.url("/mute"), 50))
      assert.deepInclude(failure, { own: false, timedOut: true, reason: "no answer in 50 ms" })
    }).pipe(Effect.scoped))
})
