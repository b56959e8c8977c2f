/** Merchants, API keys and payment sessions: who is calling, and on whose behalf. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Credentials, Revocations } from "../../runtime/Http.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Keys } from "./actor.ts"
import { AuthApi } from "./api.ts"
import { demoStore, handlers, rpcHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { AuthRpc } from "./rpc.ts"
import { KeysByMaker, Merchants, PayorSessions } from "./service.ts"

export type { MerchantState } from "./rules.ts"
export { KeysByMaker, Merchants, type PayorSession, PayorSessions } from "./service.ts"

const start = Layer.effectDiscard(Effect.gen(function*() {
  const keys = yield* Keys
  const credentials = yield* Credentials
  yield* credentials.register(keys.verify, keys.isOurs)
  yield* (yield* Revocations).register("key", keys.usable)
  yield* demoStore
}))

export const plugin = Plugin.make({
  name: "auth",
  slot: "modules",
  http: AuthApi,
  rpc: AuthRpc,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      KeysByMaker.layer,
      Merchants.layer,
      PayorSessions.layer,
      Layer.mergeAll(
        start,
        HttpApiBuilder.layer(AuthApi).pipe(Layer.provide(handlers)),
        Rpc.handlers(AuthRpc, rpcHandlers)
      ).pipe(Layer.provide(Keys.layer))
    )
})
