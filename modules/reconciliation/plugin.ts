/** Reconciliation: chain, books and events compared, months closed for good, adjustments. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Ledger } from "../ledger/plugin.ts"
import { ReconciliationApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { ReconciliationRpc } from "./rpc.ts"
import { confirmedPayments } from "./rules.ts"
import { Reconciliation } from "./service.ts"

export { Reconciliation } from "./service.ts"

export const plugin = Plugin.make({
  name: "reconciliation",
  slot: "modules",
  needs: { ledger: Ledger },
  http: ReconciliationApi,
  rpc: ReconciliationRpc,
  migrations,
  tables,
  rollups: [confirmedPayments],
  layer: () =>
    Layer.mergeAll(HttpApiBuilder.layer(ReconciliationApi).pipe(Layer.provide(handlers)), rpcHandlers).pipe(
      Layer.provideMerge(Reconciliation.layer)
    )
})
