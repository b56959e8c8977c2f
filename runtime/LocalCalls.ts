/**
 * Calls of the service's own API from inside of the process, by a caller who was found good before: what a page does
 * for whoever has its session. They pass everything that a call from outside passes, so that rights, names, idempotency
 * and the audit log are one thing. Only the credential is not looked up again, whoever calls counts the page and not
 * its calls, and nothing goes through a socket.
 */
import { Context, Effect, Fiber, Layer, type Schema, Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { responseText } from "./http/Body.ts"
import type { Routes } from "./http/Routes.ts"
import type { Grant } from "./Http.ts"

/** A call of the service's own API by a part of the service. */
export interface LocalCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With its query, encoded: `/api/v1/invoices?limit=25`. */
  readonly path: `/api/${string}`
  /** Absent: none. */
  readonly body?: Schema.Json
  readonly idempotencyKey?: string
  /** Of the request that it is made for, so that the audit log and the access log name one. */
  readonly requestId?: string
}

/** What a call was answered with: the body as JSON, null where there is none. */
export interface LocalAnswer {
  readonly status: number
  readonly body: Schema.Json
  readonly headers: Readonly<Record<string, string | undefined>>
}

/**
 * Calls the service's own API without a socket, as a caller whose session was checked: pages act for people by it. A
 * call passes all that one from outside passes but the look-up of its credential and the limits of calls: count the
 * request that it is made for. The environment it acts in is the one it names, as with a wallet's token. A route that
 * no loaded module has is answered 404 as outside.
 */
export class LocalCalls extends Context.Service<LocalCalls, {
  readonly call: (caller: Grant, call: LocalCall) => Effect.Effect<LocalAnswer>
  /** As `call`, for a file: the response itself, whose stream belongs to the scope of whoever passes it on. */
  readonly respond: (
    caller: Grant,
    call: LocalCall
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>
  /** Whether a loaded module has routes at a path, its parameters as `{name}`. */
  readonly serves: (path: `/${string}`) => boolean
}>()("tillwire/runtime/LocalCalls") {}

/** The callers of requests that were made here. Nobody outside can make one: the request itself is the key. */
const callers = new WeakMap<object, Grant>()

/** The caller of a request of this process; undefined for one that came through a socket. */
export const localCallerOf = ({ source }: HttpServerRequest.HttpServerRequest): Grant | undefined => callers.get(source)

/** An origin that no answer shows. */
const origin = "http://local"

const requestOf = (caller: Grant, { body, idempotencyKey, method, path, requestId }: LocalCall): Request => {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers: Record<string, string> = {
    ...(text === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(requestId === undefined ? {} : { "x-request-id": requestId })
  }
  const request = new Request(`${origin}${path}`, { method, headers, ...(text === undefined ? {} : { body: text }) })
  callers.set(request, caller)
  return request
}

/** `routes`: the paths of the loaded modules. */
export const layer = (routes: Routes): Layer.Layer<LocalCalls, never, HttpRouter.HttpRouter> =>
  Layer.effect(
    LocalCalls,
    Effect.gen(function*() {
      const router = yield* HttpRouter.HttpRouter
      const services = yield* Effect.context<never>()

      /** In a fiber of its own, because everything that serves a request writes to the context of its fiber. */
      const serve = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.gen(function*() {
          const context = services.pipe(
            Context.add(HttpServerRequest.HttpServerRequest, request),
            Context.add(Scope.Scope, yield* Effect.scope)
          )
          // Made at each call: what is made now knows nothing of global middleware that is added later.
          const fiber = Effect.runForkWith(context)(router.asHttpEffect())
          return yield* Effect.onInterrupt(Fiber.join(fiber), () => Fiber.interrupt(fiber))
        })

      const respond = (caller: Grant, call: LocalCall) =>
        Effect.orDie(serve(HttpServerRequest.fromWeb(requestOf(caller, call))))

      const answerOf = Effect.fnUntraced(function*(response: HttpServerResponse.HttpServerResponse, path: string) {
        const text = responseText(response)
        if (text === undefined) return yield* Effect.die(new Error(`${path} answers with a stream`))
        const answer: LocalAnswer = {
          status: response.status,
          body: text === "" ? null : JSON.parse(text),
          headers: response.headers
        }
        return answer
      })

      return LocalCalls.of({
        serves: (path) => routes.find(path) !== undefined,
        respond,
        call: (caller, call) =>
          Effect.scoped(Effect.flatMap(respond(caller, call), (response) => answerOf(response, call.path)))
      })
    })
  )
