/** Settlement: follows the money of every counted payment to its merchant; drivers are in `modules/settlements/`. */
import { Layer } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceCompanions, Invoices } from "../invoices/plugin.ts"
import { Settlements } from "./actor.ts"
import { rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { SettlementsRpc } from "./rpc.ts"

export {
  DriverOptions,
  environmentsOf,
  type SettlementDriver,
  Settlements,
  SettlementUnavailable,
  type Unsettled
} from "./actor.ts"
export {
  isSettled,
  type PaymentReport,
  type Reported,
  type SettlementReport,
  type SettlementState,
  type SettlementTold
} from "./machine.ts"

export const plugin = Plugin.make({
  name: "settlement",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceCompanions] },
  rpc: SettlementsRpc,
  migrations,
  tables,
  layer: () => rpcHandlers.pipe(Layer.provideMerge(Settlements.layer))
})
