/** Serves all groups that registered as one: HTTP POST with newline-delimited JSON at {@link rpcPath}. */
import { Context, Deferred, Effect, Layer, Redacted, Stream } from "effect"
import { HttpBody, type HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RpcGroup, RpcSerialization, RpcServer } from "effect/rpc"
import { Rpc } from "../Rpc.ts"
import { bearerMatches } from "./Credential.ts"
import { readPayloads, type ServedGroup } from "./Payloads.ts"

/** Where the internal port answers calls. */
export const rpcPath = "/rpc"

/** What registered so far; boot.ts reads it once, after the last plugin. */
export class RpcRegistry extends Context.Service<RpcRegistry, {
  readonly groups: () => ReadonlyArray<ServedGroup>
}>()("tillwire/runtime/rpc/RpcRegistry") {}

/** `Rpc` for the plugins, and the registry for boot.ts. */
export const layer: Layer.Layer<Rpc | RpcRegistry> = Layer.effectContext(Effect.sync(() => {
  const groups: Array<ServedGroup> = []
  const rpc = Rpc.of({
    serve: (group, handlers) =>
      Effect.gen(function*() {
        const context = yield* Layer.build(handlers)
        // The group's own calls are known to whoever registers it; here they are only carried.
        const entry = { group, handlers: context } as unknown as ServedGroup
        yield* Effect.acquireRelease(
          Effect.sync(() => groups.push(entry)),
          () => Effect.sync(() => groups.splice(groups.indexOf(entry), 1))
        )
      })
  })
  return Context.make(Rpc, rpc).pipe(Context.add(RpcRegistry, RpcRegistry.of({ groups: () => groups })))
}))

const unauthorized = HttpServerResponse.jsonUnsafe(
  { error: "Send the internal credential: Authorization: Bearer <rpc.token>", code: "UNAUTHORIZED" },
  { status: 401, headers: { "www-authenticate": "Bearer realm=\"tillwire-internal\"" } }
)

/**
 * Ends the body of an answer that streams when `closing` is done: an open stream would hold the listener for its grace
 * period.
 */
const endStreamOn = (closing: Deferred.Deferred<void>) => (response: HttpServerResponse.HttpServerResponse) => {
  const { body } = response
  return body._tag !== "Stream" ? response : HttpServerResponse.setBody(
    response,
    HttpBody.stream(Stream.interruptWhen(body.stream, Deferred.await(closing)), body.contentType, body.contentLength)
  )
}

/**
 * Mounts the merged group on `router`; 401 for every call without `token`, before a byte of its body is read. Answers
 * what ends every stream under way: the first thing to do on the way down.
 */
export const mount = Effect.fnUntraced(function*(router: HttpRouter.HttpRouter, token: Redacted.Redacted) {
  const registry = yield* RpcRegistry
  const registered = registry.groups().map(readPayloads)
  const group = RpcGroup.make().merge(...registered.map((entry) => entry.group)) as RpcGroup.RpcGroup<never>
  const handlers = registered.reduce((all, entry) => Context.merge(all, entry.handlers), Context.empty())
  const answer = yield* RpcServer.toHttpEffect(group, { disableTracing: true, disableFatalDefects: true }).pipe(
    Effect.provideContext(handlers),
    Effect.provide(RpcSerialization.layerNdjson)
  )
  const closing = yield* Deferred.make<void>()
  const response = Effect.map(answer, endStreamOn(closing))
  yield* router.add(
    "POST",
    rpcPath,
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ headers }) => bearerMatches(headers["authorization"], token) ? response : Effect.succeed(unauthorized)
    )
  )
  return Effect.asVoid(Deferred.succeed(closing, undefined))
})
