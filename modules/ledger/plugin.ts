/** The ledger: what was received and where it is, booked in the commit of each change. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { LedgerApi } from "./api.ts"
import { handlers, preferenceHandlers, rpcHandlers } from "./handlers.ts"
import { operatorHandlers } from "./handlers/Operator.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorLedgerApi } from "./operator.ts"
import { LedgerRpc } from "./rpc.ts"
import { Ledger } from "./service.ts"

export { accounts, type BookOwner, bookValue, isChainAccount, readAsset } from "./rules.ts"
export { Ledger } from "./service.ts"

export const plugin = Plugin.make({
  name: "ledger",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks] },
  http: LedgerApi,
  operator: OperatorLedgerApi,
  rpc: LedgerRpc,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      HttpApiBuilder.layer(LedgerApi).pipe(Layer.provide(Layer.mergeAll(handlers, preferenceHandlers))),
      operatorRoutes(OperatorLedgerApi, operatorHandlers),
      rpcHandlers
    ).pipe(
      Layer.provideMerge(Ledger.layer)
    )
})
