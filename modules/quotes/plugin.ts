/** Payment quotes: what an invoice costs in one token, at a rate that holds for five minutes. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { TokenPolicies } from "../tokens/plugin.ts"
import { layer, renewal } from "./service.ts"
import { QuotesApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations } from "./migrations.ts"

export { quoteEventText, type QuoteRow, type Valuation, valuation } from "./rules.ts"
export { isRefused, payableToken, PaymentQuotes, QuoteRenewal } from "./service.ts"

export const plugin = Plugin.make({
  name: "quotes",
  slot: "modules",
  needs: { invoices: Invoices, tokens: TokenPolicies },
  http: QuotesApi,
  migrations,
  tables: ["quotes"],
  layer: () =>
    HttpApiBuilder.layer(QuotesApi).pipe(
      Layer.provide(handlers),
      Layer.provideMerge(renewal),
      Layer.provideMerge(layer)
    )
})
