/** The events API and the internal event stream. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { EventsApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { EventsRpc } from "./rpc.ts"

export const plugin = Plugin.make({
  name: "events",
  slot: "modules",
  http: EventsApi,
  rpc: EventsRpc,
  layer: () =>
    Layer.merge(
      HttpApiBuilder.layer(EventsApi).pipe(Layer.provide(handlers)),
      Rpc.handlers(EventsRpc, rpcHandlers)
    )
})
