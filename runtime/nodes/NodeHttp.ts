/**
 * One HTTP exchange with a node: bounded in bytes and time, and each failure a {@link DriverError} of a kind whose
 * reason holds no URL, header or key.
 */
import { Clock, Effect, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { Network } from "../../schemas/Network.ts"
import { DriverError, type DriverErrorKind } from "../Chains.ts"
import { readBytes } from "../http/ResponseText.ts"
import { retryAfterMillis } from "../webhooks/RetryPolicy.ts"

/** Where a node is. Both may hold a key, and neither is ever in a message. */
export interface EndpointAddress {
  readonly url: Redacted.Redacted
  /** Sent with every call: an API key, for example. */
  readonly headers?: Readonly<Record<string, Redacted.Redacted>>
}

/** What a call may cost. */
export interface CallLimits {
  /** Bytes of the answer's body that are read at most. */
  readonly maximumBytes: number
  /** Milliseconds from the call to the last byte. */
  readonly timeoutMillis: number
}

/** A word, a mark, a page of names: 1 MiB, and a node that needs longer than 5 s for it is as good as away. */
export const smallCall: CallLimits = { maximumBytes: 1024 * 1024, timeoutMillis: 5_000 }

/** Blocks and long pages: 64 MiB, more than any of them has, because a larger one would take the process's memory. */
export const largeCall: CallLimits = { maximumBytes: 64 * 1024 * 1024, timeoutMillis: 15_000 }

export interface NodeRequest {
  /** What is asked, for messages: a method or a route. Never a whole URL, and never a key. */
  readonly subject: string
  readonly method: "GET" | "POST"
  /** Path and query behind the endpoint's own URL, with a slash first; absent: the endpoint's URL itself. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** `type` is the content type. */
  readonly body?: { readonly content: string | Uint8Array; readonly type: string }
  readonly limits: CallLimits
}

/** An answer of any status but those that ask for a pause. */
export interface NodeResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Buffer
}

/** How long a node is left alone that says "too many requests" and not for how long: 5 s. */
export const defaultPauseMillis = 5_000

/** How long it is left alone at most: half of the time after which a network without answers counts as silent. */
export const longestPauseMillis = 30_000

/** Milliseconds that an answer asks to be left alone: 429, or 503 with `Retry-After` (RFC 9110); null: it does not. */
export const pauseMillisOf = (status: number, retryAfter: string | undefined, nowMillis: number): number | null => {
  if (status !== 429 && (status !== 503 || retryAfter === undefined)) return null
  const asked = retryAfterMillis(retryAfter ?? null, nowMillis) ?? defaultPauseMillis
  return Math.min(Math.max(asked, 1_000), longestPauseMillis)
}

/** What kind of failure an HTTP status is; null: none, the body is the answer. */
export const kindOfStatus = (status: number): DriverErrorKind | null =>
  status < 300 ? null : status === 404 ? "not_found" : status >= 500 ? "unavailable" : "refused"

/** The URL of a call. A query of the endpoint's own URL, which may be its key, stays in front of the call's. */
export const callUrl = (endpoint: string, path: string | undefined): string => {
  if (path === undefined) return endpoint
  const url = new URL(endpoint)
  const [route = "", query = ""] = path.split(/\?(.*)/s)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${route}`
  url.search = [url.search.slice(1), query].filter((part) => part !== "").join("&")
  return url.href
}

class AnswerTooLarge extends Schema.TaggedError<AnswerTooLarge>()("AnswerTooLarge", { limit: Schema.Int }) {}

const requestOf = ({ headers = {}, url }: EndpointAddress, request: NodeRequest) => {
  const { body, method, path } = request
  const outgoing = HttpClientRequest.make(method)(callUrl(Redacted.value(url), path), {
    headers: {
      ...request.headers,
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
    }
  })
  if (body === undefined) return outgoing
  return typeof body.content === "string"
    ? HttpClientRequest.bodyText(outgoing, body.content, body.type)
    : HttpClientRequest.bodyUint8Array(outgoing, body.content, body.type)
}

/** How far causes are followed: an error of the client, of its agent, of the system. */
const causeDepth = 5

/** What the system calls a failure of a connection, in brackets: `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
const codeOf = (error: unknown): string => {
  let cause = error
  for (let depth = 0; depth < causeDepth && typeof cause === "object" && cause !== null; depth++) {
    const code = "code" in cause ? cause.code : undefined
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return ` (${code})`
    cause = "reason" in cause ? cause.reason : "cause" in cause ? cause.cause : null
  }
  return ""
}

/** What sends one call, and what it tells of a node that asks for a pause. */
export interface Exchange {
  readonly network: Network
  /** The endpoint in messages. */
  readonly name: string
  readonly address: EndpointAddress
  readonly onPause: (untilMillis: number) => void
}

/** Sends one call. Redirects are not followed: they would carry a key to another host. */
export const exchange = Effect.fnUntraced(function*(
  client: HttpClient.HttpClient,
  { address, name, network, onPause }: Exchange,
  request: NodeRequest
): Effect.fn.Return<NodeResponse, DriverError> {
  const { maximumBytes, timeoutMillis } = request.limits
  const fail = (reason: string, kind: DriverErrorKind) =>
    new DriverError({ network, reason: `${name}, ${request.subject}: ${reason}`, kind })
  const read = (response: HttpClientResponse.HttpClientResponse) =>
    Effect.map(
      readBytes(response, maximumBytes, () => new AnswerTooLarge({ limit: maximumBytes })),
      (bytes): NodeResponse => ({ status: response.status, headers: response.headers, bytes })
    )
  const response = yield* Effect.suspend(() => client.execute(requestOf(address, request))).pipe(
    Effect.flatMap(read),
    Effect.timeout(timeoutMillis),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.mapError((error) => {
      switch (error._tag) {
        case "AnswerTooLarge":
          return fail(`its answer has more than ${maximumBytes} bytes`, "too_large")
        case "TimeoutError":
          return fail(`no answer in ${timeoutMillis / 1000} s`, "timeout")
        default:
          // Its own message holds the URL.
          return fail(`it cannot be reached, or ended the connection${codeOf(error)}`, "unanswered")
      }
    })
  )
  const nowMillis = yield* Clock.currentTimeMillis
  const pauseMillis = pauseMillisOf(response.status, response.headers["retry-after"], nowMillis)
  if (pauseMillis === null) return response
  onPause(nowMillis + pauseMillis)
  return yield* fail(
    `HTTP status ${response.status}, too many calls: left alone for ${Math.ceil(pauseMillis / 1000)} s`,
    "rate_limited"
  )
})
