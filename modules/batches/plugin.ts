/** Batches: refunds, payouts and collects that the merchant's own wallet signs. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Payments } from "../payments/plugin.ts"
import { Approvals, Refunds } from "../refunds/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { BatchesApi } from "./api.ts"
import { handlers, rpcHandlers, simulationHandlers } from "./handlers.ts"
import { collectableHandlers } from "./handlers/Collectable.ts"
import { migrations, tables } from "./migrations.ts"
import { BatchesRpc } from "./rpc.ts"
import { Batches } from "./service.ts"

export { Batches } from "./service.ts"

export const plugin = Plugin.make({
  name: "batches",
  slot: "modules",
  needs: { invoices: Invoices, payments: Payments, refunds: [Refunds, Approvals], settings: MerchantSettings },
  http: BatchesApi,
  rpc: BatchesRpc,
  migrations,
  tables,
  layer: () =>
    Layer.merge(
      HttpApiBuilder.layer(BatchesApi).pipe(
        Layer.provide(Layer.mergeAll(handlers, simulationHandlers, collectableHandlers))
      ),
      rpcHandlers
    ).pipe(Layer.provideMerge(Batches.layer))
})
