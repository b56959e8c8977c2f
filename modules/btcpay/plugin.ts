/** The calls of BTCPay Server's Greenfield API that plugins of shops make, so that such shops can use Tillwire. */
import { Effect, Layer, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { Webhooks } from "../../runtime/Webhooks.ts"
import { Merchants, PayorSessions } from "../auth/plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { InvoiceTerms } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { TokenPolicies } from "../tokens/plugin.ts"
import { FormatEndpoints } from "../webhooks/plugin.ts"
import { browserRoutes } from "./handlers/Browser.ts"
import { shopRoutes } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { webhookFormat } from "./service/Webhooks.ts"
import { ShopInvoices } from "./service.ts"
import { Currencies } from "./service/Currencies.ts"
import { FiatRates } from "./service/FiatRates.ts"
import { ShopRefunds } from "./service/Refunds.ts"

export { type FiatRate, FiatRates, type FiatSource, maximumRateAgeSeconds } from "./service/FiatRates.ts"

const Options = Schema.Struct({
  /** The path of the API: the server URL of a shop is `http.publicUrl` and this path. Default `/btcpay`. */
  path: Schema.optionalKey(Schema.String.check(
    Schema.isPattern(/^(\/[a-z0-9-]{1,32}){1,3}$/, { message: "Expected a path such as /btcpay, in lower case" })
  )),
  /** Calls of one key in a minute. One order of PrestaShop makes about 25. Default 600. */
  callsPerMinute: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))
})

const defaultPath = "/btcpay"

/** Enough for 24 orders of PrestaShop in a minute (about 25 calls each) or 120 of WooCommerce (5 each). */
const defaultCallsPerMinute = 600

export const plugin = Plugin.make({
  name: "btcpay",
  slot: "modules",
  needs: {
    auth: [Merchants, PayorSessions],
    invoices: [Invoices, InvoiceHooks],
    payments: InvoiceTerms,
    quotes: PaymentQuotes,
    settings: MerchantSettings,
    tokens: TokenPolicies,
    webhooks: FormatEndpoints,
    checkout: []
  },
  options: Options,
  migrations,
  tables,
  layer: ({ callsPerMinute = defaultCallsPerMinute, path = defaultPath }) =>
    Layer.mergeAll(
      shopRoutes(path, callsPerMinute),
      browserRoutes(path),
      Layer.effectDiscard(Effect.flatMap(Webhooks, (webhooks) => webhooks.registerFormat(webhookFormat)))
    ).pipe(
      Layer.provide(Layer.merge(Currencies.layer, ShopRefunds.layer)),
      Layer.provide(ShopInvoices.layer),
      Layer.provideMerge(FiatRates.layer)
    )
})
