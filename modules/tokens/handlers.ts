/** Wire <-> catalogue. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { requireMerchantScope } from "../../runtime/Http.ts"
import { Quotes } from "../../runtime/Quotes.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { TokensApi } from "./api.ts"
import { tokenList } from "./machine.ts"

export const handlers = HttpApiBuilder.group(TokensApi, "tokens", Effect.fn(function*(handlers) {
  const catalog = yield* TokenCatalog
  const quotes = yield* Quotes
  return handlers.handle("list", ({ query }) =>
    Effect.map(requireMerchantScope, (principal) => {
      const environment = query.environment ?? principal.environment
      return tokenList(environment, catalog.list(environment), quotes.latest)
    }))
}))
