/**
 * The handshake, and the library's own socket behind it. A stream is served by callbacks, not by fibers: the request's
 * fiber ends with the handshake, and an idle connection holds little but what `ws` holds.
 *
 * Measured for 1,000 idle sockets: 30 KB of heap each with a request that lasts as long as its stream, 8.4 KB so, of
 * which the library takes 3.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as NodeWS from "@effect/platform-node/NodeWS"
import { Effect, Scope } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { Duplex } from "node:stream"
import { RequestInfo } from "../Http.ts"
import { errorResponse } from "../http/ErrorResponses.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"

/** Bytes of a client's message (modules/docs/reference/websockets.md#limits); more is closed with 1009. */
const maximumMessageBytes = 4_096

/** Fragments of a client's message, at most: they may be empty, so that their bytes alone do not bound them. */
const maximumFragments = 64

/** Milliseconds a peer may take to answer our close before its socket is cut. */
const closeMillis = 1_000

/** Who serves an accepted socket. */
export interface SocketServer {
  readonly onMessage: (bytes: Buffer) => void
  /** A ping or a pong came in. */
  readonly onPing: () => void
  /** It is closed, whoever ended it. Called once. */
  readonly onClose: () => void
}

const socketsByConnection = new WeakMap<Duplex, NodeWS.WebSocket>()

/** A socket of the public port, found again by its connection: `HttpServerRequest.upgrade` hands out a wrapper only. */
class TrackedSocket extends NodeWS.WebSocket {
  /** The library calls it once, with the connection. Its types leave it out, as it is not for callers. */
  setSocket(...given: Array<unknown>): void {
    const inherited: { readonly setSocket: (...given: Array<unknown>) => void } = NodeWS.WebSocket.prototype as never
    inherited.setSocket.apply(this, given)
    socketsByConnection.set(given[0] as Duplex, this)
  }
}

/** What the public port gives the library. */
export const websocketOptions = {
  maxPayload: maximumMessageBytes,
  maxFragments: maximumFragments,
  closeTimeout: closeMillis,
  // The library's own list of sockets is kept by a listener of theirs, and the hub has its own.
  clientTracking: false,
  WebSocket: TrackedSocket
}

/** The library closes by itself what breaks the protocol. */
const ignore = () => {}

/** Hands what happens on an open socket to `server`; false where it has closed already, and nobody is told. */
export const serve = (socket: NodeWS.WebSocket, { onClose, onMessage, onPing }: SocketServer): boolean => {
  if (socket.readyState !== NodeWS.WebSocket.OPEN) return false
  socket.on("message", onMessage)
  socket.on("ping", onPing)
  socket.on("pong", onPing)
  socket.on("close", onClose)
  return true
}

const keyPattern = /^[+/0-9A-Za-z]{22}==$/

/** Why a request is no handshake of version 13 (RFC 6455, section 4.2.1), if it is none. */
export const objectionToHandshake = (
  { headers }: HttpServerRequest.HttpServerRequest
): PublicError | undefined => {
  if (headers["upgrade"]?.toLowerCase() !== "websocket") {
    return publicError("VALIDATION_ERROR", { message: "This path speaks websocket: send an upgrade" })
  }
  return headers["sec-websocket-version"] === "13" && keyPattern.test(headers["sec-websocket-key"] ?? "")
    ? undefined
    : publicError("VALIDATION_ERROR", { message: "Send a websocket handshake of version 13, with its key" })
}

/** An error before the upgrade, in the wrapped family. */
export const refuseUpgrade = (error: PublicError): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(RequestInfo, ({ requestId }) => errorResponse(error, "wrapped", requestId))

/** Accepts the current request's handshake. The socket outlives the request. */
export const accept = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const wrapper = yield* request.upgrade
  // Never closed: it would end the socket, which belongs to whoever serves it now.
  const scope = yield* Scope.make()
  yield* Scope.provide(wrapper.reader, scope)
  const connection = NodeHttpServerRequest.toIncomingMessage(request).socket
  const socket = socketsByConnection.get(connection)
  if (socket === undefined) return yield* Effect.die(new Error("The listener was opened without websocketOptions"))
  socket.removeAllListeners()
  socket.on("error", ignore)
  return { socket, connection }
})
