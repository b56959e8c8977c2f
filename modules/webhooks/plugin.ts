/** Webhook endpoints a merchant manages; the runtime delivers to them. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { Deliveries } from "./actor.ts"
import { WebhooksApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { operatorHandlers } from "./handlers/Operator.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorWebhooksApi } from "./operator.ts"
import { WebhooksRpc } from "./rpc.ts"
import { FormatEndpoints } from "./actor/FormatEndpoints.ts"

export { type FormatEndpoint, FormatEndpoints } from "./actor/FormatEndpoints.ts"

export const plugin = Plugin.make({
  name: "webhooks",
  slot: "modules",
  http: WebhooksApi,
  operator: OperatorWebhooksApi,
  rpc: WebhooksRpc,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      HttpApiBuilder.layer(WebhooksApi).pipe(Layer.provide(handlers)),
      operatorRoutes(OperatorWebhooksApi, operatorHandlers),
      rpcHandlers
    ).pipe(Layer.provide(Deliveries.layer), Layer.provideMerge(FormatEndpoints.layer))
})
