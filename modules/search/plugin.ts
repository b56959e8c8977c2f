/** One field for whatever somebody has in hand: an id, a transaction, an address, an amount, a customer. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { SearchApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations } from "./migrations.ts"

export const plugin = Plugin.make({
  name: "search",
  slot: "modules",
  needs: { invoices: Invoices },
  http: SearchApi,
  migrations,
  layer: () => HttpApiBuilder.layer(SearchApi).pipe(Layer.provide(handlers))
})
