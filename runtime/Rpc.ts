/** The internal port: every plugin's RpcGroup on one port, behind one bearer credential. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Rpc as Procedure, RpcGroup } from "effect/rpc"

/** The calls of the internal port. */
export class Rpc extends Context.Service<Rpc, {
  /** Adds a group's handlers; the port opens when every plugin has had its turn. Tags are unique, `<plugin>.<call>`. */
  readonly serve: <Rpcs extends Procedure.Any>(
    group: RpcGroup.RpcGroup<Rpcs>,
    handlers: Layer.Layer<Procedure.ToHandler<Rpcs>>
  ) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/Rpc") {}

/**
 * A layer that serves `group`: what a plugin merges into its own. `build` acquires services once and answers the
 * handlers, one a tag.
 *
 * @example
 * layer: () => Rpc.handlers(InvoicesRpc, Effect.gen(function*() {
 *   const invoices = yield* Invoices
 *   return { "invoices.get": ({ invoice_id }) => invoices.get(invoice_id) }
 * })).pipe(Layer.provideMerge(Invoices.layer))
 */
export const handlers = <
  Rpcs extends Procedure.Any,
  Handlers extends RpcGroup.HandlersFrom<Rpcs>,
  E = never,
  R = never
>(group: RpcGroup.RpcGroup<Rpcs>, build: Handlers | Effect.Effect<Handlers, E, R>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const rpc = yield* Rpc
    const context = yield* Layer.build(group.toLayer(build))
    yield* rpc.serve(group, Layer.succeedContext(context))
  }))
