/**
 * A merchant's own fulfilment service, called over HTTP by the protocol of the guide "fulfilment". It is trusted with
 * what it sells and ships, and with nothing else: answers are checked in size, form and sense before anything is made
 * of them. Its address is the operator's choice, so it may be a private one; redirects are not followed.
 */
import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { KeyObject } from "node:crypto"
import * as Plugin from "../../../runtime/Plugin.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import { Environment } from "../../../schemas/Network.ts"
import { Retailers, RetailerUnavailable } from "../plugin.ts"
import { CallbacksApi, handlers, signatureLayer } from "./http/Callbacks.ts"
import { callsFromZero, firstPauseMillis, makeCalls } from "./http/Calls.ts"
import { signingKey } from "./http/Signature.ts"
import { addressBody, cancelBody, offerOf, placementBody, quoteBody, reportsOf, validationOf } from "./http/Wire.ts"

/** A call with all its tries, at most, and unless told otherwise: a driver's calls end within 10 s. */
const maximumTimeoutMillis = 10_000

/** A try, unless told otherwise: two fit into a call. */
const defaultTryTimeoutMillis = 4_000

const minimumTimeoutMillis = 100

/** Characters of a secret, at least: 32 bytes in base64 have 44, in hexadecimal 64. */
const minimumSecretLength = 32

const isLocalHost = (hostname: string): boolean => ["localhost", "127.0.0.1", "[::1]"].includes(hostname)

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, password, protocol, search, username } = new URL(text)
  return (protocol === "https:" || protocol === "http:") && username + password + hash + search === "" &&
    !/[?#]/.test(text)
}

const Millis = Schema.Int.check(Schema.isBetween({ minimum: minimumTimeoutMillis, maximum: maximumTimeoutMillis }))

export const HttpRetailerOptions = Schema.Struct({
  /**
   * Where the fulfilment service is, e.g. `https://fulfilment.example/tillwire`: the paths of the protocol are below
   * it.
   */
  baseUrl: Schema.String.check(
    Schema.makeFilter((text: string) => isBaseUrl(text) || "Expected a URL without credentials, query or fragment")
  ),
  /** Whose orders it delivers. */
  environment: Environment,
  /** Shared with it, newest first: the first one signs, all of them are taken of callbacks. By reference. */
  secrets: Schema.NonEmptyArray(Schema.RedactedFromValue(
    Schema.String.check(Schema.isMinLength(minimumSecretLength))
  )).check(Schema.isMaxLength(2)),
  /** Milliseconds a call may take with all its tries, 100 to 10,000; default 10,000. */
  timeoutMillis: Schema.optionalKey(Millis),
  /** Milliseconds a single try may take, 100 to 10,000; default 4,000. */
  tryTimeoutMillis: Schema.optionalKey(Millis),
  /** Whether `http` is allowed beyond this machine: on a network where nobody listens or alters. Default false. */
  plainHttp: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(({ baseUrl, plainHttp }: { readonly baseUrl: string; readonly plainHttp?: boolean }) =>
    plainHttp === true || new URL(baseUrl).protocol === "https:" || isLocalHost(new URL(baseUrl).hostname) ||
    "baseUrl is http beyond this machine: take https, or set plainHttp where the network is your own"
  )
)

const keysOf = ({ secrets }: typeof HttpRetailerOptions.Type): ReadonlyArray<KeyObject> =>
  secrets.map((secret) => signingKey(Redacted.value(secret)))

const fromAnswer = <A>(result: Result.Result<A, string>): Effect.Effect<A, RetailerUnavailable> =>
  Effect.mapError(
    Effect.fromResult(result),
    (fault) => new RetailerUnavailable({ reason: `the fulfilment service: its answer cannot be used: ${fault}` })
  )

const register = Effect.fnUntraced(function*(options: typeof HttpRetailerOptions.Type, pauseMillis: number) {
  const retailers = yield* Retailers
  yield* callsFromZero
  const call = yield* makeCalls({
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    environment: options.environment,
    keys: keysOf(options),
    timeoutMillis: options.timeoutMillis ?? maximumTimeoutMillis,
    tryTimeoutMillis: options.tryTimeoutMillis ?? defaultTryTimeoutMillis,
    pauseMillis
  })
  yield* retailers.register({
    name: "retail/http",
    environments: [options.environment],
    quote: Effect.fnUntraced(function*(request) {
      const idempotencyKey = `quote_${yield* uuidV4}`
      const body = yield* call({
        operation: "quote",
        method: "POST",
        target: "/quote",
        body: quoteBody(request),
        idempotencyKey
      })
      return yield* fromAnswer(offerOf(request.items, body))
    }),
    validateAddress: Effect.fnUntraced(function*(address, environment) {
      const idempotencyKey = `address_${yield* uuidV4}`
      const body = addressBody(address, environment)
      return yield* fromAnswer(
        validationOf(yield* call({ operation: "address", method: "POST", target: "/address", body, idempotencyKey }))
      )
    }),
    place: (placement) =>
      call({
        operation: "place",
        method: "POST",
        target: "/orders",
        body: placementBody(placement),
        idempotencyKey: `place_${placement.orderId}`
      }).pipe(Effect.flatMap((body) => fromAnswer(reportsOf(placement, body)))),
    track: (order) =>
      call({ operation: "track", method: "GET", target: `/orders/${order.orderId}`, body: null, idempotencyKey: null })
        .pipe(
          Effect.flatMap((body) => fromAnswer(reportsOf(order, body)))
        ),
    cancel: (order) =>
      call({
        operation: "cancel",
        method: "POST",
        target: `/orders/${order.orderId}/cancel`,
        body: cancelBody(order),
        idempotencyKey: `cancel_${order.orderId}`
      }).pipe(Effect.flatMap((body) => fromAnswer(reportsOf(order, body))))
  })
})

/** The driver alone, without the route of its callbacks, with its own pause before a second try, in milliseconds. */
export const driverLayer = (options: typeof HttpRetailerOptions.Type, pauseMillis = firstPauseMillis) =>
  Layer.effectDiscard(register(options, pauseMillis))

export const plugin = Plugin.make({
  name: "retail/http",
  slot: "modules",
  options: HttpRetailerOptions,
  needs: { retail: Retailers },
  http: CallbacksApi,
  layer: (options) =>
    Layer.mergeAll(
      HttpApiBuilder.layer(CallbacksApi).pipe(
        Layer.provide(handlers(options.environment).pipe(Layer.provide(signatureLayer(keysOf(options)))))
      ),
      driverLayer(options)
    )
})
