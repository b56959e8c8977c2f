/** What every call of the internal port passes first: its request target and its `Host` are checked. */
import { Clock, Context, Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody, type PublicError, publicError } from "../../schemas/Errors.ts"
import { isRequestTarget, malformedRequestTarget } from "../http/GlobalMiddleware.ts"
import type { TracesShape } from "../telemetry/Traces.ts"
import { makeHostCheck } from "./Hosts.ts"
import { rpcPath } from "./Server.ts"

const hostNotAllowed = publicError("HOST_NOT_ALLOWED")

/** The answer to a call without the credential: whoever sends it decides nothing. */
const unauthorizedStatus = 401

const refusal = (error: PublicError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(error, "flat", ""), {
    status: error.status,
    headers: { "cache-control": "no-store" }
  })

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>

/**
 * The internal port's global middleware: 400 `VALIDATION_ERROR` for a target that is no path, 421 `HOST_NOT_ALLOWED`
 * for a `Host` that is neither `localhost`, an IP address nor one of `names`. Calls are recorded, and go on with the
 * trace of their caller, unless its credential is refused.
 */
export const guard = (names: ReadonlyArray<string>, traces: TracesShape) => {
  const isAllowed = makeHostCheck(names)
  const recorded = (app: App, traceparent: string | undefined): App =>
    Effect.withFiber((fiber) => {
      const trace = traces.traceRequest({
        requestId: undefined,
        traceparent,
        address: () => null,
        isInternal: true,
        isLocal: false
      })
      if (trace === null) return app
      const clock = fiber.getRef(Clock.Clock)
      const startNanos = clock.monotonicTimeNanosUnsafe()
      return Effect.tap(app, ({ status }) =>
        Effect.sync(() => {
          if (status === unauthorizedStatus) return
          const seconds = Number(clock.monotonicTimeNanosUnsafe() - startNanos) / 1e9
          const attributes = {
            "http.request.method": "POST",
            "http.route": rpcPath,
            "http.response.status_code": status
          }
          traces.recordRequest(trace, `POST ${rpcPath}`, seconds, { isFailed: status >= 500, attributes })
        }))
    })
  return (app: App): App =>
    Effect.withFiber((fiber) => {
      const { headers, url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      if (!isRequestTarget(url)) return Effect.succeed(refusal(malformedRequestTarget))
      if (!isAllowed(headers["host"])) return Effect.succeed(refusal(hostNotAllowed))
      return traces.isOn && url === rpcPath ? recorded(app, headers["traceparent"]) : app
    })
}
