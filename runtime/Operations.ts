/** How a plugin serves the operations of its `HttpApi`: handlers, in front of which its definitions are obeyed. */
import { Context, Effect, Layer, Scope } from "effect"
import { HttpRouter, type HttpServerResponse } from "effect/http"
import { type HttpApi, type HttpApiBuilder, type HttpApiGroup } from "effect/http-api"
import type { Anonymous, FlatErrors, IdempotencyRequired, Idempotent, MerchantAuth, WrappedErrors } from "./Http.ts"
import type { OperatorAuth } from "./OperatorRoutes.ts"
import { type Act, actOf, type CalledEndpoint, type Handler } from "./http/Act.ts"

/** What `Operations` does for the definitions that name them: they are marks, and nothing is provided for them. */
type OwnMiddleware =
  | Anonymous
  | FlatErrors
  | IdempotencyRequired
  | Idempotent
  | MerchantAuth
  | OperatorAuth
  | WrappedErrors

/** Serves calls as their definitions say: who may call, how often, in which environment, and once for a key. */
export class Operations extends Context.Service<Operations, {
  /**
   * What to mount for an endpoint: everything its middlewares ask for, and then `act` with `services`, those the
   * handlers of its group were built with.
   */
  readonly serve: (
    called: CalledEndpoint,
    act: Act,
    services: Context.Context<never>
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
}>()("tillwire/runtime/Operations") {}

interface GroupHandler extends Handler {
  readonly uninterruptible: boolean
}

type HandlerEntry = Handler["handle"] | { readonly handler: Handler["handle"]; readonly options?: HandlerOptions }
interface HandlerOptions {
  readonly uninterruptible?: boolean
}

/** Collects the handlers of a group, as `HttpApiBuilder.Handlers` describes it. */
class GroupHandlers {
  readonly handlers = new Map<string, GroupHandler>()
  private readonly group: HttpApiGroup.Top
  constructor(group: HttpApiGroup.Top) {
    this.group = group
  }
  private add(identifier: string, handle: Handler["handle"], isRaw: boolean, options: HandlerOptions = {}): this {
    const endpoint = this.group.endpoints[identifier]
    if (endpoint === undefined) throw new Error(`the group "${this.group.identifier}" has no endpoint "${identifier}"`)
    if (this.handlers.has(identifier)) throw new Error(`the endpoint "${identifier}" has two handlers`)
    this.handlers.set(identifier, { endpoint, handle, isRaw, uninterruptible: options.uninterruptible ?? false })
    return this
  }
  handle(identifier: string, handle: Handler["handle"], options?: HandlerOptions): this {
    return this.add(identifier, handle, false, options)
  }
  handleRaw(identifier: string, handle: Handler["handle"], options?: HandlerOptions): this {
    return this.add(identifier, handle, true, options)
  }
  handleAll(entries: Readonly<Record<string, HandlerEntry>>): this {
    for (const [identifier, entry] of Object.entries(entries)) {
      if (typeof entry === "function") this.add(identifier, entry, false)
      else this.add(identifier, entry.handler, false, entry.options)
    }
    return this
  }
}

/**
 * The handlers of a group, for `HttpApiBuilder.layer`. As `HttpApiBuilder.group`, but what the group's definitions ask
 * for is done by {@link Operations}: who asks, limits, idempotency, the form of errors. A handler fails with the public
 * errors its endpoint lists.
 *
 * A middleware of a plugin's own wraps `act`: it runs it, or fails with a public error. It runs after the caller, the
 * limits and the names in the request were checked, and before a stored reply is looked up. Only where the endpoint
 * declares no caller does it run before the names are checked. Where it has several security schemes, all must have one
 * function, which runs once and reads the credentials itself.
 */
export const group = <
  ApiId extends string,
  Groups extends HttpApiGroup.Constraint,
  const Identifier extends HttpApiGroup.Identifier<Groups>,
  Return
>(
  api: HttpApi.HttpApi<ApiId, Groups>,
  identifier: Identifier,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<HttpApiGroup.WithIdentifier<Groups, Identifier>>
  ) => HttpApiBuilder.Handlers.ValidateReturn<Return>
): Layer.Layer<
  HttpApiGroup.Service<ApiId, Identifier>,
  HttpApiBuilder.Handlers.Error<Return>,
  Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope | OwnMiddleware> | Operations
> =>
  Layer.effectContext(Effect.gen(function*() {
    const { serve } = yield* Operations
    const services = Context.omit(Scope.Scope)(yield* Effect.context<Scope.Scope>())
    const group = api.groups[identifier] as unknown as HttpApiGroup.Top
    const result: unknown = build(new GroupHandlers(group) as never)
    const { handlers } = (Effect.isEffect(result) ? yield* result : result) as GroupHandlers
    const routes: Array<HttpRouter.Route<never, never>> = []
    for (const handler of handlers.values()) {
      const { endpoint, uninterruptible } = handler
      const act = yield* actOf(api.annotations, group, handler)
      const served = serve({ endpoint, group }, act, services as Context.Context<never>)
      routes.push(HttpRouter.route(endpoint.method, endpoint.path as HttpRouter.PathInput, served, { uninterruptible }))
    }
    // What `HttpApiBuilder.layer` looks for: the routes, and which endpoint each handler is of.
    return Context.makeUnsafe(new Map([[group.key, { routes, handlers }]]))
  })) as never
