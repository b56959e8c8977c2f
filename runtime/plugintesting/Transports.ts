/** What every webhook transport promises, whoever wrote it. */
import { Clock, Effect, Exit, Fiber, Layer, Schedule, Schema, Scope } from "effect"
import type { Kernel } from "../Plugin.ts"
import * as PublicWeb from "../PublicWeb.ts"
import { Settings, SettingsSchema } from "../Settings.ts"
import { maximumInFlight } from "../webhooks/DeliveryRepo.ts"
import { deliveryHeaders, secretOf, signingKey } from "../webhooks/Signature.ts"
import { type DeliveryRequest, type Transport, TransportFailed, Webhooks } from "../Webhooks.ts"
import { ensure, ensureSame, failureOf, type PortCheck, portCheck } from "./PortCheck.ts"

/** One delivery as the other side got it; names of headers in lower case. */
export interface DeliveredRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A transport ready to be tried, with a receiver of each kind. */
export interface TransportSubject {
  readonly layer: Layer.Layer<never, unknown, Kernel>
  /** `host:port` that may be local, as `webhooks.devnetReceivers` of the settings names them. Absent: none. */
  readonly receivers?: ReadonlyArray<string>
  /** Takes deliveries. */
  readonly url: string
  /** Takes none, by a fault of the receiver's that is no refusal of the URL. */
  readonly failing: string
  /** Of its scheme, and refused by it. */
  readonly refused: string
  /** What arrived at {@link url}, in order. */
  readonly delivered: Effect.Effect<ReadonlyArray<DeliveredRequest>>
  /** Connections, files and the like that it holds open now. Absent: it is not checked that it lets go of them. */
  readonly held?: Effect.Effect<number>
}

/** The settings of a devnet that delivers to local receivers. */
const settingsOf = (receivers: ReadonlyArray<string>): Settings["Service"] => ({
  ...Schema.decodeUnknownSync(SettingsSchema)({
    environments: ["devnet"],
    webhooks: { devnetReceivers: receivers }
  }),
  publicUrl: "http://127.0.0.1:3000",
  dataDirectory: "/nowhere",
  instanceId: "test"
})

/** The one transport that a layer registers, for as long as the scope lives. */
export const transportOf = (
  layer: Layer.Layer<never, unknown, Kernel>,
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
    const services = Layer.mergeAll(webhooks, PublicWeb.layer, Layer.succeed(Settings, settings))
    yield* Layer.build(Layer.provide(layer, services) as Layer.Layer<never, unknown>)
    yield* ensureSame(registered.length, 1, "transports that the plugin registers")
    return registered[0]!
  })

const secretByte = 5

/** The secret that {@link deliveryTo} signs with. */
export const deliverySecret: string = secretOf(Buffer.alloc(32, secretByte))

/** An attempt of one event, signed as the deliverer signs; the text is one that a careless transport would change. */
export const deliveryTo = (
  url: string,
  n = 1,
  more: Partial<DeliveryRequest> = {}
): Effect.Effect<DeliveryRequest> =>
  Effect.map(Clock.currentTimeMillis, (millis) => {
    const ids = { deliveryId: `whd_${n}`, eventId: `evt_1700000000000-${n}`, attempt: 1 }
    const body = `{"id":"${ids.eventId}","note":"✓ \\"quoted\\" \\u2028\u2028 <&>","n":${n} }`
    const headers = deliveryHeaders({
      ...ids,
      eventType: "invoice.paid",
      environment: "devnet",
      millis,
      body,
      key: signingKey(deliverySecret),
      previousKey: null
    })
    return { ...ids, merchantId: 1, environment: "devnet", url, headers, body, timeoutMillis: 5_000, ...more }
  })

const idsOf = (delivered: ReadonlyArray<DeliveredRequest>) =>
  delivered.map(({ headers }) => headers["x-service-delivery-id"] ?? "no x-service-delivery-id")

const untouched = Effect.fnUntraced(function*(delivered: DeliveredRequest | undefined, request: DeliveryRequest) {
  yield* ensureSame(delivered?.body, request.body, "the body")
  for (const [header, value] of Object.entries(request.headers)) {
    yield* ensureSame(delivered?.headers[header.toLowerCase()], value, `the header ${header}`)
  }
})

/** Milliseconds of one delivery where many are made in one process with their receiver, on a busy machine. */
const patientMillis = 60_000

