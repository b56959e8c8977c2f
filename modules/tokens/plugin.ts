/**
 * Supported tokens: the list and the search (modules/docs/reference/tokens.md#the-list), and which of them a merchant
 * accepts.
 */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { TokenPolicies } from "./actor.ts"
import { ServedTokensApi } from "./api.ts"
import { badgeHandlers, handlers } from "./handlers.ts"
import { operatorHandlers } from "./handlers/Operator.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorTokensApi } from "./operator.ts"

export { TokenPolicies } from "./actor.ts"
export { isBlocked, type PolicyState, requiresMemo } from "./rules.ts"

export const plugin = Plugin.make({
  name: "tokens",
  slot: "modules",
  http: ServedTokensApi,
  operator: OperatorTokensApi,
  migrations,
  tables,
  layer: () =>
    Layer.merge(
      HttpApiBuilder.layer(ServedTokensApi).pipe(Layer.provide(Layer.merge(handlers, badgeHandlers))),
      operatorRoutes(OperatorTokensApi, operatorHandlers)
    ).pipe(Layer.provideMerge(TokenPolicies.layer))
})
