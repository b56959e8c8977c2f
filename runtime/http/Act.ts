/** A handler between the decoding of its request and the encoding of its answer, by the schemas of its endpoint. */
import { Context, Effect, Predicate, Schema, SchemaAST } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, type HttpApiEndpoint, HttpApiError, type HttpApiGroup } from "effect/http-api"
import { jsonBody } from "./Body.ts"

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

export interface Handler {
  readonly endpoint: HttpApiEndpoint.Top
  readonly handle: (request: never) => Effect.Effect<unknown, unknown, unknown>
  /** Whether it reads the body itself. */
  readonly isRaw: boolean
}

/** The schemas of a body that is JSON and nothing else; undefined for all other bodies, and where there is none. */
export const jsonPayloadOf = ({ method, payload }: HttpApiEndpoint.Top): ReadonlyArray<Schema.Top> | undefined => {
  const [only, ...others] = payload.values()
  return only?.encoding._tag === "Json" && others.length === 0 && method !== "GET" ? only.schemas : undefined
}

type Decode = (input: unknown) => Effect.Effect<unknown, Schema.SchemaError>

const decoderOf = (schema: Schema.Top | undefined): Decode | undefined =>
  schema === undefined ? undefined : Schema.decodeUnknownEffect(schema) as Decode

const wrap = HttpApiError.HttpApiSchemaError.wrap

/** Decodes a body that was parsed before, when the names in it were checked: it is parsed once. */
const makeReadPayload = (schemas: ReadonlyArray<Schema.Top>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Union(schemas)) as Decode
  // No body at all is null where the definition takes that.
  const empty = schemas.some(({ ast }) => SchemaAST.isNull(SchemaAST.toEncoded(ast))) ? null : undefined
  return (request: HttpServerRequest.HttpServerRequest) =>
    Effect.flatMapEager(jsonBody(request), (body) => wrap("Payload", decode(body === undefined ? empty : body)))
}

/**
 * What `HttpApiBuilder` makes of an endpoint, without its middlewares and with `changes`. It is made without services:
 * whatever is there then would be merged into the context of every request.
 */
const build = (
  annotations: Context.Context<never>,
  { endpoint, group }: CalledEndpoint,
  changes: Partial<Record<keyof HttpApiEndpoint.Top, unknown>>,
  handle: Handler["handle"]
): Effect.Effect<Act> => {
  const bare = Object.create(
    endpoint,
    Object.fromEntries(Object.entries({ ...changes, middlewares: new Set() }).map(([name, value]) => [name, { value }]))
  ) as HttpApiEndpoint.Top
  const groups = { [group.identifier]: { annotations: group.annotations, endpoints: { [endpoint.identifier]: bare } } }
  return Effect.updateContext(
    HttpApiBuilder.endpoint(
      { annotations, groups } as never,
      group.identifier as never,
      endpoint.identifier as never,
      handle as never
    ) as Effect.Effect<Act>,
    () => Context.empty()
  )
}

/** What a handler is given. */
interface Input extends Record<string, unknown> {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** A part of a request that a handler is given, by the name it is given by. */
interface Part {
  readonly name: string
  readonly read: (
    request: HttpServerRequest.HttpServerRequest,
    context: Context.Context<never>
  ) => Effect.Effect<unknown, unknown>
}

/** The parts that an endpoint has schemas for, in the order in which they are checked. */
const partsOf = ({ endpoint, isRaw }: Handler): ReadonlyArray<Part> => {
  const params = decoderOf(endpoint.params)
  const headers = decoderOf(endpoint.headers)
  const query = endpoint.query && decoderOf(Schema.toCodecArrayFromSingle(endpoint.query))
  const payload = isRaw ? undefined : jsonPayloadOf(endpoint)
  const parts: Array<Part> = []
  if (params) {
    const read: Part["read"] = (_, context) =>
      wrap("Params", params(Context.getUnsafe(context, HttpRouter.RouteContext).params))
    parts.push({ name: "params", read })
  }
  if (headers) parts.push({ name: "headers", read: (request) => wrap("Headers", headers(request.headers)) })
  if (query) {
    const read: Part["read"] = (_, context) =>
      wrap("Query", query(Context.getUnsafe(context, HttpServerRequest.ParsedSearchParams)))
    parts.push({ name: "query", read })
  }
  if (payload) parts.push({ name: "payload", read: makeReadPayload(payload) })
  return parts
}

/** The value that an answer is encoded from. */
const AnswerValue = Context.Reference<unknown>("tillwire/runtime/http/Act/AnswerValue", {
  defaultValue: () => undefined
})

/** Forms and files, and upgrades to another protocol: all of it is `HttpApiBuilder`'s. */
const isSpecial = ({ endpoint, isRaw }: Handler): boolean =>
  (!isRaw && endpoint.payload.size > 0 && jsonPayloadOf(endpoint) === undefined) ||
  [...endpoint.success].some((schema) => Predicate.hasProperty(schema, "protocol"))

/**
 * The act of a handler. Most answers are responses already, made of text, and most requests have parameters, a query
 * and JSON: for these it takes far fewer steps than `HttpApiBuilder`, which encodes other values and serves whatever is
 * rare.
 */
export const actOf = Effect.fnUntraced(function*(
  annotations: Context.Context<never>,
  group: HttpApiGroup.Top,
  handler: Handler
): Effect.fn.Return<Act> {
  const { endpoint, handle, isRaw } = handler
  const called = { endpoint, group }
  if (isSpecial(handler)) {
    return yield* build(
      annotations,
      called,
      isRaw ? { payload: new Map() } : {},
      (input) => Effect.orDie(handle(input))
    )
  }
  const nothingRead = { params: undefined, query: undefined, headers: undefined, payload: new Map() }
  const encode = yield* build(annotations, called, nothingRead, () => Effect.service(AnswerValue))
  const parts = partsOf(handler)
  const answerOf = (answer: unknown) =>
    HttpServerResponse.isHttpServerResponse(answer)
      ? Effect.succeed(answer)
      : Effect.provideService(encode, AnswerValue, answer)
  /** Reads the parts from the one at `index` on, then acts. What a schema decodes at once takes no step of a fiber. */
  const readFrom = (index: number, input: Input, context: Context.Context<never>): Effect.Effect<unknown, unknown> => {
    const part = parts[index]
    if (part === undefined) return Effect.flatMap(handle(input as never), answerOf) as Effect.Effect<unknown, unknown>
    return Effect.flatMapEager(part.read(input.request, context), (value) => {
      input[part.name] = value
      return readFrom(index + 1, input, context)
    })
  }
  return Effect.orDie(Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    return readFrom(0, { request, endpoint, group }, fiber.context)
  })) as Act
})
