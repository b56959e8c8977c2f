/** What every webhook transport promises, whoever wrote it: a driver's test calls {@link transportConformance}. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Webhook as Standard } from "standardwebhooks"
import { Webhook as Svix } from "svix"
import { maximumInFlight } from "../../runtime/webhooks/DeliveryRepo.ts"
import * as PublicWeb from "../../runtime/PublicWeb.ts"
import { Settings } from "../../runtime/Settings.ts"
import { deliveryHeaders, secretOf, signingKey } from "../../runtime/webhooks/Signature.ts"
import { type DeliveryRequest, type Transport, Webhooks } from "../../runtime/Webhooks.ts"
import { settingsOf } from "../runtime/webhooks/Delivery.ts"
import { until } from "../support/Service.ts"

/** A plugin's layer as far as a transport may need the runtime. */
export type TransportLayer = Layer.Layer<never, unknown, Webhooks | Settings | PublicWeb.PublicWeb>

/** One delivery as the other side got it. */
export interface DeliveredRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A driver ready to be tried. */
export interface TransportSubject {
  readonly layer: TransportLayer
  /** `host:port` that may be local. */
  readonly receivers?: ReadonlyArray<string>
  /** Takes deliveries. */
  readonly url: string
  /** Takes none, by a fault of the receiver's that is no refusal of the URL. */
  readonly failing: string
  /** Of its scheme, and refused by it. */
  readonly refused: string
  /** What arrived at {@link url}, in order. */
  readonly delivered: Effect.Effect<ReadonlyArray<DeliveredRequest>>
  /** Connections, files and the like that it holds open now. */
  readonly held: Effect.Effect<number>
}

/** The transport that a layer registers, for as long as the scope lives. */
export const transportOf = (
  layer: TransportLayer,
  settings: Settings["Service"] = settingsOf([])
): Effect.Effect<Transport, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<Transport> = []
    const webhooks = Layer.mock(Webhooks, {
      register: (transport) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => registered.push(transport)),
          () => Effect.sync(() => registered.splice(registered.indexOf(transport), 1))
        ))
    })
    yield* Layer.build(Layer.provide(layer, [webhooks, PublicWeb.layer, Layer.succeed(Settings, settings)]))
    const [transport, ...others] = registered
    assert.strictEqual(others.length, 0, "one plugin registers one transport")
    return transport ?? (yield* Effect.die(new Error("the plugin registers no transport")))
  })

const secret = secretOf(Buffer.alloc(32, 5))

/** An attempt of one event, signed as the deliverer signs; the text is one that a careless transport would change. */
export const requestTo = (url: string, n = 1, more: Partial<DeliveryRequest> = {}): DeliveryRequest => {
  const ids = { deliveryId: `whd_${n}`, eventId: `evt_1700000000000-${n}`, attempt: 1 }
  const body = `{"id":"${ids.eventId}","note":"✓ \\"quoted\\" \\u2028\u2028 <&>","n":${n} }`
  const millis = Math.floor(performance.timeOrigin + performance.now())
  const headers = deliveryHeaders({
    ...ids,
    eventType: "invoice.paid",
    environment: "devnet",
    millis,
    body,
    key: signingKey(secret),
    previousKey: null
  })
  return { ...ids, merchantId: 1, environment: "devnet", url, headers, body, timeoutMillis: 5_000, ...more }
}

const idsOf = (delivered: ReadonlyArray<DeliveredRequest>) =>
  delivered.map(({ headers }) => headers["x-service-delivery-id"])

