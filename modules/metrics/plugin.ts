/** A merchant's figures over time, from sums that every commit keeps. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { MetricsApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { customers, paidInvoices, payments } from "./rules.ts"

export const plugin = Plugin.make({
  name: "metrics",
  slot: "modules",
  needs: { invoices: Invoices },
  http: MetricsApi,
  rollups: [paidInvoices, payments, customers],
  layer: () => HttpApiBuilder.layer(MetricsApi).pipe(Layer.provide(handlers))
})
