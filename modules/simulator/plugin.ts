/**
 * The devnet simulator, for its route and the payment page: a first paid invoice without a wallet. Never on mainnet.
 */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Orders } from "../commerce/plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Settlements } from "../settlement/plugin.ts"
import { NetworkFaults, OrderSimulator, Simulator } from "./service.ts"
import { SimulatorApi } from "./api.ts"
import { handlers } from "./handlers.ts"

export const plugin = Plugin.make({
  name: "simulator",
  slot: "modules",
  environments: ["devnet"],
  needsOneProcess: true,
  needs: {
    invoices: Invoices,
    quotes: PaymentQuotes,
    payments: [Payments, SimulatedPayments],
    settlement: Settlements,
    refunds: Refunds,
    commerce: Orders
  },
  http: SimulatorApi,
  layer: () =>
    HttpApiBuilder.layer(SimulatorApi).pipe(
      Layer.provide(handlers),
      Layer.provide(Layer.mergeAll(Simulator.layer, OrderSimulator.layer).pipe(Layer.provideMerge(NetworkFaults.layer)))
    )
})
