/** Customers: what is kept of a person is exported, and erased. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { CustomersApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, sealedColumns, tables } from "./migrations.ts"
import { Erasures } from "./service.ts"

export const plugin = Plugin.make({
  name: "customers",
  slot: "modules",
  http: CustomersApi,
  migrations,
  tables,
  sealedColumns,
  layer: () => HttpApiBuilder.layer(CustomersApi).pipe(Layer.provide(handlers), Layer.provide(Erasures.layer))
})
