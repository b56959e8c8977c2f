/** The events API and the internal event stream. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { EventBus } from "../../runtime/EventBus.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { Rpc } from "../../runtime/Rpc.ts"
import { EventsApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { EventsRpc } from "./rpc.ts"

const rpc = Layer.effectDiscard(Effect.gen(function*() {
  const bus = yield* EventBus
  yield* (yield* Rpc).serve(EventsRpc, Layer.provide(rpcHandlers, Layer.succeed(EventBus, bus)))
}))

export const plugin = Plugin.make({
  name: "events",
  slot: "modules",
  http: EventsApi,
  rpc: EventsRpc,
  layer: () => Layer.merge(HttpApiBuilder.layer(EventsApi).pipe(Layer.provide(handlers)), rpc)
})
