/**
 * The operator API: routes below `/admin/v1/` on the internal port, behind the credential `admin.token`
 * (modules/docs/reference/operator-api.md). Each feature brings its own; the definitions that are obeyed in front of
 * them are those of the public routes ({@link Operations}), with {@link OperatorAuth} in the place of a merchant's.
 */
import { Context, Effect, Layer, Scope } from "effect"
import { type Etag, type HttpPlatform, HttpRouter } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup, HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { FileSystem, Path } from "effect"
import type { AuditAct, AuditLog } from "./AuditLog.ts"
import type { Write } from "./Commit.ts"
import { type ErrorCode, type PublicError, publicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"
import { errors, RequestInfo } from "./Http.ts"
import type { SettingsValue } from "./Settings.ts"

/** Where every route of an operator begins. */
export const operatorPrefix = "/admin/"

/** Who calls a route of the operator API. */
export class CurrentOperator extends Context.Service<CurrentOperator, {
  /**
   * For the audit log: `operator:<fingerprint>` of the credential, and `operator:<fingerprint>:<name>` where the call
   * names who acts.
   */
  readonly actor: string
}>()("tillwire/runtime/CurrentOperator") {}

/** Requires `Authorization: Bearer <admin.token>`, and provides {@link CurrentOperator}. */
export class OperatorAuth extends HttpApiMiddleware.Service<OperatorAuth, { provides: CurrentOperator }>()(
  "tillwire/runtime/OperatorAuth",
  { security: { adminToken: HttpApiSecurity.bearer } }
) {}

/** The router of the internal port's operator routes; `boot.ts` serves it after the last plugin. */
export class OperatorRoutes extends Context.Service<OperatorRoutes, {
  readonly router: HttpRouter.HttpRouter
  /** Says that an API's routes are on the router, for as long as the scope lives. */
  readonly declare: (api: HttpApi.Constraint) => Effect.Effect<void, never, Scope.Scope>
  readonly apis: () => ReadonlyArray<HttpApi.Constraint>
}>()("tillwire/runtime/OperatorRoutes") {}

export const layer: Layer.Layer<OperatorRoutes> = Layer.effect(
  OperatorRoutes,
  Effect.gen(function*() {
    const apis: Array<HttpApi.Constraint> = []
    return OperatorRoutes.of({
      router: yield* HttpRouter.make,
      apis: () => apis,
      declare: (api) =>
        Effect.acquireRelease(
          Effect.sync(() => void apis.push(api)),
          () => Effect.sync(() => void apis.splice(apis.indexOf(api), 1))
        )
    })
  })
)

/**
 * A layer that serves `api` to operators: what a plugin merges into its own. `handlers` are those of its groups, by
 * `Operations.group`.
 */
export const operatorRoutes = <Id extends string, Groups extends HttpApiGroup.Constraint, E, R>(
  api: HttpApi.HttpApi<Id, Groups>,
  handlers: Layer.Layer<HttpApiGroup.ToService<Id, Groups>, E, R>
): Layer.Layer<
  never,
  E,
  R | OperatorRoutes | Etag.Generator | FileSystem.FileSystem | HttpPlatform.HttpPlatform | Path.Path
> => {
  const router = Layer.effect(HttpRouter.HttpRouter, Effect.map(OperatorRoutes, (routes) => routes.router))
  const declared = Layer.effectDiscard(
    Effect.flatMap(OperatorRoutes, (routes) => routes.declare(api as unknown as HttpApi.Constraint))
  )
  return Layer.merge(
    declared,
    HttpApiBuilder.layer(api).pipe(Layer.provide(handlers), Layer.provide(router)) as never
  )
}

/** An act of an operator, without who it is and by which request. */
export type OperatorAct = Omit<AuditAct, "actor" | "requestId">

/** The rows that keep an act of the operator who calls. They go into the commit of the act. */
export const operatorWrites = (
  auditLog: AuditLog["Service"],
  act: OperatorAct
): Effect.Effect<ReadonlyArray<Write>, never, CurrentOperator> =>
  Effect.gen(function*() {
    const { actor } = yield* CurrentOperator
    const { requestId } = yield* RequestInfo
    return yield* auditLog.writesOf({ ...act, actor, requestId })
  })

/** The errors of an operator's route: those that every one has, and its own. */
export const operatorErrors = (...codes: ReadonlyArray<ErrorCode>) =>
  errors(
    "wrapped",
    "UNAUTHORIZED",
    "VALIDATION_ERROR",
    ...codes,
    "RATE_LIMIT_EXCEEDED",
    "INTERNAL_ERROR",
    "SERVICE_UNAVAILABLE"
  )

/** Fails with `MAINNET_NOT_ENABLED` or `DEVNET_NOT_ENABLED` where this deployment does not serve the environment. */
export const requireServed = (
  { environments }: Pick<SettingsValue, "environments">,
  environment: Environment
): Effect.Effect<void, PublicError> =>
  environments.includes(environment)
    ? Effect.void
    : Effect.fail(
      publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED", { param: "environment" })
    )
