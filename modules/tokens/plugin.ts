/** Supported tokens: the plain list of contract §4.3. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { TokensApi } from "./api.ts"
import { handlers } from "./handlers.ts"

export const plugin = Plugin.make({
  name: "tokens",
  slot: "modules",
  http: TokensApi,
  layer: () => HttpApiBuilder.layer(TokensApi).pipe(Layer.provide(handlers))
})
