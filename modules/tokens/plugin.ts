/** Supported tokens: the list and the search of contract §4.3 and §4.4, and which of them a merchant accepts. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { TokenPolicies } from "./actor.ts"
import { TokensApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"

export { TokenPolicies } from "./actor.ts"
export { isBlocked, type PolicyState } from "./machine.ts"

export const plugin = Plugin.make({
  name: "tokens",
  slot: "modules",
  http: TokensApi,
  migrations,
  tables,
  layer: () =>
    HttpApiBuilder.layer(TokensApi).pipe(Layer.provide(handlers), Layer.provideMerge(TokenPolicies.layer))
})
