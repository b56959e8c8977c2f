/** Webhook endpoints a merchant manages; the runtime delivers to them. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Deliveries } from "./actor.ts"
import { WebhooksApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { WebhooksRpc } from "./rpc.ts"

export const plugin = Plugin.make({
  name: "webhooks",
  slot: "modules",
  http: WebhooksApi,
  rpc: WebhooksRpc,
  migrations,
  tables,
  layer: () =>
    Layer.merge(HttpApiBuilder.layer(WebhooksApi).pipe(Layer.provide(handlers)), rpcHandlers).pipe(
      Layer.provide(Deliveries.layer)
    )
})
