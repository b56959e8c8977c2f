/** Everything behind `Http.ts`, and the global middleware in front of every route. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpApi } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import type { AuditLog } from "../AuditLog.ts"
import { ProcessTimers } from "../Clock.ts"
import type { Commit } from "../Commit.ts"
import { type Credentials, ErrorPages, RateLimiter, type ReplyRenderers, type Revocations } from "../Http.ts"
import type { Leases } from "../Leases.ts"
import * as LocalCallsLayer from "../LocalCalls.ts"
import type { Operations } from "../Operations.ts"
import * as OperatorRoutesLayer from "../OperatorRoutes.ts"
import type { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { makeLineWriter } from "../telemetry/LineWriter.ts"
import { makeRequestLog } from "../telemetry/RequestLog.ts"
import { Traces } from "../telemetry/Traces.ts"
import { callerBehind } from "./Addresses.ts"
import { credentials } from "./Authentication.ts"
import * as Calls from "./Calls.ts"
import { globalMiddleware } from "./GlobalMiddleware.ts"
import * as ErrorPagesLayer from "./ErrorPages.ts"
import * as ReplyRenderersLayer from "./ReplyRenderers.ts"
import * as RevocationsLayer from "./Revocations.ts"
import { fromApis, routerConfig } from "./Routes.ts"
import * as RateLimiterLayer from "./RateLimiter.ts"
import * as TimeLimit from "./TimeLimit.ts"

/**
 * The HTTP half of the kernel for the plugins whose `http` are `apis`: what serves their operations, the registry of
 * credentials, the limits of callers, the error pages that modules render, and the global middleware on the router
 * (request ids, versions, 404, 405, 413, 415, 500). `NodeServer.ts` answers requests with the router.
 */
export const layer = (apis: ReadonlyArray<HttpApi.Constraint>): Layer.Layer<
  | Credentials
  | ErrorPages
  | LocalCallsLayer.LocalCalls
  | Operations
  | OperatorRoutesLayer.OperatorRoutes
  | ReplyRenderers
  | Revocations
  | RateLimiter,
  never,
  AuditLog | HttpRouter.HttpRouter | SqlClient.SqlClient | Commit | Leases | Secrets | Settings
> => {
  const global = HttpRouter.use((router) =>
    Effect.gen(function*() {
      const { http, telemetry } = yield* Settings
      yield* router.addGlobalMiddleware(
        globalMiddleware({
          routes: fromApis(apis),
          rateLimiter: yield* RateLimiter,
          errorPages: yield* ErrorPages,
          timeLimit: TimeLimit.make({ timers: yield* ProcessTimers }),
          logRequest: makeRequestLog(telemetry.requests, yield* makeLineWriter(telemetry, process.stdout.isTTY)),
          traces: yield* Traces,
          addressOf: callerBehind(http.trustProxy)
        }) as never
      )
    })
  )
  return Layer.mergeAll(
    RevocationsLayer.layer,
    Layer.provide(OperatorRoutesLayer.layer, routerConfig),
    LocalCallsLayer.layer(fromApis(apis)),
    Layer.provideMerge(Calls.layer, credentials),
    global as Layer.Layer<never, never, HttpRouter.HttpRouter | RateLimiter | ErrorPages | Settings>
  ).pipe(Layer.provideMerge(Layer.mergeAll(RateLimiterLayer.layer, ErrorPagesLayer.layer, ReplyRenderersLayer.layer)))
}
