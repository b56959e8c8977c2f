/** Everything behind `Http.ts`, and the door in front of every route. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpApi } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import type { Commit } from "../Commit.ts"
import {
  type Anonymous,
  type Credentials,
  Drawings,
  type Flat,
  type Idempotent,
  type IdempotencyRequired,
  type MerchantAuth,
  type Revocations,
  Throttle,
  type Wrapped
} from "../Http.ts"
import type { Leases } from "../Leases.ts"
import type { Secrets } from "../Secrets.ts"
import type { Settings } from "../Settings.ts"
import { credentials, merchantAuth } from "./Authentication.ts"
import { door } from "./Door.ts"
import * as Drawn from "./Drawings.ts"
import * as Families from "./Families.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Ended from "./Revocations.ts"
import { fromApis } from "./Routes.ts"
import * as Throttling from "./Throttle.ts"

/**
 * The HTTP half of the kernel for the plugins whose `http` are `apis`: the middlewares their groups name, the registry
 * of credentials, the limits of callers, the pages that modules draw, and the global middleware on the router (request
 * ids, versions, 404, 405, 413, 415, 500).
 *
 * Serve the router with `disableLogger: true`: the default logger costs a span and a line per request.
 */
export const layer = (apis: ReadonlyArray<HttpApi.Constraint>): Layer.Layer<
  Anonymous | Credentials | Drawings | Flat | Wrapped | MerchantAuth | Idempotent | IdempotencyRequired | Revocations | Throttle,
  never,
  HttpRouter.HttpRouter | SqlClient.SqlClient | Commit | Leases | Secrets | Settings
> => {
  const global = HttpRouter.use((router) =>
    Effect.flatMap(Effect.all([Throttle, Drawings]), ([throttle, drawings]) =>
      router.addGlobalMiddleware(door(fromApis(apis), throttle, drawings) as never))
  )
  return Layer.mergeAll(
    Families.layer,
    Idempotency.layer,
    Ended.layer,
    Layer.provideMerge(merchantAuth, credentials),
    global as Layer.Layer<never, never, HttpRouter.HttpRouter | Throttle | Drawings>
  ).pipe(Layer.provideMerge(Layer.merge(Throttling.layer, Drawn.layer)))
}
