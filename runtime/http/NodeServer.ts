/**
 * The way in: from a request that node:http parsed to the bytes of its answer, in one fiber. It stands in the place of
 * `HttpServer.serve` of `@effect/platform-node`, which does the same in more steps for each request: it watches every
 * body, copies every header, and keeps every fiber in a scope (`npm run bench -- http`). Websockets are left to that.
 * What the service does not use is left out: a span and a log line for each request, and Effect's error reporters. A
 * failure that nobody made an answer of is logged here instead.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeWS from "@effect/platform-node/NodeWS"
import { Cause, Context, Effect, type Exit, Fiber, Scope } from "effect"
import { type HttpEffect, HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { RequestInfo } from "../Http.ts"
import { markAwaitingContinue, NodeRequest } from "./NodeRequest.ts"
import { write } from "./NodeResponse.ts"

/** What a router makes of a request: `HttpRouter.asHttpEffect`. */
type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/**
 * State that `appendPreResponseHandler` of `HttpEffect` writes to, and what is built on it, such as cookies of a
 * security scheme. The tag has Effect's private key, because Effect does not export it; check it at every upgrade.
 */
class RequestState extends Context.Service<RequestState, {
  preResponseHandler: HttpEffect.PreResponseHandler | undefined
  loggerDisabled: boolean
}>()("effect/http/HttpEffect/CurrentRequestState") {}

type State = typeof RequestState.Service

/** Logs what nobody made an answer of. An interruption is none: the client has gone, or the service stops. */
const logFailure = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.void
    : Effect.flatMap(
      RequestInfo,
      ({ requestId }) => Effect.annotateLogs(Effect.logError(message, cause), { requestId })
    )

/** Answers a request with what `app` makes of it, and with its status where it makes no response. */
const answerWith = (app: App, request: NodeRequest, state: State) => {
  const { response: answer } = request
  const send = (response: HttpServerResponse.HttpServerResponse): Effect.Effect<void, unknown> =>
    state.preResponseHandler === undefined
      ? write(answer, response)
      : Effect.flatMap(state.preResponseHandler(request, response), (changed) => write(answer, changed))
  return Effect.catchCause(Effect.flatMap(app, send), (cause) => {
    // The head is out: ending the answer would make a part of a body look like all of it.
    if (answer.headersSent) {
      const cut = Effect.sync(() => answer.writableEnded ? undefined : void answer.destroy())
      return Effect.andThen(logFailure("an answer failed while it was sent: its connection is closed", cause), cut)
    }
    return Effect.flatMap(HttpServerError.causeResponse(cause), ([response]) => {
      const written = write(answer, response)
      return response.status < 500
        ? written
        : Effect.andThen(
          logFailure(`a request failed: it is answered with the status ${response.status} alone`, cause),
          written
        )
    })
  })
}

/** What {@link serve} takes beside the application. */
export interface ServeOptions {
  /** Of the library that accepts websockets. */
  readonly websocket?: NodeHttpServer.Options["websocket"]
}

const websocketServer = (options: ServeOptions["websocket"]) =>
  Effect.acquireRelease(
    Effect.sync(() => new NodeWS.WebSocketServer({ ...options, noServer: true })),
    (sockets) => Effect.callback<void>((resume) => sockets.close(() => resume(Effect.void)))
  )

/**
 * Answers the requests of `server` with `app` until the scope closes: what is under way then is interrupted, and waited
 * for. A request whose client goes away is interrupted as well.
 */
export const serve = Effect.fnUntraced(function*(
  server: Server,
  app: App,
  { websocket }: ServeOptions = {}
) {
  const scope = yield* Effect.scope
  // Flat, because what a request adds to a context is looked for from the newest on.
  const services = Context.makeUnsafe<never>(new Map((yield* Effect.context()).mapUnsafe))
  const underWay = new Set<Fiber.Fiber<unknown, unknown>>()

  const keep = (fiber: Fiber.Fiber<unknown, unknown>, onExit: (exit: Exit.Exit<unknown, unknown>) => void): void => {
    underWay.add(fiber)
    fiber.addObserver((exit) => {
      underWay.delete(fiber)
      onExit(exit)
    })
  }

  const onRequest = (source: IncomingMessage, answer: ServerResponse): void => {
    const request = new NodeRequest(source, answer)
    const requestScope = Scope.makeUnsafe()
    const state: State = { preResponseHandler: undefined, loggerDisabled: false }
    const withRequest = Context.add(services, HttpServerRequest.HttpServerRequest, request)
    const context = Context.add(Context.add(withRequest, Scope.Scope, requestScope), RequestState, state)
    const close = (exit: Exit.Exit<unknown, unknown>): void => {
      const closing = Scope.closeUnsafe(requestScope, exit)
      if (closing !== undefined) keep(Effect.runForkWith(services)(closing), () => {})
    }
    // The router makes handlers interruptible; what is around them is not, because it has to write an answer even then.
    const fiber = Effect.runForkWith(context)(answerWith(app, request, state), { uninterruptible: true })
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return close(exit)
    keep(fiber, close)
    answer.on("close", () => {
      if (!answer.writableEnded) fiber.interruptUnsafe(undefined, HttpServerError.ClientAbort.annotation)
    })
  }

  const onCheckContinue = (source: IncomingMessage, answer: ServerResponse): void => {
    markAwaitingContinue(source)
    onRequest(source, answer)
  }

  const sockets = yield* Effect.cached(Scope.provide(websocketServer(websocket), scope))
  const onUpgrade = yield* NodeHttpServer.makeUpgradeHandler(sockets, app, {
    scope: yield* Scope.fork(scope, "parallel")
  })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      server.off("request", onRequest).off("checkContinue", onCheckContinue).off("upgrade", onUpgrade)
      return Fiber.interruptAll(underWay)
    })
  )
  server.on("request", onRequest).on("checkContinue", onCheckContinue).on("upgrade", onUpgrade)
})
