/** Orders: retailer goods, paid by one invoice and placed only once its money has settled. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Retailers } from "../retail/plugin.ts"
import { Settlements } from "../settlement/plugin.ts"
import { Orders } from "./service.ts"
import { CommerceApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { orderStates } from "./machine.ts"
import { migrations, tables } from "./migrations.ts"
import { OrdersRpc } from "./rpc.ts"

export {
  canSetRefundDestination,
  type Destination,
  isEnded,
  type NewOrder,
  type OrderAmounts,
  type OrderFact,
  orderObject,
  type OrderState
} from "./machine.ts"
export { type OrderChangeExtras, type OrderChangeResult, Orders } from "./service.ts"

export const plugin = Plugin.make({
  name: "commerce",
  slot: "modules",
  // Nothing is placed before something settles.
  needs: { invoices: [Invoices, InvoiceHooks], refunds: Refunds, retail: Retailers, settlement: Settlements },
  http: CommerceApi,
  rpc: OrdersRpc,
  migrations,
  tables,
  rollups: [orderStates],
  layer: () =>
    Layer.merge(HttpApiBuilder.layer(CommerceApi).pipe(Layer.provide(handlers)), rpcHandlers).pipe(
      Layer.provideMerge(Orders.layer)
    )
})
