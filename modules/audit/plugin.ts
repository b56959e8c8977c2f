/** The audit log: who did what about money, in a chain that shows whether an entry was changed. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { operatorRoutes } from "../../runtime/OperatorRoutes.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { AuditApi } from "./api.ts"
import { handlers, operatorHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { OperatorAuditApi } from "./operator.ts"
import { AuditEntries } from "./service.ts"

export const plugin = Plugin.make({
  name: "audit",
  slot: "modules",
  http: AuditApi,
  operator: OperatorAuditApi,
  migrations,
  tables,
  layer: () =>
    Layer.merge(
      HttpApiBuilder.layer(AuditApi).pipe(Layer.provide(handlers)),
      operatorRoutes(OperatorAuditApi, operatorHandlers)
    ).pipe(Layer.provide(AuditEntries.layer))
})
