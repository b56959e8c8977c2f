/** Orders: retailer goods, paid by one invoice and placed only once its money has settled. */
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceCompanions, Invoices } from "../invoices/plugin.ts"
import { Retailers } from "../retail/plugin.ts"
import { Orders } from "./actor.ts"
import { orderStates } from "./machine.ts"
import { migrations, tables } from "./migrations.ts"

export { type ChangedOrder, type More, Orders } from "./actor.ts"
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

export const plugin = Plugin.make({
  name: "commerce",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceCompanions], retail: Retailers },
  migrations,
  tables,
  rollups: [orderStates],
  layer: () => Orders.layer
})