/** The promises of a transport. `start` makes the driver and whatever it delivers to, anew for each check. */
export const transportChecks = (
  start: Effect.Effect<TransportSubject, unknown, Scope.Scope>
): ReadonlyArray<PortCheck> => {
  const check = (
    name: string,
    body: (subject: TransportSubject, transport: Transport) => Effect.Effect<unknown, unknown, Scope.Scope>
  ) =>
    portCheck(
      name,
      Effect.gen(function*() {
        const subject = yield* start
        yield* body(subject, yield* transportOf(subject.layer, settingsOf(subject.receivers ?? [])))
      })
    )
  return [
    check(
      "delivers the very bytes and headers, so that what arrives verifies",
      (subject, transport) =>
        Effect.gen(function*() {
          const request = yield* deliveryTo(subject.url)
          yield* transport.check(request.url, request)
          const { status } = yield* transport.send(request)
          yield* ensure(status >= 200 && status < 300, `a delivery that arrived is answered 2xx, not ${status}`)
          const delivered = yield* subject.delivered
          yield* ensureSame(delivered.length, 1, "deliveries that arrived")
          yield* untouched(delivered[0], request)
        })
    ),
    check(
      "reports a failure of the receiver as one, and sends no second time",
      (subject, transport) =>
        Effect.gen(function*() {
          const result = yield* Effect.result(transport.send(yield* deliveryTo(subject.failing)))
          yield* result._tag === "Success"
            ? ensure(result.success.status >= 300, `a failure is no ${result.success.status}`)
            : ensureSame(result.failure.isOurFault, false, "isOurFault of a failure of the receiver")
          yield* ensureSame((yield* subject.delivered).length, 0, "deliveries that arrived")
        })
    ),
    check(
      "refuses a URL for the same reason before and at the sending, and nothing leaves",
      (subject, transport) =>
        Effect.gen(function*() {
          const request = yield* deliveryTo(subject.refused)
          const { reason } = yield* failureOf(
            transport.check(request.url, request),
            "the check of a URL that is refused"
          )
          yield* ensure(
            /^[A-Z].{10,}[^.]$/.test(reason),
            `the reason is a sentence for a merchant, with a capital letter and without a full stop: ${reason}`
          )
          const error = yield* failureOf(transport.send(request), "a delivery to a URL that is refused")
          yield* ensure(error instanceof TransportFailed, `it fails with a TransportFailed, not with ${String(error)}`)
          yield* ensureSame(
            { reason: error.reason, isOurFault: error.isOurFault, timedOut: error.timedOut },
            { reason, isOurFault: false, timedOut: false },
            "the failure of the delivery"
          )
          yield* ensureSame((yield* subject.delivered).length, 0, "deliveries that arrived")
        })
    ),
    check(`delivers ${maximumInFlight} at once, each once`, (subject, transport) =>
      Effect.gen(function*() {
        const numbers = Array.from({ length: maximumInFlight }, (_, index) => index + 1)
        const sendOne = (n: number) =>
          Effect.flatMap(deliveryTo(subject.url, n, { timeoutMillis: patientMillis }), transport.send)
        yield* Effect.forEach(numbers, sendOne, { concurrency: "unbounded" })
        yield* ensureSame(
          idsOf(yield* subject.delivered).toSorted(),
          numbers.map((n) => `whd_${n}`).toSorted(),
          "deliveries that arrived"
        )
      })),
    check("ends at once when interrupted, and goes on for the others", (subject, transport) =>
      Effect.gen(function*() {
        for (const n of [1, 2, 3, 4]) {
          const request = yield* deliveryTo(subject.url, n)
          const fiber = yield* Effect.forkChild(transport.send(request), { startImmediately: true })
          yield* Fiber.interrupt(fiber)
          yield* ensure(
            Exit.isFailure(yield* Fiber.await(fiber)),
            "a delivery that is interrupted does not end as sent"
          )
        }
        const last = yield* deliveryTo(subject.url, 5)
        yield* transport.send(last)
        const delivered = yield* subject.delivered
        const ids = idsOf(delivered)
        yield* ensureSame(ids.length, new Set(ids).size, "deliveries that arrived once")
        yield* untouched(delivered.find(({ headers }) => headers["x-service-delivery-id"] === last.deliveryId), last)
      })),
    portCheck(
      "lets go of everything with its scope",
      Effect.gen(function*() {
        const subject = yield* start
        const scope = yield* Scope.make()
        const settings = settingsOf(subject.receivers ?? [])
        const transport = yield* Scope.provide(transportOf(subject.layer, settings), scope)
        yield* transport.send(yield* deliveryTo(subject.url))
        const { held = Effect.succeed(0) } = subject
        yield* ensure(subject.held === undefined || (yield* held) > 0, "it holds something after a delivery")
        yield* Scope.close(scope, Exit.void)
        yield* Effect.flatMap(held, (count) => ensure(count === 0, `${count} are held after its end`)).pipe(
          Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 250 })
        )
      })
    )
  ]
}
