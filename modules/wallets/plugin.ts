/**
 * Receiving wallets: where each merchant's funds arrive. Without this module all go to the deployment's own wallets.
 */
import { Layer, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { walletsLayer } from "./actor.ts"
import { WalletsApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"

const Options = Schema.Struct({
  /**
   * Whether merchants may set wallets of kind `forwarder` on mainnet. Absent: no, until somebody outside has reviewed
   * the contracts.
   */
  mainnetForwarders: Schema.optionalKey(Schema.Boolean)
})

export const plugin = Plugin.make({
  name: "wallets",
  slot: "modules",
  options: Options,
  http: WalletsApi,
  migrations,
  tables,
  layer: ({ mainnetForwarders = false }) =>
    HttpApiBuilder.layer(WalletsApi).pipe(Layer.provide(handlers), Layer.provide(walletsLayer({ mainnetForwarders })))
})
