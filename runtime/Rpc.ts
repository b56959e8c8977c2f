/** The internal door: every plugin's RpcGroup on one port, behind one bearer credential. */
import { Context, type Effect, type Layer } from "effect"
import type { RpcGroup } from "effect/rpc"

export class Rpc extends Context.Service<Rpc, {
  /** Adds a group's handlers; the door opens when every plugin has had its turn. */
  readonly serve: <Rpcs extends import("effect/rpc").Rpc.Any>(
    group: RpcGroup.RpcGroup<Rpcs>,
    handlers: Layer.Layer<import("effect/rpc").Rpc.ToHandler<Rpcs>>
  ) => Effect.Effect<void>
}>()("tillwire/runtime/Rpc") {}
