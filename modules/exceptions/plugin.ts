/** Exceptions: what needs a person's decision is listed, and decided on. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Payments } from "../payments/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { ExceptionsApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { ExceptionsRpc } from "./rpc.ts"

export const plugin = Plugin.make({
  name: "exceptions",
  slot: "modules",
  needs: { invoices: Invoices, payments: Payments, refunds: Refunds },
  http: ExceptionsApi,
  rpc: ExceptionsRpc,
  layer: () => Layer.merge(HttpApiBuilder.layer(ExceptionsApi).pipe(Layer.provide(handlers)), rpcHandlers)
})
