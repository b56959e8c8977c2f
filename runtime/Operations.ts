/** How a plugin serves the operations of its `HttpApi`: handlers, in front of which its definitions are obeyed. */
import { Context, Effect, Layer, Schema, SchemaAST, Scope } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiEndpoint, HttpApiError, type HttpApiGroup } from "effect/http-api"
import type { Anonymous, FlatErrors, IdempotencyRequired, Idempotent, MerchantAuth, WrappedErrors } from "./Http.ts"
import { jsonBody } from "./http/Body.ts"

/** An endpoint and the group it belongs to. */
export interface CalledEndpoint {
  readonly endpoint: HttpApiEndpoint.Top
  readonly group: HttpApiGroup.Top
}

/** Decodes a request, runs its handler, and encodes what that answers. Fails only with defects. */
export type Act = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest | HttpServerRequest.ParsedSearchParams | HttpRouter.RouteContext
>

/** The schemas of a body that is JSON and nothing else; undefined for all other bodies, and where there is none. */
export const jsonPayloadOf = ({ method, payload }: HttpApiEndpoint.Top): ReadonlyArray<Schema.Top> | undefined => {
  const [only, ...others] = payload.values()
  return only?.encoding._tag === "Json" && others.length === 0 && method !== "GET" ? only.schemas : undefined
}

/** What `Operations` does for the definitions that name them: they are marks, and nothing is provided for them. */
type OwnMiddleware = Anonymous | FlatErrors | IdempotencyRequired | Idempotent | MerchantAuth | WrappedErrors

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

interface Handler {
  readonly endpoint: HttpApiEndpoint.Top
  readonly handle: (request: never) => Effect.Effect<unknown, unknown, unknown>
  readonly isRaw: boolean
  readonly uninterruptible: boolean
}

type HandlerEntry = Handler["handle"] | { readonly handler: Handler["handle"]; readonly options?: HandlerOptions }
interface HandlerOptions {
  readonly uninterruptible?: boolean
}

/** Collects the handlers of a group, as `HttpApiBuilder.Handlers` describes it. */
class GroupHandlers {
  readonly handlers = new Map<string, Handler>()
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

type Handle = Handler["handle"]

/** `handle` for the body as it was parsed before, when the names in it were checked: it is parsed once. */
const withJsonPayload = (handle: Handle, schemas: ReadonlyArray<Schema.Top>): Handle => {
  const decode = Schema.decodeUnknownEffect(Schema.Union(schemas)) as (body: unknown) => Effect.Effect<
    unknown,
    Schema.SchemaError
  >
  // No body at all is null where the definition takes that.
  const empty = schemas.some(({ ast }) => SchemaAST.isNull(SchemaAST.toEncoded(ast))) ? null : undefined
  return (input: { readonly request: HttpServerRequest.HttpServerRequest }) =>
    Effect.flatMapEager(jsonBody(input.request), (body) =>
      Effect.flatMapEager(
        HttpApiError.HttpApiSchemaError.wrap("Payload", decode(body === undefined ? empty : body)),
        (payload) => handle({ ...input, payload } as never)
      ))
}

/**
 * The handler between decoding and encoding, as `HttpApiBuilder` makes it of a definition without middlewares. It is
 * made without services: whatever is there when it is made would be merged into the context of every request. A raw
 * handler reads the body itself.
 */
const actOf = (api: HttpApi.Top, group: HttpApiGroup.Top, { endpoint, handle, isRaw }: Handler): Act => {
  const payload = jsonPayloadOf(endpoint)
  const bare = Object.create(endpoint, {
    middlewares: { value: new Set() },
    ...(isRaw || payload !== undefined ? { payload: { value: new Map() } } : {})
  }) as HttpApiEndpoint.Top
  const groups = { [group.identifier]: { annotations: group.annotations, endpoints: { [endpoint.identifier]: bare } } }
  const read = isRaw || payload === undefined ? handle : withJsonPayload(handle, payload)
  return Effect.runSync(
    HttpApiBuilder.endpoint(
      { annotations: api.annotations, groups } as never,
      group.identifier as never,
      endpoint.identifier as never,
      ((request: never) => Effect.orDie(read(request))) as never
    ) as Effect.Effect<Act>
  )
}

/**
 * The handlers of a group, for `HttpApiBuilder.layer`. As `HttpApiBuilder.group`, but what the group's definitions ask
 * for is done by {@link Operations}: who asks, limits, idempotency, the form of errors. A handler fails with the public
 * errors its endpoint lists.
 *
 * A middleware of a plugin's own stands between: it runs `app` or fails with a public error, before the names in the
 * request are checked. Where it has several security schemes, all must have one function, which runs once and reads the
 * credentials itself.
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
    const routes = Array.from(
      handlers.values(),
      (handler) =>
        HttpRouter.route(
          handler.endpoint.method,
          handler.endpoint.path as HttpRouter.PathInput,
          serve(
            { endpoint: handler.endpoint, group },
            actOf(api as never, group, handler),
            services as Context.Context<never>
          ),
          { uninterruptible: handler.uninterruptible }
        )
    )
    // What `HttpApiBuilder.layer` looks for: the routes, and which endpoint each handler is of.
    return Context.makeUnsafe(new Map([[group.key, { routes, handlers }]]))
  })) as never
