/**
 * Settlement: follows the money of every counted payment to its merchant; drivers are in `modules/settlement/drivers/`.
 */
import { Layer } from "effect"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { Settlements } from "./service.ts"
import { rpcHandlers } from "./handlers.ts"
import { operatorHandlers } from "./handlers/Operator.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorSettlementsApi } from "./operator.ts"
import { SettlementsRpc } from "./rpc.ts"

export {
  isSettled,
  type PaymentReport,
  type ReportResult,
  type SettlementFact,
  type SettlementReport,
  type SettlementState
} from "./rules.ts"
export {
  DriverOptions,
  environmentsOf,
  type SettlementDriver,
  Settlements,
  SettlementUnavailable,
  type UnsettledPayment
} from "./service.ts"

export const plugin = Plugin.make({
  name: "settlement",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks] },
  operator: OperatorSettlementsApi,
  rpc: SettlementsRpc,
  migrations,
  tables,
  layer: () =>
    Layer.merge(rpcHandlers, operatorRoutes(OperatorSettlementsApi, operatorHandlers)).pipe(
      Layer.provideMerge(Settlements.layer)
    )
})
