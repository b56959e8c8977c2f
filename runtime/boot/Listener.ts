/** The two ports: what listens, with which limits, and how it stops. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Latch, Layer, Predicate, Schema } from "effect"
import { HttpIncomingMessage, type HttpRouter } from "effect/http"
import { Server, type ServerOptions, type ServerResponse } from "node:http"
import { createServer, type Socket } from "node:net"
import { inRanges, prefixesOf } from "../http/Addresses.ts"
import { serve } from "../http/NodeServer.ts"
import { answerParseErrors, type ParseErrorOptions } from "../http/ParseErrors.ts"
import type { SettingsValue } from "../Settings.ts"
import { websocketOptions } from "../sockets/Upgrade.ts"
import { type Connections, makeConnections } from "./Connections.ts"

/** Milliseconds a client may take to send its headers, and its whole request: slow senders hold no connection. */
const headersTimeoutMillis = 10_000
const requestTimeoutMillis = 30_000
/**
 * Milliseconds without a byte in either direction after which a connection of the public port is cut, so that a client
 * that stops reading holds its answers no longer. Every route answers sooner.
 */
export const idleTimeoutMillis = 30_000
/** How often both are looked at; Node's own 30 s would give a slow sender four times as long as it is allowed. */
const timeoutCheckMillis = 2_000
/** Connections at once on one port; more are closed at once rather than starving the ones that are served. */
const maximumConnections = 20_000
/** Time that requests under way get to finish once a stop was asked for; the whole process has 10 s. */
const gracePeriod = "8 seconds"
/** Bytes of a call on the internal port. */
export const maximumRpcBytes = 1_048_576

/** A turn of the event loop in which nothing happens took 1 to 4 microseconds, 13 at most in 99 of 100 (measured). */
const shortTurnNanos = 20_000n
/** Turns in vain after which one that is so much longer is short enough: who is busy without a pause ends as well. */
const turnsBeforeRelaxing = 16
/** Turns that a stop waits at most: a second where each one works for a millisecond. */
const maximumTurns = 1_000
/**
 * Time for busy clients to ask once more on a connection they keep, and be told that it closes: far longer than a call
 * takes.
 */
export const closeIntervalMillis = 500

export interface Address {
  readonly host: string
  readonly port: number
}

/** A port cannot be opened: what is wrong and what to do. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** Why listening failed, for an operator. `setting` is the key that holds the address. */
const explain = ({ host, port }: Address, setting: string) => (error: { readonly cause?: unknown }): ListenFailed => {
  const code = Predicate.hasProperty(error.cause, "code") ? String(error.cause.code) : "unknown"
  const hint: Readonly<Record<string, string>> = {
    EADDRINUSE: `another process listens there: stop it, or choose another port by ${setting}.port in the config `
      + `or TILLWIRE__${setting.toUpperCase()}__PORT`,
    EACCES: "ports below 1024 need a privilege: choose a higher one, or put a proxy in front",
    ENOTSUP: "this system cannot divide a port among processes: set http.processes to 1",
    EADDRNOTAVAIL: `this machine has no such address: correct ${setting}.host`
  }
  return new ListenFailed({ reason: `cannot listen on ${host}:${port} (${code}): ${hint[code] ?? `check ${setting}`}` })
}

/** Whether a port can be opened: for the first process, which says so before its HTTP processes would, each by itself. */
export const checkAddress = (address: Address, setting: "http"): Effect.Effect<void, ListenFailed> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (cause) => resume(Effect.fail(explain(address, setting)({ cause }))))
    server.listen({ host: address.host, port: address.port }, () => server.close(() => resume(Effect.void)))
  })

/**
 * Leaves the connections that clients keep alone when it ends listening: on any of them somebody may be asking now.
 * Requests beyond {@link Connections.admit}'s limit are not emitted.
 */
class GracefulServer extends Server {
  private readonly registry: Connections
  constructor(connections: Connections, options: ServerOptions) {
    super(options)
    this.registry = connections
  }
  /** Node emits each request with its answer, by one of the three events below. */
  override emit(event: string, ...args: Array<any>): boolean {
    if (event === "upgrade") this.registry.upgrade(args[1])
    if (event === "request" || event === "checkContinue" || event === "checkExpectation") {
      const [request, answer]: Array<any> = args
      if (!this.registry.admit(request.socket, answer)) return true
    }
    return super.emit(event, ...args)
  }
  override closeIdleConnections(): void {}
  /** Closes the connections that were answered on and wait for another request. */
  closeIdle(): void {
    super.closeIdleConnections()
  }
}

const makeServer = (connections: Connections, timeoutMillis: number): GracefulServer =>
  Object.assign(
    new GracefulServer(connections, {
      headersTimeout: headersTimeoutMillis,
      requestTimeout: requestTimeoutMillis,
      connectionsCheckingInterval: timeoutCheckMillis
    }),
    { maxConnections: maximumConnections, timeout: timeoutMillis }
  )

/**
 * How many connections one address may hold; the wider IPv6 ranges of `prefixesOf` may hold `limitFactor` times as
 * many. Addresses in `exemptRanges`, such as proxies and this machine, stand for many callers and are not counted.
 */
export interface ConnectionLimits {
  readonly perAddress: number
  readonly exemptRanges: ReadonlyArray<string>
}

/** `limits.connectionsPerAddress`, or its default, which is lower where mainnet is served. */
export const connectionsPerAddress = (
  { environments, limits }: Pick<SettingsValue, "environments" | "limits">
): number => limits.connectionsPerAddress ?? (environments.includes("mainnet") ? 100 : 1_000)

