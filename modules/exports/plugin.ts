/** Exports: a merchant's invoices, payments, refunds and books as files. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { ExportsApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations } from "./migrations.ts"

export const plugin = Plugin.make({
  name: "exports",
  slot: "modules",
  needs: { invoices: [Invoices, InvoiceHooks], refunds: Refunds },
  http: ExportsApi,
  migrations,
  layer: () => HttpApiBuilder.layer(ExportsApi).pipe(Layer.provide(handlers))
})
