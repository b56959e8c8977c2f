/** Where a fulfilment service reports what it was not asked: definitions, and the check of its signature. */
import { Clock, Effect, Layer, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { KeyObject } from "node:crypto"
import { bodyText } from "../../../../runtime/http/Body.ts"
import { errors, jsonText, RateLimiter, RequiresAllSchemes, WrappedErrors } from "../../../../runtime/Http.ts"
import { publicError } from "../../../../schemas/Errors.ts"
import { isUuid, pathId } from "../../../../schemas/Ids.ts"
import type { Environment } from "../../../../schemas/Network.ts"
import { OrderId } from "../../../../schemas/Order.ts"
import { RetailReport } from "../../../../schemas/Retail.ts"
import { Retailers } from "../../plugin.ts"
import { isFresh, isSignedBy } from "./Signature.ts"
import { reportOf } from "./Wire.ts"
import * as Operations from "../../../../runtime/Operations.ts"

/** Checks that the fulfilment service signed this request, before anything of it is looked at. */
export class RetailerSignature extends HttpApiMiddleware.Service<RetailerSignature>()(
  "tillwire/modules/retail/http/RetailerSignature",
  {
    security: {
      retailerSignature: HttpApiSecurity.apiKey({ key: "x-service-signature", in: "header" }).pipe(
        HttpApiSecurity.annotate(
          OpenApi.Description,
          "HMAC-SHA256 by the secret of the fulfilment service; sent with its time."
        )
      ),
      retailerTimestamp: HttpApiSecurity.apiKey({ key: "x-service-timestamp", in: "header" }).pipe(
        HttpApiSecurity.annotate(OpenApi.Description, "Epoch milliseconds of the signature, at most five minutes away.")
      )
    }
  }
) {}

const ReportResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({ order_id: OrderId })
}).annotate({
  identifier: "RetailReportTaken",
  examples: [{ success: true, data: { order_id: OrderId.make("6f1c2d3e-4a5b-4c6d-8e7f-9a0b1c2d3e4f") } }]
})

export class CallbacksGroup extends HttpApiGroup.make("retailerCallbacks").add(
  HttpApiEndpoint.post("report", "/:order_id", {
    params: { order_id: pathId("The order as it was placed") },
    payload: RetailReport,
    success: ReportResponse,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "SIGNATURE_INVALID",
      "ORDER_NOT_FOUND",
      "INVALID_TRANSITION",
      "PAYLOAD_TOO_LARGE",
      "UNSUPPORTED_MEDIA_TYPE",
      "RATE_LIMIT_EXCEEDED",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Report a fact about an order",
    description:
      "For the merchant's fulfilment service. `X-Service-Signature` is the lower-case hexadecimal HMAC-SHA256 of " +
      "`<X-Service-Timestamp>.POST./callbacks/<order_id>.<raw body>`. A fact that is known already changes nothing."
  }))
).prefix("/api/commerce/retailers/callbacks").annotate(RequiresAllSchemes, true)
  .middleware(RetailerSignature).middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Fulfilment callbacks",
    description: "What a merchant's own fulfilment service tells of orders by itself."
  }))
{}

export class CallbacksApi extends HttpApi.make("retailerCallbacks").add(CallbacksGroup) {}

/** The path's last segment, as it was sent: what is signed. */
const targetOf = (url: string): string => `/callbacks/${url.split("?")[0]!.split("/").at(-1)!}`

/** Refuses whatever is not signed by one of `keys` within the last minutes; a caller that guesses is counted. */
export const signatureLayer = (keys: ReadonlyArray<KeyObject>): Layer.Layer<RetailerSignature, never, RateLimiter> =>
  Layer.effect(
    RetailerSignature,
    Effect.gen(function*() {
      const rateLimiter = yield* RateLimiter
      const refuse = (request: HttpServerRequest.HttpServerRequest) =>
        rateLimiter.refuse(request, publicError("SIGNATURE_INVALID"))

      const verify = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
        const { "x-service-signature": signature = "", "x-service-timestamp": timestamp = "" } = request.headers
        if (!isFresh(timestamp, yield* Clock.currentTimeMillis)) return yield* refuse(request)
        const body = yield* bodyText(request)
        const message = { timestamp, method: "POST", target: targetOf(request.originalUrl), body }
        if (!isSignedBy(keys, signature, message)) return yield* refuse(request)
      })

      // Both headers of the reference are one credential.
      const check = <A, E, R>(app: Effect.Effect<A, E, R>) =>
        Effect.andThen(Effect.flatMap(HttpServerRequest.HttpServerRequest, verify), app)
      return RetailerSignature.of({ retailerSignature: check as never, retailerTimestamp: check as never })
    })
  )

/** Hands reports on; they are the truth for orders of `environment` only. */
export const handlers = (environment: Environment) =>
  Operations.group(
    CallbacksApi,
    "retailerCallbacks",
    Effect.fn(function*(group) {
      const retailers = yield* Retailers
      return group.handle(
        "report",
        Effect.fnUntraced(function*({ params: { order_id: orderId }, payload }) {
          if (!isUuid(orderId)) return yield* publicError("ORDER_NOT_FOUND")
          yield* retailers.report({ environment, orderId }, reportOf(payload))
          return jsonText(JSON.stringify({ success: true, data: { order_id: orderId } }))
        })
      )
    })
  )
