/** Serves the operator API on the internal port: what every request passes, and then the routes of the features. */
import { Effect } from "effect"
import { type HttpRouter, HttpServerResponse } from "effect/http"
import { errorBody, publicError } from "../../schemas/Errors.ts"
import { ProcessTimers } from "../Clock.ts"
import { callerBehind } from "../http/Addresses.ts"
import { globalMiddleware } from "../http/GlobalMiddleware.ts"
import { fromApis } from "../http/Routes.ts"
import * as TimeLimit from "../http/TimeLimit.ts"
import { ErrorPages, RateLimiter } from "../Http.ts"
import { operatorPrefix, OperatorRoutes } from "../OperatorRoutes.ts"
import { Settings } from "../Settings.ts"
import { makeLineWriter } from "../telemetry/LineWriter.ts"
import { makeRequestLog } from "../telemetry/RequestLog.ts"
import { Traces } from "../telemetry/Traces.ts"

const everyPath = `${operatorPrefix}*` as const

/** Answered where no credential is set: nobody can be let in, so no route exists. */
const closed = publicError("NOT_FOUND", {
  message: "The operator API is not open here: set admin.token in the config to open it"
})

/** Mounts the operator API on the router of the internal port. Without `admin.token` every route of it is a 404. */
export const mount = Effect.fnUntraced(function*(router: HttpRouter.HttpRouter) {
  const { admin, telemetry } = yield* Settings
  if (admin === undefined) {
    return yield* router.add(
      "*",
      everyPath,
      HttpServerResponse.jsonUnsafe(errorBody(closed, "wrapped", "req_none"), {
        status: closed.status,
        headers: { "cache-control": "no-store" }
      })
    )
  }
  const operator = yield* OperatorRoutes
  yield* operator.router.addGlobalMiddleware(
    globalMiddleware({
      routes: fromApis(operator.apis()),
      rateLimiter: yield* RateLimiter,
      errorPages: yield* ErrorPages,
      timeLimit: TimeLimit.make({ timers: yield* ProcessTimers }),
      logRequest: makeRequestLog(telemetry.requests, yield* makeLineWriter(telemetry, process.stdout.isTTY)),
      traces: yield* Traces,
      // No proxy stands before the internal port, so no header of a request names its caller.
      addressOf: callerBehind([])
    }) as never
  )
  yield* router.add("*", everyPath, operator.router.asHttpEffect() as never)
})
