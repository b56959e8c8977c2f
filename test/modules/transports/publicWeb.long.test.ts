/**
 * Goal: what strangers have published is read under the rules of deliveries: in time, in little memory, and from no
 * address that is not public. Method: real sockets and a name server of the test's own.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { layerWith } from "../../../modules/transports/https.ts"
import * as PublicWeb from "../../../runtime/PublicWeb.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { Webhooks } from "../../../runtime/Webhooks.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"
import { makeDns } from "../../support/Dns.ts"
import { answers, makeReceiver, neverAnswers, receiverCertificate } from "../../support/Receiver.ts"

const readerOf = (receivers: ReadonlyArray<string>, nameservers: readonly [string, ...ReadonlyArray<string>]) =>
  Effect.map(
    Layer.build(
      layerWith({ ca: receiverCertificate, nameservers }, { connectTimeoutMillis: 5_000 }).pipe(
        Layer.provideMerge(PublicWeb.layer),
        Layer.provide(Layer.succeed(Settings, settingsOf(receivers))),
        Layer.provide(Layer.mock(Webhooks, { register: () => Effect.void }))
      )
    ),
    (context) => {
      const web = Context.get(context, PublicWeb.PublicWeb)
      const failureOf = <A>(read: Effect.Effect<A, PublicWeb.WebReadFailed>) =>
        Effect.map(Effect.flip(read), ({ isRefused }) => isRefused ? "refused" : "nothing")
      return {
        ...web,
        fails: (url: string) => failureOf(web.page(url)),
        mute: (name: string) => failureOf(web.textRecords(name))
      }
    }
  )

const promise = (what: string, body: Effect.Effect<unknown, unknown, Scope.Scope>) =>
  it.live(what, () => Effect.scoped(body))

promise(
  "a page is asked for once, without credentials, and no redirect is followed",
  Effect.gen(function*() {
    const dns = yield* makeDns
    const receiver = yield* makeReceiver("https")
    receiver.script("/page", answers(200, { "content-type": "application/json" }, "{\"a\":1}"))
    receiver.script("/moved", answers(302, { location: receiver.url("/page") }))
    const { page } = yield* readerOf([receiver.host], [dns.server])
    assert.deepStrictEqual(yield* page(receiver.url("/page")), { status: 200, text: "{\"a\":1}" })
    assert.deepStrictEqual(yield* page(receiver.url("/moved")), { status: 302, text: "" })
    const [arrival, ...others] = receiver.arrivals("/page")
    assert.deepStrictEqual([arrival?.method, arrival?.body.length, others.length], ["GET", 0, 0])
    assert.notProperty(arrival?.headers, "cookie")
  })
)

promise(
  "an endless page is cut off, and one that never comes is given up after 10 s",
  Effect.gen(function*() {
    const dns = yield* makeDns
    const receiver = yield* makeReceiver("https")
    let written = 0
    receiver.script("/large", (_, __, response) => {
      response.writeHead(200)
      const more = () => {
        written += 65_536
        if (written < 50_000_000 && !response.destroyed) response.write(Buffer.alloc(65_536), more)
      }
      more()
    })
    receiver.script("/mute", neverAnswers)
    const { fails } = yield* readerOf([receiver.host], [dns.server])
    assert.strictEqual(yield* fails(receiver.url("/large")), "nothing")
    assert.isBelow(written, 16_000_000)
    assert.strictEqual(yield* fails(receiver.url("/mute")), "nothing")
    assert.strictEqual(receiver.arrivals("/mute").length, 1)
  })
)

promise(
  "a name of an address that is not public is refused, also when it changes after it was looked at",
  Effect.gen(function*() {
    const dns = yield* makeDns
    dns.set("cloud.example", ["169.254.169.254"])
    dns.set("inside.example", ["8.8.8.8", "10.0.0.7"])
    dns.set("rebinding.example", ["8.8.8.8"], ["127.0.0.1"])
    const { fails } = yield* readerOf([], [dns.server])
    for (const host of ["cloud.example", "inside.example", "localhost", "127.0.0.1", "[::1]", "shop.internal"]) {
      assert.strictEqual(yield* fails(`https://${host}/.well-known/tillwire.json`), "refused", host)
    }
    assert.strictEqual(yield* fails("http://shop.example/"), "refused")
    assert.strictEqual(yield* fails("https://rebinding.example/"), "nothing")
    assert.strictEqual(dns.asked("rebinding.example"), 2)
  })
)

promise(
  "TXT records are read as far as they are few and short, and a silent name server says nothing",
  Effect.gen(function*() {
    const dns = yield* makeDns
    dns.setTexts("_tillwire.shop.example", ["one", "t".repeat(200)])
    dns.setTexts("_tillwire.mute.example", null)
    const { mute, textRecords } = yield* readerOf([], [dns.server])
    assert.deepStrictEqual(yield* textRecords("_tillwire.shop.example"), ["one", "t".repeat(200)])
    assert.deepStrictEqual(yield* textRecords("_tillwire.nowhere.example"), [])
    assert.strictEqual(yield* mute("_tillwire.mute.example"), "nothing")
  })
)

it.effect("without a way out nothing can be read", () =>
  Effect.gen(function*() {
    const web = yield* PublicWeb.PublicWeb
    assert.isFalse(web.isAvailable())
    assert.isFalse((yield* Effect.flip(web.page("https://shop.example/"))).isRefused)
    assert.isFalse((yield* Effect.flip(web.textRecords("shop.example"))).isRefused)
  }).pipe(Effect.provide(PublicWeb.layer)))
