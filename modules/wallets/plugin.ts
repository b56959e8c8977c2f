/**
 * Receiving wallets: where each merchant's funds arrive. Without this module all go to the deployment's own wallets.
 */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Wallets } from "./actor.ts"
import { WalletsApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"

export const plugin = Plugin.make({
  name: "wallets",
  slot: "modules",
  http: WalletsApi,
  migrations,
  tables,
  layer: () => HttpApiBuilder.layer(WalletsApi).pipe(Layer.provide(handlers), Layer.provide(Wallets.layer))
})
