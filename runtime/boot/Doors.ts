/** The two doors: what listens, with which limits, and how it stops. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Latch, Layer, Predicate, Schema } from "effect"
import { HttpIncomingMessage, type HttpRouter, HttpServer } from "effect/http"
import type { HttpServerError, HttpServerResponse } from "effect/http"
import { Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { inRanges, subscriberOf } from "../http/Addresses.ts"
import { answerUnread } from "../http/Unread.ts"
import type { Drawings } from "../Http.ts"
import { websocketOptions } from "../sockets/Upgrade.ts"

/** Milliseconds a client may take to send its headers, and its whole request: slow senders hold no connection. */
const headersTimeoutMillis = 10_000
const requestTimeoutMillis = 30_000
/** How often both are looked at; Node's own 30 s would give a slow sender four times as long as it is allowed. */
const timeoutCheckMillis = 2_000
/** Connections at once on one door; more are closed at once rather than starving the ones that are served. */
const maximumConnections = 20_000
/** Time that requests under way get to finish once a stop was asked for; the whole process has 10 s. */
const gracePeriod = "8 seconds"
/** Bytes of a call on the internal door. */
export const maximumRpcBytes = 1_048_576

/** A turn of the event loop in which nothing happens took 1 to 4 microseconds, 13 at most in 99 of 100 (measured). */
const shortTurnNanos = 20_000n
/** Turns in vain after which one that is so much longer is short enough: who is busy without a pause ends as well. Ours. */
const turnsInVain = 16
/** Turns that a stop waits at most. Ours: a second where each one works for a millisecond. */
const maximumTurns = 1_000
/** Time for busy clients to ask once more on a connection they keep, and be told that it closes. Ours. */
export const quietMillis = 500

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

/** Leaves the connections that clients keep alone when it ends listening: on any of them somebody may be asking now. */
class DoorServer extends Server {
  override closeIdleConnections(): void {}
  /** Closes the connections that were answered on and wait for another request. */
  closeKept(): void {
    super.closeIdleConnections()
  }
}

const limited = (): DoorServer =>
  Object.assign(
    new DoorServer({
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
 * Does `act` in a turn of the event loop in which nobody connected and that was short. Whoever connects, or asks on a
 * connection that `act` closes, between the turn's look at the sockets and `act` is reset by the system: that cannot be
 * ruled out, only made rare.
 */
const inShortTurn = (server: Server, act: () => void): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.callback<void>((resume) => {
      let came = true
      let turns = 0
      let before = clock.monotonicTimeNanosUnsafe()
      const note = () => { came = true }
      const look = () => {
        const now = clock.monotonicTimeNanosUnsafe()
        const short = now - before <= shortTurnNanos * BigInt(1 + Math.floor(turns / turnsInVain))
        if ((came || !short) && turns++ < maximumTurns) {
          came = false
          before = now
          return void setImmediate(look)
        }
        act()
        server.off("connection", note)
        resume(Effect.void)
      }
      server.on("connection", note)
      setImmediate(look)
    })
  )

/**
 * What a stop does with a server: every answer from now on says that its connection closes, then nobody is let in any
 * more, then connections on which nobody asks are closed, again and again. Done when there is none left, or after
 * {@link gracePeriod}.
 */
const stopping = (server: DoorServer, connections: ReadonlySet<Socket>) => {
  const answers = new Set<ServerResponse>()
  let stops = false
  const sayClose = (answer: ServerResponse) => {
    if (!answer.headersSent) answer.setHeader("connection", "close")
  }
  server.on("request", (_, answer) => {
    if (stops) return sayClose(answer)
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
  })
  const closeQuiet = () => {
    server.closeKept()
    for (const connection of connections) if (connection.bytesRead === 0) connection.destroy()
  }
  return Effect.gen(function*() {
    const closed = yield* Latch.make()
    stops = true
    answers.forEach(sayClose)
    yield* inShortTurn(server, () => void server.close(() => closed.openUnsafe()))
    yield* Effect.sleep(quietMillis).pipe(
      Effect.andThen(inShortTurn(server, closeQuiet)),
      Effect.forever,
      Effect.raceFirst(closed.await),
      Effect.timeoutOption(gracePeriod)
    )
  })
}

/**
 * Listens and serves everything on `router`, from now until the scope closes: then no connection is taken any more,
 * requests under way finish within {@link gracePeriod}, and so do those that come on connections which clients kept:
 * their answers say that it closes. Whatever is left is cut. What is no request gets a page by `drawings`, where there
 * are any for it. Answers the address, with the port that was picked where 0 was asked for.
 */
export const open = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  address: Address,
  setting: "http" | "rpc",
  limits: { readonly maximumBodyBytes?: number; readonly crowd?: Crowd } = {},
  drawings?: typeof Drawings.Service
) {
  let stop: Effect.Effect<void> = Effect.void
  let server: DoorServer | undefined
  const connections = new Set<Socket>()
  const admits = limits.crowd === undefined ? () => true : admission(limits.crowd)
  const make = () => {
    server = limited()
    server.on("connection", (connection) => {
      if (!admits(connection)) return void connection.destroy()
      connections.add(connection)
      connection.once("close", () => connections.delete(connection))
    })
    if (drawings !== undefined) answerUnread(server, drawings)
    stop = stopping(server, connections)
    return server
  }
  const scope = yield* Effect.scope
  const door = yield* Layer.buildWithScope(
    NodeHttpServer.layerServer(make, {
      host: address.host,
      port: address.port,
      disablePreemptiveShutdown: true,
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
  yield* Effect.addFinalizer(() => stop)
  const bound = server?.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port
  return { url: `http://${printHost(address.host)}:${port}`, port }
})

/** A host as a URL and a person take it: the address of all interfaces is reached as localhost. */
export const printHost = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}
