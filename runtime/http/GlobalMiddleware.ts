/** What every request passes first and every response last, whoever serves it: in one function, without a fiber. */
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Context, Effect, type Fiber } from "effect"
import { Headers, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { IncomingMessage, type ServerResponse } from "node:http"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  type ErrorPages,
  merchantCredentials,
  plainErrors,
  type RateLimiter,
  type RequestFacts,
  RequestInfo
} from "../Http.ts"
import { localCallerOf } from "../LocalCalls.ts"
import { operatorPrefix } from "../OperatorRoutes.ts"
import { countRequest } from "../telemetry/HttpMetrics.ts"
import { loggedId } from "../telemetry/LineWriter.ts"
import { abandonedStatus, type RequestLog } from "../telemetry/RequestLog.ts"
import { isTracedRequestId, type RequestTrace, tracedRequestId } from "../telemetry/TraceContext.ts"
import type { TracesShape } from "../telemetry/Traces.ts"
import { hasBody, isOversized, mediaTypeFault, takeSenderDelay } from "./Body.ts"
import { failureResponse, isRouteNotFound, refusalTo } from "./ErrorResponses.ts"
import { write } from "./NodeResponse.ts"
import { canonicalUrl, hasDecodableQuery, hasEmptySegment } from "./Paths.ts"
import type { KnownPath, Routes } from "./Routes.ts"
import type { TimeLimit } from "./TimeLimit.ts"
import { hasUnknownVersion, versionHeaders, versionOf } from "./Versions.ts"

const requestIdPattern = /^[A-Za-z0-9_-]{1,64}$/

/** The request id that the caller chose; undefined: it chose none, or one that only the service may give. */
const sentRequestId = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const sent = request.headers["x-request-id"]
  if (sent === undefined || !requestIdPattern.test(sent)) return undefined
  return isTracedRequestId(sent) && localCallerOf(request) === undefined ? undefined : sent
}

const factsOf = (
  request: HttpServerRequest.HttpServerRequest,
  sent: string | undefined,
  trace: RequestTrace | null
): RequestFacts => ({
  requestId: sent ?? (trace === null ? `req_${randomUUID()}` : tracedRequestId(trace)),
  apiVersion: versionOf(request.headers),
  answerHeaders: {},
  errorForm: plainErrors,
  merchantId: null
})

/** `;` and `#` end a path for the router, as `?` does, and for nobody else: `/invoices;x=y` is not `/invoices`. */
const hasForeignDelimiter = (url: string): boolean => {
  const end = url.search(/[?;#]/)
  return end !== -1 && url[end] !== "?"
}

/**
 * Whether a request's URL, as the server hands it on, is a path or the `*` of OPTIONS (RFC 9112, section 3.2). The
 * server removes scheme and host from an absolute URL; one that it cannot parse arrives here unchanged.
 */
export const isRequestTarget = (url: string): boolean => url.startsWith("/") || url === "*"

/** The answer to a request whose target fails {@link isRequestTarget}. */
export const malformedRequestTarget = publicError("VALIDATION_ERROR", {
  message: "The request target is neither a path nor a URL: send GET /path HTTP/1.1"
})

const malformedPath = publicError("VALIDATION_ERROR", {
  message:
    "The path is not percent-encoded UTF-8: write % as %25, and every other character as the %XX of its UTF-8 bytes"
})

/** Each escape that cannot be read would else become U+FFFD, and a filter that nobody meant would select nothing. */
const malformedQuery = publicError("VALIDATION_ERROR", {
  message:
    "The query is not percent-encoded UTF-8: write % as %25, and every other character as the %XX of its UTF-8 bytes"
})

const nulInUrl = publicError("VALIDATION_ERROR", { message: "The URL must not contain the NUL character" })

/** No route has this path, but one has a path that is spelt nearly so. */
const misspelt = ({ template }: KnownPath): PublicError =>
  publicError("NOT_FOUND", {
    message: `No such path. ${template} is written exactly so: case counts, slashes are single, and none is at the end`
  })

/**
 * Gives the request the one spelling of its URL that routes and idempotency keys compare; false where it has none.
 */
const makeCanonical = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const url = canonicalUrl(request.url)
  if (url === undefined) return false
  if (url !== request.url) Object.defineProperty(request, "url", { value: url })
  return true
}

/**
 * Why a request is refused before any route sees it. Of an unknown path only the target's form and the body's size are
 * checked; the router decides the rest.
 */
const refusalOf = (
  request: HttpServerRequest.HttpServerRequest,
  findPath: () => KnownPath | undefined
): PublicError | undefined => {
  if (!isRequestTarget(request.url)) return malformedRequestTarget
  const isRead = hasBody(request) && request.method !== "GET" && request.method !== "HEAD"
  const fault = isRead ? mediaTypeFault(request) : undefined
  const oversized = isOversized(request)
  if (hasForeignDelimiter(request.url)) return publicError("NOT_FOUND")
  if (!makeCanonical(request)) return malformedPath
  const badVersion = hasUnknownVersion(request.headers)
  const hasBadQuery = !hasDecodableQuery(request.url)
  const suspect = oversized || fault !== undefined || badVersion || hasBadQuery || request.url.includes("%00")
  if (!suspect) return undefined
  const path = findPath()
  if (path?.anyOrigin === true && merchantCredentials.some((name) => request.headers[name] !== undefined)) {
    return publicError("CREDENTIAL_NOT_ALLOWED")
  }
  if (path?.takesForms === true && path.methods.includes(request.method)) return undefined
  if (oversized) return publicError("PAYLOAD_TOO_LARGE")
  if (path === undefined || !path.methods.includes(request.method)) return undefined
  if (badVersion) return publicError("INVALID_VERSION")
  // Pages take whatever their links carry: programs that count clicks add parameters of their own.
  if (hasBadQuery && (path.template.startsWith("/api/") || path.template.startsWith(operatorPrefix))) {
    return malformedQuery
  }
  return fault ?? (request.url.includes("%00") ? nulInUrl : undefined)
}

/** Headers that a page of another origin may send, beside the ones every page may. */
const allowedHeaders =
  "content-type, idempotency-key, if-none-match, x-request-id, x-service-version, x-session-token, x-signature"

/** What a page of another origin may read of an answer, beside its body. */
const exposedHeaders = "x-request-id, x-service-version, etag, retry-after, deprecation, sunset, ratelimit-limit, "
  + "ratelimit-remaining, ratelimit-reset, ratelimit-policy, x-service-warning"

/** The answer to a browser that asks whether it may call: any origin, never with credentials. Kept for a day. */
const preflight = ({ methods }: KnownPath): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 204,
    headers: {
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": allowedHeaders,
      "access-control-max-age": "86400"
    }
  })

