/** The ledger: what was received and where it is, booked in the commit of each change. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { LedgerApi } from "./api.ts"
import { handlers, preferenceHandlers, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { LedgerRpc } from "./rpc.ts"
import { Ledger } from "./service.ts"

export { accounts, type BookOwner, bookValue, isChainAccount, readAsset } from "./rules.ts"
export { Ledger } from "./service.ts"

export const plugin = Plugin.make({
  name: "ledger",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks] },
  http: LedgerApi,
  rpc: LedgerRpc,
  migrations,
  tables,
  layer: () =>
    Layer.merge(
      HttpApiBuilder.layer(LedgerApi).pipe(Layer.provide(Layer.mergeAll(handlers, preferenceHandlers))),
      rpcHandlers
    ).pipe(
      Layer.provideMerge(Ledger.layer)
    )
})