/** Runs the suite. `start` makes the driver and whatever it delivers to. */
export const transportConformance = (name: string, start: Effect.Effect<TransportSubject, unknown, Scope.Scope>) => {
  const promise = (
    what: string,
    body: (subject: TransportSubject, transport: Transport) => Effect.Effect<unknown, unknown, Scope.Scope>
  ) =>
    it.live(what, () =>
      Effect.gen(function*() {
        const subject = yield* start
        yield* body(subject, yield* transportOf(subject.layer, settingsOf(subject.receivers ?? [])))
      }).pipe(Effect.scoped))

  describe(`transport ${name}`, () => {
    promise(
      "delivers the very bytes and headers, and what arrives verifies",
      (subject, transport) =>
        Effect.gen(function*() {
          const request = requestTo(subject.url)
          yield* transport.check(request.url, request)
          const answer = yield* transport.send(request)
          assert.isTrue(answer.status >= 200 && answer.status < 300)
          const [delivered, ...others] = yield* subject.delivered
          assert.strictEqual(others.length, 0)
          assert.strictEqual(delivered!.body, request.body)
          for (const [header, value] of Object.entries(request.headers)) {
            assert.strictEqual(delivered!.headers[header.toLowerCase()], value, header)
          }
          for (const library of [new Standard(secret), new Svix(secret)]) {
            assert.deepInclude(library.verify(delivered!.body, delivered!.headers), { id: request.eventId })
            assert.throws(() => library.verify(`${delivered!.body} `, delivered!.headers))
          }
        })
    )

    promise(
      "reports a failure of the receiver as one, and sends no second time",
      (subject, transport) =>
        Effect.gen(function*() {
          const exit = yield* Effect.result(transport.send(requestTo(subject.failing)))
          if (exit._tag === "Success") assert.isAtLeast(exit.success.status, 300)
          else assert.deepInclude(exit.failure, { isOurFault: false })
          assert.strictEqual((yield* subject.delivered).length, 0)
        })
    )

    promise(
      "refuses a URL for the same reason before and at the sending, and nothing leaves",
      (subject, transport) =>
        Effect.gen(function*() {
          const request = requestTo(subject.refused)
          const { reason } = yield* Effect.flip(transport.check(request.url, request))
          assert.match(reason, /^[A-Z].{10,}[^.]$/)
          assert.deepInclude(yield* Effect.flip(transport.send(request)), {
            reason,
            isOurFault: false,
            timedOut: false
          })
          assert.strictEqual((yield* subject.delivered).length, 0)
        })
    )

    promise(`delivers ${maximumInFlight} at once, each once`, (subject, transport) =>
      Effect.gen(function*() {
        const numbers = Array.from({ length: maximumInFlight }, (_, index) => index + 1)
        // Signed and checked in one process with the receiver: a busy machine takes longer than one delivery may.
        const patient = { timeoutMillis: 60_000 }
        yield* Effect.forEach(numbers, (n) => transport.send(requestTo(subject.url, n, patient)), {
          concurrency: "unbounded"
        })
        const delivered = yield* subject.delivered
        assert.sameMembers([...idsOf(delivered)], numbers.map((n) => `whd_${n}`))
        for (const each of delivered) new Standard(secret).verify(each.body, each.headers)
      }))

    promise(
      "ends at once when interrupted, and goes on for the others",
      (subject, transport) =>
        Effect.gen(function*() {
          const ended = yield* Effect.forEach([1, 2, 3, 4], (n) =>
            Effect.gen(function*() {
              const fiber = yield* Effect.forkChild(transport.send(requestTo(subject.url, n)), {
                startImmediately: true
              })
              yield* Fiber.interrupt(fiber)
              return yield* Fiber.await(fiber)
            }))
          assert.isTrue(ended.every(Exit.isFailure), "the interrupt was first")
          yield* transport.send(requestTo(subject.url, 5))
          const ids = idsOf(yield* subject.delivered)
          assert.strictEqual(new Set(ids).size, ids.length)
          assert.include(ids, "whd_5")
          for (const each of yield* subject.delivered) new Standard(secret).verify(each.body, each.headers)
        })
    )

    it.live("lets go of everything with its scope", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const scope = yield* Scope.make()
        const transport = yield* Scope.provide(transportOf(subject.layer, settingsOf(subject.receivers ?? [])), scope)
        yield* transport.send(requestTo(subject.url))
        assert.isAbove(yield* subject.held, 0)
        yield* Scope.close(scope, Exit.void)
        yield* until("everything is let go", subject.held, (held) => held === 0)
      }).pipe(Effect.scoped))
  })
}
