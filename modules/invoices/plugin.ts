/** Invoices: create, read, list, cancel, expire; the machine that payments move. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { Invoices } from "./actor.ts"
import { InvoicesApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { invoiceStates } from "./machine.ts"
import { migrations, tables } from "./migrations.ts"
import { InvoicesRpc } from "./rpc.ts"

export { Invoices, type NewInvoice } from "./actor.ts"
export {
  type Aggregate,
  type Arrival,
  type Command,
  invoiceObject,
  type InvoiceState,
  invoiceStates,
  isPayable,
  lockedRoute,
  paymentObject,
  type PaymentState,
  remaining
} from "./machine.ts"

export const plugin = Plugin.make({
  name: "invoices",
  slot: "modules",
  needs: { auth: PayorSessions, settings: MerchantSettings },
  http: InvoicesApi,
  rpc: InvoicesRpc,
  migrations,
  tables,
  rollups: [invoiceStates],
  layer: () =>
    Layer.mergeAll(HttpApiBuilder.layer(InvoicesApi).pipe(Layer.provide(handlers)), rpcHandlers).pipe(
      Layer.provideMerge(Invoices.layer)
    )
})
