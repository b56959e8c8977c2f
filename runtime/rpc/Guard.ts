/** What every call of the internal port passes first: its request target and its `Host` are checked. */
import { Context, Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody, type PublicError, publicError } from "../../schemas/Errors.ts"
import { isRequestTarget, malformedRequestTarget } from "../http/GlobalMiddleware.ts"
import { makeHostCheck } from "./Hosts.ts"

const hostNotAllowed = publicError("HOST_NOT_ALLOWED")

const refusal = (error: PublicError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(error, "flat", ""), {
    status: error.status,
    headers: { "cache-control": "no-store" }
  })

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>

/**
 * The internal port's global middleware: 400 `VALIDATION_ERROR` for a target that is no path, 421 `HOST_NOT_ALLOWED`
 * for a `Host` that is neither `localhost`, an IP address nor one of `names`.
 */
export const guard = (names: ReadonlyArray<string>) => {
  const isAllowed = makeHostCheck(names)
  return (app: App): App =>
    Effect.withFiber((fiber) => {
      const { headers, url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      if (!isRequestTarget(url)) return Effect.succeed(refusal(malformedRequestTarget))
      return isAllowed(headers["host"]) ? app : Effect.succeed(refusal(hostNotAllowed))
    })
}
