/** The events of a merchant over websockets, and the tickets that open them for pages. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { pruneTickets, Tickets } from "./service.ts"
import { StreamsApi } from "./api.ts"
import { handlers, socketRoutes } from "./handlers.ts"
import { migrations } from "./migrations.ts"

export const plugin = Plugin.make({
  name: "streams",
  slot: "modules",
  http: StreamsApi,
  migrations,
  layer: () =>
    Layer.mergeAll(
      HttpApiBuilder.layer(StreamsApi).pipe(Layer.provide(handlers)),
      socketRoutes,
      Layer.effectDiscard(pruneTickets)
    ).pipe(Layer.provide(Tickets.layer))
})