/** Whether a connection may stay: it is counted for its networks until it closes. */
const makeConnectionCheck = ({ perAddress, exemptRanges }: ConnectionLimits) => {
  const counts = new Map<string, number>()
  const isExempt = inRanges(exemptRanges)
  return (connection: Socket): boolean => {
    const address = connection.remoteAddress ?? ""
    if (isExempt(address)) return true
    const prefixes = prefixesOf(address)
    if (prefixes.some(({ name, limitFactor }) => (counts.get(name) ?? 0) >= perAddress * limitFactor)) return false
    for (const { name } of prefixes) counts.set(name, (counts.get(name) ?? 0) + 1)
    connection.once("close", () => {
      for (const { name } of prefixes) {
        const remaining = counts.get(name)! - 1
        if (remaining === 0) counts.delete(name)
        else counts.set(name, remaining)
      }
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
      let hadConnection = true
      let turns = 0
      let before = clock.monotonicTimeNanosUnsafe()
      const noteConnection = () => {
        hadConnection = true
      }
      const checkTurn = () => {
        const now = clock.monotonicTimeNanosUnsafe()
        const short = now - before <= shortTurnNanos * BigInt(1 + Math.floor(turns / turnsBeforeRelaxing))
        if ((hadConnection || !short) && turns++ < maximumTurns) {
          hadConnection = false
          before = now
          return void setImmediate(checkTurn)
        }
        act()
        server.off("connection", noteConnection)
        resume(Effect.void)
      }
      server.on("connection", noteConnection)
      setImmediate(checkTurn)
    })
  )

/**
 * What a stop does with a server: every answer from now on says that its connection closes, then nobody is let in any
 * more, then connections on which nobody asks are closed, again and again. Done when there is none left, or after
 * {@link gracePeriod}.
 */
const makeStop = (server: GracefulServer, connections: Connections) => {
  let isStopping = false
  const sayClose = (answer: ServerResponse) => {
    if (!answer.headersSent) answer.setHeader("connection", "close")
  }
  server.on("request", (_, answer) => {
    if (isStopping) sayClose(answer)
  })
  const closeUnused = () => {
    server.closeIdle()
    for (const connection of connections.all()) if (connection.bytesRead === 0) connection.destroy()
  }
  return Effect.gen(function*() {
    const closeLatch = yield* Latch.make()
    isStopping = true
    for (const answer of connections.answers()) sayClose(answer)
    yield* inShortTurn(server, () => void server.close(() => closeLatch.openUnsafe()))
    yield* Effect.sleep(closeIntervalMillis).pipe(
      Effect.andThen(inShortTurn(server, closeUnused)),
      Effect.forever,
      Effect.raceFirst(closeLatch.await),
      Effect.timeoutOption(gracePeriod)
    )
  })
}

/** Limits of one listener, beside those that all have. */
export interface ListenerLimits {
  readonly maximumBodyBytes?: number
  readonly connectionLimits?: ConnectionLimits
  /** Milliseconds without a byte in either direction after which a connection is cut. Absent: none, for RPC streams. */
  readonly idleTimeoutMillis?: number
  /** Whether other processes of the service listen on the same address. */
  readonly isPortShared?: boolean
}

/**
 * Listens and serves everything on `router`, from now until the scope closes: then no connection is taken any more,
 * requests under way finish within {@link gracePeriod}, and so do those that come on connections which clients kept:
 * their answers say that it closes. Whatever is left is cut. What is no request is answered by `parseErrors`. Answers
 * the address, with the port that was picked where 0 was asked for.
 */
export const listen = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  address: Address,
  setting: "http" | "rpc",
  limits: ListenerLimits = {},
  parseErrors?: ParseErrorOptions
) {
  let stop: Effect.Effect<void> = Effect.void
  let server: GracefulServer | undefined
  const connections = yield* makeConnections
  const isWithinLimits = limits.connectionLimits === undefined
    ? () => true
    : makeConnectionCheck(limits.connectionLimits)
  const make = () => {
    server = makeServer(connections, limits.idleTimeoutMillis ?? 0)
    server.on("connection", (connection) => {
      if (!isWithinLimits(connection)) return void connection.destroy()
      connections.add(connection)
    })
    if (parseErrors !== undefined) answerParseErrors(server, parseErrors)
    stop = makeStop(server, connections)
    return server
  }
  const scope = yield* Effect.scope
  yield* Layer.buildWithScope(
    NodeHttpServer.layerServer(make, {
      host: address.host,
      port: address.port,
      reusePort: limits.isPortShared === true,
      disablePreemptiveShutdown: true
    }),
    scope
  ).pipe(Effect.mapError(explain(address, setting)))
  // The server is waited for without limit: by now the grace period is over, and what still holds on is cut.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const connection of connections.all()) connection.destroy()
    })
  )
  yield* serve(server!, router.asHttpEffect(), { websocket: websocketOptions }).pipe(
    Effect.provideService(
      HttpIncomingMessage.MaxBodySize,
      limits.maximumBodyBytes === undefined ? undefined : ByteSize.bytes(limits.maximumBodyBytes)
    )
  )
  yield* Effect.addFinalizer(() => stop)
  const boundAddress = server?.address()
  const port = typeof boundAddress === "object" && boundAddress !== null ? boundAddress.port : address.port
  return { url: `http://${printHost(address.host)}:${port}`, port }
})

/** A host as a URL and a person take it: the address of all interfaces is reached as localhost. */
export const printHost = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}
