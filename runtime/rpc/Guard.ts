/** What every call of the internal door passes first: a request that names its target and its host as it should. */
import { Context, Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody, publicError, type PublicError } from "../../schemas/Errors.ts"
import { isTarget, malformedTarget } from "../http/Door.ts"
import { allowingHosts } from "./Hosts.ts"

const notAllowed = publicError("HOST_NOT_ALLOWED", {
  message: "The internal port is not reached by this host name: call it by localhost or an IP address, or add the name "
    + "to rpc.allowedHosts"
})

const refusal = (error: PublicError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(error, "flat", ""), { status: error.status, headers: { "cache-control": "no-store" } })

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>

/**
 * The internal door's global middleware: 400 `VALIDATION_ERROR` for a target that is no path, 421 `HOST_NOT_ALLOWED` for a
 * `Host` that is neither `localhost`, an IP address nor one of `names`.
 */
export const guard = (names: ReadonlyArray<string>) => {
  const isAllowed = allowingHosts(names)
  return (app: App): App =>
    Effect.withFiber((fiber) => {
      const { headers, url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      if (!isTarget(url)) return Effect.succeed(refusal(malformedTarget))
      return isAllowed(headers["host"]) ? app : Effect.succeed(refusal(notAllowed))
    })
}
