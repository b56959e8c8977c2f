/** The audit log: who did what about money, in a chain that shows whether an entry was changed. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { AuditApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { AuditEntries } from "./service.ts"

export const plugin = Plugin.make({
  name: "audit",
  slot: "modules",
  http: AuditApi,
  migrations,
  tables,
  layer: () => HttpApiBuilder.layer(AuditApi).pipe(Layer.provide(handlers), Layer.provide(AuditEntries.layer))
})
