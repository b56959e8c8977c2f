/** `/openapi.json`: the document of what this deployment serves, made at the first request and kept compressed. */
import { Effect } from "effect"
import { type HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpApi } from "effect/http-api"
import { RateLimiter } from "../Http.ts"
import { makeAsset, revalidate, serve } from "../http/Asset.ts"
import { runInSlices } from "../http/Preparation.ts"
import { documentSteps, publicScope, textSteps } from "./Document.ts"

/** Any page may read the document: tools that draw it run elsewhere. */
const headers = { "access-control-allow-origin": "*" }

/** Mounts the route. */
export const mount = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  apis: ReadonlyArray<HttpApi.Constraint>,
  publicUrl: string
) {
  const asset = yield* Effect.cached(
    Effect.suspend(() => runInSlices(documentSteps(apis, publicScope(publicUrl)))).pipe(
      Effect.flatMap((document) => runInSlices(textSteps(document))),
      Effect.flatMap((text) => makeAsset(text, "application/json"))
    )
  )
  const rateLimiter = yield* RateLimiter
  yield* router.add(
    "GET",
    "/openapi.json",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      rateLimiter.address(request, "document").pipe(
        Effect.andThen(asset),
        Effect.flatMap((document) => serve(document, request, revalidate, headers))
      ))
  )
})
