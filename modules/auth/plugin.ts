/** Merchants, API keys and payment sessions: who is calling, and on whose behalf. */
import { Effect, Layer } from "effect"
import { Credentials } from "../../runtime/Http.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Keys, Merchants, PayorSessions } from "./actor.ts"
import { demoStore, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { AuthRpc } from "./rpc.ts"

export { Merchants, type PayorSession, PayorSessions } from "./actor.ts"
export type { MerchantState } from "./machine.ts"

const start = Layer.effectDiscard(Effect.gen(function*() {
  const keys = yield* Keys
  const credentials = yield* Credentials
  yield* credentials.register(keys.verify)
  yield* demoStore
}))

export const plugin = Plugin.make({
  name: "auth",
  slot: "modules",
  rpc: AuthRpc,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      Merchants.layer,
      PayorSessions.layer,
      Layer.mergeAll(start, Rpc.handlers(AuthRpc, rpcHandlers)).pipe(Layer.provide(Keys.layer))
    )
})