/** Of a request that a stop of the service interrupts: `NodeServer.ts` sends it. */
const interruptedStatus = 503

/** Stable and without ids: as OpenTelemetry names spans of servers. */
const requestSpanName = (method: string, route: string | undefined): string =>
  route === undefined ? method : `${method} ${route}`

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, never>
type Response = HttpServerResponse.HttpServerResponse

/** What the global middleware takes. */
export interface GlobalMiddlewareOptions {
  readonly routes: Routes
  readonly rateLimiter: typeof RateLimiter.Service
  readonly errorPages: typeof ErrorPages.Service
  readonly timeLimit: TimeLimit
  readonly logRequest: RequestLog
  readonly traces: TracesShape
  /** The address of a request's caller. */
  readonly addressOf: (request: HttpServerRequest.HttpServerRequest) => string | null
}

const headersPrototype = Object.getPrototypeOf(Headers.empty)

/**
 * The response with the headers every response carries. Each is added once to one object: `setHeaders` makes three, and
 * looks at the case of every name.
 */
const withCommonHeaders = (
  response: Response,
  request: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts,
  findPath: () => KnownPath | undefined
): Response => {
  const headers: Record<string, string> = Object.create(headersPrototype)
  Object.assign(headers, response.headers, facts.answerHeaders, versionHeaders(facts.apiVersion))
  headers["x-content-type-options"] = "nosniff"
  headers["x-request-id"] = facts.requestId
  headers["cache-control"] ??= "no-store"
  if (request.headers["origin"] !== undefined && findPath()?.anyOrigin === true) {
    headers["access-control-allow-origin"] = "*"
    headers["access-control-expose-headers"] = exposedHeaders
  }
  return Object.assign(Object.create(Object.getPrototypeOf(response)), response, { headers })
}

/** Whether nobody is there any more who could be answered. A websocket is over when its connection is. */
const isAbandoned = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean =>
  source instanceof IncomingMessage && source.socket.destroyed && headers["upgrade"] === undefined

/**
 * Writes an answer to the connection, beside the fiber that should: what it waits for may never come, not even for its
 * interruption. Whatever that fiber answers later is dropped, because the answer has ended.
 */
const sendOutsideFiber = (request: HttpServerRequest.HttpServerRequest, response: Response): void => {
  if (!(request.source instanceof IncomingMessage)) return
  const answer = toServerResponse(request) as ServerResponse
  if (!answer.headersSent) Effect.runFork(write(answer, response))
}

/** Says why a request is refused that took too long. Beside its fiber, which is interrupted and may never end. */
const logLate = (
  { context }: Fiber.Fiber<unknown, unknown>,
  { method }: HttpServerRequest.HttpServerRequest,
  { requestId }: RequestFacts,
  millis: number
): void => {
  const route = Context.getOrUndefined(context, HttpRouter.RouteContext)?.route
  Effect.runForkWith(context)(Effect.logWarning(
    "request refused: it was not answered in time. The database does not answer, or it or this machine is too busy",
    { method, route: route?.path ?? null, code: "SERVICE_UNAVAILABLE", ms: Math.round(millis), requestId }
  ))
}

/**
 * Does for every request what needs no definition of a route: it gives an id, refuses what no route has to see, answers
 * 404 and 405, limits the time, gives errors their form, adds the headers every response carries, and counts and logs
 * the answer. What a route's definition asks for beside that is `Calls.ts`'s. A defect nobody rendered becomes a 500.
 */
