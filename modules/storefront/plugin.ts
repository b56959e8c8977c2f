/** A shop's carts, and its customers' way from a price to an order. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { Orders } from "../commerce/plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Retailers } from "../retail/plugin.ts"
import { Carts } from "./actor.ts"
import { Checkouts } from "./service.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"
import { pruneRegularly } from "./service/Pruning.ts"
import { StorefrontApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"

export const plugin = Plugin.make({
  name: "storefront",
  slot: "modules",
  needs: { auth: PayorSessions, invoices: Invoices, refunds: Refunds, retail: Retailers, commerce: Orders },
  http: StorefrontApi,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      HttpApiBuilder.layer(StorefrontApi).pipe(
        Layer.provide(handlers),
        Layer.provide(Layer.merge(Carts.layer, Checkouts.layer))
      ),
      Layer.effectDiscard(pruneRegularly),
      Layer.effectDiscard(registerPersonalRecords)
    )
})
