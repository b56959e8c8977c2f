/** Payment links: pages by which anybody pays a merchant, who needs no program for it. */
import { Layer, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { ServedLinksApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { pageHandlers } from "./handlers/Pages.ts"
import { migrations, tables } from "./migrations.ts"
import { linkInvoices } from "./rules.ts"
import { PaymentLinks, pruneRegularly } from "./service.ts"

const Options = Schema.Struct({
  /** Invoices that one address may begin at payment links in an hour; an IPv6 address counts as its /64,
   * whose /56 and /48 may begin 4 and 16 times as many. Default 20. */
  invoicesPerHour: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))
})

/** More payments than a person makes, and as many as an office behind one address may need. */
const defaultInvoicesPerHour = 20

export const plugin = Plugin.make({
  name: "links",
  slot: "modules",
  // The pages are made of the payment page's parts, and lead to it.
  needs: { auth: PayorSessions, invoices: Invoices, settings: MerchantSettings, checkout: [] },
  options: Options,
  http: ServedLinksApi,
  migrations,
  tables,
  rollups: [linkInvoices],
  layer: ({ invoicesPerHour = defaultInvoicesPerHour }) =>
    Layer.mergeAll(
      HttpApiBuilder.layer(ServedLinksApi).pipe(
        Layer.provide([handlers, pageHandlers]),
        Layer.provide(PaymentLinks.layerOf(invoicesPerHour))
      ),
      Layer.effectDiscard(pruneRegularly)
    )
})