export const globalMiddleware =
  ({ addressOf, errorPages, logRequest, rateLimiter, routes, timeLimit, traces }: GlobalMiddlewareOptions) =>
  (app: App): App =>
    Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const clock = fiber.getRef(Clock.Clock)
      const startNanos = clock.monotonicTimeNanosUnsafe()
      const findPath = () => routes.find(request.url)
      const sent = sentRequestId(request)
      const trace = traces.isOn
        ? traces.traceRequest({
          requestId: sent,
          traceparent: request.headers["traceparent"],
          address: () => addressOf(request),
          isInternal: false,
          isLocal: localCallerOf(request) !== undefined
        })
        : null
      const facts = factsOf(request, sent, trace)
      // Nothing restores the context: `NodeServer.ts` gives every request a fiber of its own.
      fiber.setContext(Context.add(fiber.context, RequestInfo, facts))
      /** Counts, logs and records the end of the request. `made` null: it was interrupted before it had an answer. */
      const report = (made: number | null): void => {
        const isLeft = isAbandoned(request)
        const status = isLeft ? abandonedStatus : made ?? interruptedStatus
        const seconds = Number(clock.monotonicTimeNanosUnsafe() - startNanos) / 1e9
        // The router leaves its match in the context.
        const route = Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)?.route
        countRequest(fiber.context, request.method, route, status, seconds)
        logRequest({
          method: request.method,
          route: route?.path ?? null,
          status,
          unsentStatus: isLeft ? made ?? undefined : undefined,
          seconds,
          requestId: facts.requestId,
          merchantId: facts.merchantId
        })
        if (trace !== null) {
          traces.recordRequest(trace, requestSpanName(request.method, route?.path), seconds, {
            isFailed: status >= 500,
            attributes: {
              "http.request.method": request.method,
              "http.route": route?.path ?? null,
              "http.response.status_code": status,
              "tillwire.request_id": loggedId(facts.requestId),
              "tillwire.merchant_id": facts.merchantId
            }
          })
        }
      }
      const finish = (response: Response): Response => {
        report(response.status)
        return withCommonHeaders(response, request, facts, findPath)
      }
      const respond = refusalTo(errorPages, request)
      const familyOfPath = () => (findPath() ?? routes.meant(request.url))?.family ?? "wrapped"
      /** In the family of the path, or of the one that was meant. */
      const refuse = (error: PublicError) => respond(error, familyOfPath(), facts.requestId)
      /** Nobody is known to ask here, so it counts for the address. */
      const countByAddress = (answer: () => Response): Effect.Effect<Response> =>
        Effect.match(rateLimiter.address(request, "anonymous"), {
          onSuccess: () => finish(answer()),
          onFailure: (error) => finish(refuse(error))
        })
      const refusal = refusalOf(request, findPath)
      if (refusal !== undefined) {
        // What is found for an address with a foreign delimiter is not what its sender means.
        const family = refusal.code === "NOT_FOUND" ? "wrapped" : familyOfPath()
        return countByAddress(() => respond(refusal, family, facts.requestId))
      }
      const unrouted = (): Effect.Effect<Response> => {
        const path = findPath()
        if (path?.anyOrigin === true && request.method === "OPTIONS") return Effect.succeed(finish(preflight(path)))
        const meant = path === undefined ? routes.meant(request.url) : undefined
        return countByAddress(() =>
          path === undefined
            ? refuse(meant === undefined ? publicError("NOT_FOUND") : misspelt(meant))
            : HttpServerResponse.setHeader(
              refuse(publicError("METHOD_NOT_ALLOWED")),
              "allow",
              path.methods.join(", ")
            )
        )
      }
      if (hasEmptySegment(request.url)) return unrouted()
      let lateAnswer: Response | undefined
      // A stream lives as long as its listener.
      const deadline = request.headers["upgrade"] === undefined
        ? timeLimit.start(() => {
          lateAnswer = finish(refuse(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
          sendOutsideFiber(request, lateAnswer)
          // Before the interruption, which takes the context with it.
          logLate(fiber, request, facts, Number(clock.monotonicTimeNanosUnsafe() - startNanos) / 1e6)
          fiber.interruptUnsafe()
        }, () => takeSenderDelay(request))
        : undefined
      const stop = (status: number | null) => deadline === undefined ? undefined : timeLimit.stop(deadline, status)
      return Effect.matchCauseEffect(app, {
        onSuccess: (response) => {
          if (lateAnswer !== undefined) return Effect.succeed(lateAnswer)
          stop(response.status)
          return Effect.succeed(finish(response))
        },
        onFailure: (cause) => {
          if (lateAnswer !== undefined) return Effect.succeed(lateAnswer)
          stop(null)
          if (isRouteNotFound(cause)) return unrouted()
          if (Cause.hasInterruptsOnly(cause)) {
            report(null)
            return Effect.failCause(cause)
          }
          return Effect.map(failureResponse(cause, facts.errorForm, respond), finish)
        }
      })
    })
