/** Public health of each network. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { NetworksApi } from "./api.ts"
import { handlers } from "./handlers.ts"

export const plugin = Plugin.make({
  name: "networks",
  slot: "modules",
  http: NetworksApi,
  layer: () => HttpApiBuilder.layer(NetworksApi).pipe(Layer.provide(handlers))
})
