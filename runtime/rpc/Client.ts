/** How another process calls this one: the exported RpcGroup of a module, over HTTP. */
import { Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { rpcPath } from "./Server.ts"

export interface RpcAddress {
  /** Base of the internal port, e.g. `http://127.0.0.1:8081`. */
  readonly url: string
  /** `rpc.token` of the deployment. */
  readonly token: Redacted.Redacted
}

/**
 * The protocol for `RpcClient.make`. A wrong credential or an unreachable port fails the call with `RpcClientError`.
 *
 * @example
 * const client = yield* RpcClient.make(InvoicesRpc)
 * const found = yield* client["invoices.get"]({ merchant_id, invoice_id })
 * // …, Effect.provide(InternalRpc.layer({ url: "http://127.0.0.1:8081", token }))
 */
export const layer = ({ token, url }: RpcAddress): Layer.Layer<RpcClient.Protocol> =>
  RpcClient.layerProtocolHttp({
    url: new URL(rpcPath, url).href,
    transformClient: (client) =>
      HttpClient.mapRequest(client, HttpClientRequest.bearerToken(token)).pipe(
        HttpClient.filterStatusOk
      ) as typeof client
  }).pipe(Layer.provide([RpcSerialization.layerNdjson, FetchHttpClient.layer]))
