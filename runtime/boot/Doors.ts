/** The two doors: what listens, with which limits, and how it stops. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Layer, Predicate, Schema } from "effect"
import { HttpIncomingMessage, type HttpRouter, HttpServer } from "effect/http"
import type { HttpServerError, HttpServerResponse } from "effect/http"
import { createServer, type Server } from "node:http"
import type { Socket } from "node:net"
import { inRanges, subscriberOf } from "../http/Addresses.ts"
import { websocketOptions } from "../sockets/Upgrade.ts"

/** Milliseconds a client may take to send its headers, and its whole request: slow senders hold no connection. */
const headersTimeoutMillis = 10_000
const requestTimeoutMillis = 30_000
/** How often both are looked at; Node's own 30 s would give a slow sender four times as long as it is allowed. */
const timeoutCheckMillis = 2_000
/** Connections at once on one door; more are closed at once rather than starving the ones that are served. */
const maximumConnections = 20_000
/** Time that requests under way get to finish once a stop was asked for. */
export const gracePeriod = "10 seconds"
/** Bytes of a call on the internal door. */
export const maximumRpcBytes = 1_048_576

/** Turns of the event loop that a stop waits for one in which nobody connects. */
const maximumTurns = 50

export interface Address {
  readonly host: string
  readonly port: number
}

/** A door cannot be opened: what is wrong and what to do. */
export class DoorClosed extends Schema.TaggedError<DoorClosed>()("DoorClosed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** Why listening failed, for an operator. `setting` is the key that holds the address. */
const explain = ({ host, port }: Address, setting: string) => (error: HttpServerError.ServeError): DoorClosed => {
  const code = Predicate.hasProperty(error.cause, "code") ? String(error.cause.code) : "unknown"
  const hint: Readonly<Record<string, string>> = {
    EADDRINUSE: `another process listens there: stop it, or choose another port by ${setting}.port in the config `
      + `or TILLWIRE__${setting.toUpperCase()}__PORT`,
    EACCES: "ports below 1024 need a privilege: choose a higher one, or put a proxy in front",
    EADDRNOTAVAIL: `this machine has no such address: correct ${setting}.host`
  }
  return new DoorClosed({ reason: `cannot listen on ${host}:${port} (${code}): ${hint[code] ?? `check ${setting}`}` })
}

const limited = (): Server =>
  Object.assign(
    createServer({
      headersTimeout: headersTimeoutMillis,
      requestTimeout: requestTimeoutMillis,
      connectionsCheckingInterval: timeoutCheckMillis
    }),
    { maxConnections: maximumConnections }
  )

/** How many connections one address may hold; those of trusted proxies are many callers'. */
export interface Crowd {
  readonly perAddress: number
  readonly trustProxy: ReadonlyArray<string>
}

/** Whether a connection may stay: it is counted for its address until it closes. */
const admission = ({ perAddress, trustProxy }: Crowd) => {
  const held = new Map<string, number>()
  const isTrusted = inRanges(trustProxy)
  return (connection: Socket): boolean => {
    const address = connection.remoteAddress ?? ""
    if (isTrusted(address)) return true
    const subscriber = subscriberOf(address)
    const before = held.get(subscriber) ?? 0
    if (before >= perAddress) return false
    held.set(subscriber, before + 1)
    connection.once("close", () => {
      const left = held.get(subscriber)! - 1
      if (left === 0) held.delete(subscriber)
      else held.set(subscriber, left)
    })
    return true
  }
}

/**
 * Waits until the connections that the system holds for us are taken: the end of listening would reset them, although
 * their clients were let in.
 */
const takeWaiting = (server: Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    let came = true
    let turns = 0
    const note = () => { came = true }
    const look = () => {
      if (came && turns++ < maximumTurns) {
        came = false
        return void setImmediate(look)
      }
      server.off("connection", note)
      resume(Effect.void)
    }
    server.on("connection", note)
    setImmediate(look)
  })

/**
 * Listens and serves everything on `router`, from now until the scope closes: then no connection is taken any more,
 * requests under way finish within {@link gracePeriod}, and whatever is left is cut. Answers the address, with the
 * port that was picked where 0 was asked for.
 */
export const open = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  address: Address,
  setting: "http" | "rpc",
  limits: { readonly maximumBodyBytes?: number; readonly crowd?: Crowd } = {}
) {
  let server: Server | undefined
  const connections = new Set<Socket>()
  const admits = limits.crowd === undefined ? () => true : admission(limits.crowd)
  const make = () => {
    server = limited()
    server.on("connection", (connection) => {
      if (!admits(connection)) return void connection.destroy()
      connections.add(connection)
      connection.once("close", () => connections.delete(connection))
    })
    return server
  }
  const scope = yield* Effect.scope
  const door = yield* Layer.buildWithScope(
    NodeHttpServer.layerServer(make, {
      host: address.host,
      port: address.port,
      gracefulShutdownTimeout: gracePeriod,
      websocket: websocketOptions
    }),
    scope
  ).pipe(Effect.mapError(explain(address, setting)))
  // The server is waited for without limit: by now the grace period is over, and what still holds on is cut.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const connection of connections) connection.destroy()
    })
  )
  yield* HttpServer.serveEffect(router.asHttpEffect() as Effect.Effect<HttpServerResponse.HttpServerResponse>).pipe(
    Effect.provideContext(door),
    Effect.provideService(
      HttpIncomingMessage.MaxBodySize,
      limits.maximumBodyBytes === undefined ? undefined : ByteSize.bytes(limits.maximumBodyBytes)
    )
  )
  yield* Effect.addFinalizer(() => server === undefined ? Effect.void : takeWaiting(server))
  const bound = server?.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port
  return { url: `http://${printHost(address.host)}:${port}`, port }
})

/** A host as a URL and a person take it: the address of all interfaces is reached as localhost. */
export const printHost = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}
