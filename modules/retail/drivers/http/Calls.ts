/** One call of the fulfilment service: signed, bounded in time and size, tried again only where that may help. */
import { Clock, Effect, Metric, Random, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { KeyObject } from "node:crypto"
import { readText } from "../../../../runtime/http/ResponseText.ts"
import { retryAfterMillis } from "../../../../runtime/webhooks/RetryPolicy.ts"
import type { Environment } from "../../../../schemas/Network.ts"
import { RetailerUnavailable } from "../../plugin.ts"
import { signatureOf } from "./Signature.ts"
import { initializeSeries } from "../../../../runtime/Telemetry.ts"

/** Bytes of an answer that are read at most; 50 items, each field as long as it may be, take 200 KiB. */
export const maximumAnswerBytes = 262_144

/** Tries within one call, at most. */
export const maximumTries = 4

/** Pause before the second try, doubled with each further one, less up to a half of it by chance. */
export const firstPauseMillis = 200

const calls = Metric.counter("retailer_calls_total", {
  description: "Tries to call the fulfilment service, by operation and how they ended",
  incremental: true
})

/** Creates every series of {@link calls} at 0. */
export const callsFromZero = initializeSeries(
  calls,
  ["quote", "address", "place", "track", "cancel"].flatMap((operation) =>
    ["answered", "failed"].map((outcome) => ({ operation, outcome }))
  )
)

export interface CallsOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly environment: Environment
  /** Newest first: it signs; a further one signs in a second header, while a rotation lasts. */
  readonly keys: ReadonlyArray<KeyObject>
  /** A call with all its tries, and a single try. */
  readonly timeoutMillis: number
  readonly tryTimeoutMillis: number
  /** Pause before the second try: {@link firstPauseMillis}. */
  readonly pauseMillis: number
}

export interface Call {
  readonly operation: "quote" | "address" | "place" | "track" | "cancel"
  readonly method: "GET" | "POST"
  /** Below the base URL. */
  readonly target: string
  /** Null: none. */
  readonly body: object | null
  /** Null where repeating is harmless by itself. */
  readonly idempotencyKey: string | null
}

/** A try that failed, and whether another one may fare better. */
class TryFailed extends Schema.TaggedError<TryFailed>()("TryFailed", {
  reason: Schema.String,
  isRetryable: Schema.Boolean,
  /** What the other side asks to wait. */
  pauseMillis: Schema.Finite
}) {}

const tryFailed = (reason: string, isRetryable: boolean, pauseMillis = 0) =>
  new TryFailed({ reason, isRetryable, pauseMillis })

const isJson = (type: string | undefined): boolean => /^application\/json\s*(?:;|$)/i.test(type ?? "")

/** Makes calls; each answers the text of a `200`. */
export const makeCalls = ({ baseUrl, environment, keys, pauseMillis, timeoutMillis, tryTimeoutMillis }: CallsOptions) =>
  Effect.map(HttpClient.HttpClient, (client) => {
    const sendOnce = Effect.fnUntraced(function*({ idempotencyKey, method, target }: Call, body: string) {
      const now = yield* Clock.currentTimeMillis
      const timestamp = String(now)
      const [newest, previous] = keys.map((key) => signatureOf(key, { timestamp, method, target, body }))
      const headers = {
        accept: "application/json",
        "user-agent": "Service-Retail/1",
        "x-service-timestamp": timestamp,
        "x-service-signature": newest!,
        "x-service-network-environment": environment,
        ...(previous === undefined ? {} : { "x-service-signature-previous": previous }),
        ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey })
      }
      const request = HttpClientRequest.make(method)(`${baseUrl}${target}`, { headers })
      const response = yield* client.execute(
        method === "GET" ? request : HttpClientRequest.bodyText(request, body, "application/json")
      )
      if (response.status !== 200) {
        const isRetryable = response.status === 429 || response.status >= 500
        const retryAfter = retryAfterMillis(response.headers["retry-after"] ?? null, now) ?? 0
        return yield* tryFailed(`it answers HTTP ${response.status}`, isRetryable, retryAfter)
      }
      if (!isJson(response.headers["content-type"])) return yield* tryFailed("its answer is not JSON", false)
      return yield* readText(
        response,
        maximumAnswerBytes,
        () => tryFailed(`its answer has more than ${maximumAnswerBytes} bytes`, false)
      )
    })

    const sendWithTimeout = (call: Call, body: string) =>
      sendOnce(call, body).pipe(
        Effect.scoped,
        // Its spans would hold the address of the service and the headers.
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.catchTag("HttpClientError", () =>
          Effect.fail(tryFailed("it cannot be reached, or cut the connection", true))),
        Effect.timeoutOrElse({
          duration: tryTimeoutMillis,
          orElse: () =>
            Effect.fail(tryFailed(`it gives no answer in ${tryTimeoutMillis} ms`, true))
        }),
        Effect.onExit((exit) =>
          Metric.update(
            Metric.withAttributes(calls, {
              operation: call.operation,
              outcome: exit._tag === "Success" ? "answered" : "failed"
            }),
            1
          )
        )
      )

    const sendWithRetries = (call: Call, body: string, number: number, end: number): Effect.Effect<string, TryFailed> =>
      Effect.catch(sendWithTimeout(call, body), (failure) =>
        Effect.gen(function*() {
          if (!failure.isRetryable || number >= maximumTries) return yield* failure
          const pause = pauseMillis * 2 ** (number - 1) * (1 - (yield* Random.next) / 2)
          const wait = Math.max(pause, failure.pauseMillis)
          if ((yield* Clock.currentTimeMillis) + wait >= end) return yield* failure
          yield* Effect.sleep(wait)
          return yield* sendWithRetries(call, body, number + 1, end)
        }))

    return (call: Call): Effect.Effect<string, RetailerUnavailable> =>
      Effect.gen(function*() {
        const end = (yield* Clock.currentTimeMillis) + timeoutMillis
        return yield* sendWithRetries(call, call.body === null ? "" : JSON.stringify(call.body), 1, end)
      }).pipe(
        Effect.timeoutOrElse({
          duration: timeoutMillis,
          orElse: () => Effect.fail(tryFailed(`it gives no answer in ${timeoutMillis} ms`, false))
        }),
        Effect.mapError(({ reason }) => new RetailerUnavailable({ reason: `the fulfilment service: ${reason}` }))
      )
  })
