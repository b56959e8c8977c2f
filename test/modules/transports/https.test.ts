import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plugin } from "../../../modules/transports/https.ts"
import { type Transport, Webhooks } from "../../../runtime/Webhooks.ts"
import { makeReceiver, neverAnswers, receiverCertificate } from "../../support/Receiver.ts"

/** The transport as the deliverer gets it. */
const transport = (options: { readonly ca?: string } = {}) =>
  Effect.gen(function*() {
    let registered: Transport | undefined
    yield* Layer.build(
      plugin.layer(options).pipe(Layer.provide(Layer.succeed(Webhooks, {
        register: (each) => Effect.sync(() => void (registered = each)),
        checkUrl: () => Effect.void,
        wake: () => Effect.void
      }))) as Layer.Layer<never, unknown>
    )
    return (url: string, allowLocal = true, timeoutMillis = 5_000) =>
      registered!.send({ url, headers: { "Content-Type": "application/json" }, body: "{}", timeoutMillis, allowLocal })
  })

describe("the https transport", () => {
  it.live("trusts no certificate it has no authority for", () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver("https")
      const failure = yield* Effect.flip((yield* transport())(receiver.url("/")))
      assert.deepInclude(failure, { own: false, timedOut: false })
      assert.match((failure as { readonly reason: string }).reason, /SELF_SIGNED/)
      assert.strictEqual(receiver.arrivals().length, 0)
      const send = yield* transport({ ca: receiverCertificate })
      assert.strictEqual((yield* send(receiver.url("/"))).status, 200)
    }).pipe(Effect.scoped))

  it.live("connects to no name that resolves to this machine, and speaks no plain http, unless it is told", () =>
    Effect.gen(function*() {
      const secure = yield* makeReceiver("https")
      const plain = yield* makeReceiver("http")
      const send = yield* transport({ ca: receiverCertificate })
      const lookedUp = yield* Effect.flip(send(secure.url("/"), false))
      assert.match((lookedUp as { readonly reason: string }).reason, /not public/)
      const refused = yield* Effect.flip(send(plain.url("/"), false))
      assert.match((refused as { readonly reason: string }).reason, /plain http/)
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
      const send = yield* transport()
      for (let n = 0; n < 5; n++) {
        const answer = yield* send(receiver.url("/"))
        assert.deepStrictEqual([answer.status, answer.body.length], [302, 4_096])
      }
      // A socket that is not yet free again when the next request comes makes a second one.
      assert.isAtMost(ports.size, 2)
      assert.strictEqual(receiver.arrivals("/inside").length, 0)
      const failure = yield* Effect.flip(send(receiver.url("/mute"), true, 50))
      assert.deepInclude(failure, { own: false, timedOut: true, reason: "no answer in 50 ms" })
    }).pipe(Effect.scoped))
})
