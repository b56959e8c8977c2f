/** The HTTP client of the kernel, for price sources, nodes of networks and services of merchants. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer } from "effect"
import { HttpClient, type HttpClientRequest } from "effect/http"

/** undici's client, loaded and made with the first request: an idle service does without its 10 MB. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const client = yield* Effect.cached(
      Effect.map(Layer.buildWithScope(NodeHttpClient.layerUndici, scope), Context.get(HttpClient.HttpClient))
    )
    return HttpClient.makeWith(
      (request) => Effect.flatMap(Effect.zip(client, request), ([{ execute }, each]) => execute(each)),
      Effect.succeed<HttpClientRequest.HttpClientRequest>
    )
  })
)
