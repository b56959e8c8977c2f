/** The ledger: what was received and where it is, booked in the commit of each change. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { LedgerApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { Ledger } from "./service.ts"

export { Ledger } from "./service.ts"

export const plugin = Plugin.make({
  name: "ledger",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks] },
  http: LedgerApi,
  migrations,
  tables,
  layer: () => HttpApiBuilder.layer(LedgerApi).pipe(Layer.provide(handlers), Layer.provideMerge(Ledger.layer))
})
