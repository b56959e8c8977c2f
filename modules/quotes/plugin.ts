/** Payment quotes: what an invoice costs in one token, at a rate that holds for five minutes. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { TokenPolicies } from "../tokens/plugin.ts"
import { layer } from "./service.ts"
import { QuotesApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations } from "./migrations.ts"
import { renewal } from "./service/QuoteRenewal.ts"

export { quoteEventText, type QuoteRow, type Valuation, valuation } from "./rules.ts"
export { PaymentQuotes } from "./service.ts"
export { QuoteRenewal } from "./service/QuoteRenewal.ts"
export { isActiveToken, isRefused, listedToken, payableToken } from "./service/Routes.ts"

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
