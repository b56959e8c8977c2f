/**
 * A call of an operation, from the router's match to its answer: what the definition asks for, one after the other, in
 * the fiber of the request. What every request passes before and after is `GlobalMiddleware.ts`'s.
 */
import { Context, Effect, Layer, Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql"
import type { AuditLog } from "../AuditLog.ts"
import type { Commit } from "../Commit.ts"
import {
  type Credentials,
  CurrentPrincipal,
  type Grant,
  Idempotency,
  RateLimiter,
  type ReplyRenderers,
  RequestInfo
} from "../Http.ts"
import type { Leases } from "../Leases.ts"
import { Operations } from "../Operations.ts"
import { CurrentOperator } from "../OperatorRoutes.ts"
import type { Act } from "./Act.ts"
import type { Secrets } from "../Secrets.ts"
import type { Settings } from "../Settings.ts"
import { admit } from "./Admission.ts"
import { makeLetMerchantIn } from "./Authentication.ts"
import { guardBody, hasBody } from "./Body.ts"
import { makeAnswerOnce } from "./Idempotency.ts"
import { type Call, type Operation, readOperation } from "./Operation.ts"
import { makeLetOperatorIn } from "./OperatorAccess.ts"

type RequestServices =
  | HttpServerRequest.HttpServerRequest
  | HttpServerRequest.ParsedSearchParams
  | HttpRouter.RouteContext
  | Scope.Scope
type Served = Effect.Effect<HttpServerResponse.HttpServerResponse>

/**
 * The context of a handler: the services of its group, and those of the request. Adding the few of the request costs
 * less than the other way round.
 */
const handlerContext = (services: Context.Context<never>, request: Context.Context<RequestServices>) => {
  const copy = <I, S>(context: Context.Context<never>, key: Context.Key<I & RequestServices, S>) =>
    Context.add(context, key, Context.getUnsafe(request, key)) as Context.Context<never>
  let context = copy(services, HttpServerRequest.HttpServerRequest)
  context = copy(context, HttpServerRequest.ParsedSearchParams)
  context = copy(context, HttpRouter.RouteContext)
  context = copy(context, Scope.Scope)
  return Context.add(context, RequestInfo, Context.get(request, RequestInfo))
}

/** `act` with one more service. Nothing restores the context, because the fiber serves this request and no other. */
const withService = <I, S>(act: Served, key: Context.Key<I, S>, service: S): Served =>
  Effect.withFiber((fiber) => {
    fiber.setContext(Context.add(fiber.context, key, service))
    return act
  })

/** Implements {@link Operations}. */
export const layer: Layer.Layer<
  Operations,
  never,
  AuditLog | Credentials | RateLimiter | ReplyRenderers | Settings | Commit | Secrets | Leases | SqlClient.SqlClient
> = Layer.effect(
  Operations,
  Effect.gen(function*() {
    const letMerchantIn = yield* makeLetMerchantIn
    const letOperatorIn = yield* makeLetOperatorIn
    const answerOnce = yield* makeAnswerOnce
    const rateLimiter = yield* RateLimiter

    /** `act` behind the middlewares of plugins. */
    const withPluginChecks = ({ operation: { called, checks } }: Call, act: Served): Served =>
      checks.reduce((inner, check) => check(inner, called) as Served, act)

    /** The checks of plugins stand before a stored reply too: it is given to nobody whom they refuse. */
    const asMerchant = (call: Call, act: Served): Served =>
      letMerchantIn(call, (caller: Grant) => {
        call.facts.merchantId = caller.merchantId
        const answer = call.operation.idempotency === "none"
          ? act
          : answerOnce(call, caller, (idempotency) => withService(act, Idempotency, idempotency))
        return withService(withPluginChecks(call, answer as Served), CurrentPrincipal, caller)
      }) as Served

    const asOperator = (call: Call, act: Served): Served =>
      Effect.flatMap(
        letOperatorIn(call),
        (operator) => withService(withPluginChecks(call, act), CurrentOperator, operator)
      ) as Served

    const asAnybody = (call: Call, act: Served): Served => {
      const { caller, checks } = call.operation
      const admission = Effect.suspend(() => admit(call))
      if (typeof caller === "object") {
        const countByAddress = rateLimiter.address(call.request, caller.addressLimit)
        return Effect.andThen(Effect.andThen(countByAddress, admission), withPluginChecks(call, act)) as Served
      }
      return checks.length === 0 ? act : withPluginChecks(call, Effect.andThen(admission, act) as Served)
    }

    const serve = (operation: Operation, act: Served, services: Context.Context<never>): Served =>
      Effect.withFiber((fiber) => {
        const context = fiber.context as Context.Context<RequestServices>
        const request = Context.get(context, HttpServerRequest.HttpServerRequest)
        const query = Context.get(context, HttpServerRequest.ParsedSearchParams)
        const facts = Context.get(context, RequestInfo)
        const call: Call = { operation, request, query, facts }
        facts.errorForm = operation.errorForm
        fiber.setContext(handlerContext(services, context))
        if (operation.readsRequestText && hasBody(request)) guardBody(request)
        if (operation.caller === "merchant") return asMerchant(call, act)
        return operation.caller === "operator" ? asOperator(call, act) : asAnybody(call, act)
      })

    return Operations.of({
      serve: (called, act: Act, services) => serve(readOperation(called, services), act as Served, services)
    })
  })
)
