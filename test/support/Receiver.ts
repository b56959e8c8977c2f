/**
 * A merchant's webhook server, real down to the socket: keeps what arrives as raw bytes, answers as each path is told.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { readFileSync } from "node:fs"
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, type SecureContextOptions, type TlsOptions } from "node:tls"

/** One request as it arrived. */
export interface ReceivedRequest {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: ReadonlyArray<string>
  readonly body: Buffer
  /** `performance.now()` when the first byte of the request was read, and when its answer ended; null while open. */
  readonly startedAt: number
  endedAt: number | null
}

/** How a path answers, by the number of the request to it, from 1. */
export type Behaviour = (n: number, arrival: ReceivedRequest, response: ServerResponse) => void

/** Answers with a status at once. */
export const answers =
  (status: number, headers: Readonly<Record<string, string>> = {}, body: string | Uint8Array = ""): Behaviour =>
  (_, __, response) => response.writeHead(status, headers).end(body)

/** Answers with each status in turn, then with the last for ever. */
export const answersInTurn = (...statuses: ReadonlyArray<number>): Behaviour => (n, _, response) =>
  response.writeHead(statuses[Math.min(n, statuses.length) - 1]!).end()

/** Keeps the connection and never says a word. */
export const neverAnswers: Behaviour = () => {}

export interface Receiver {
  /** `host:port`, as `webhooks.devnetReceivers` takes it. */
  readonly host: string
  readonly url: (path: string) => string
  readonly script: (path: string, behaviour: Behaviour) => void
  readonly arrivals: (path?: string) => ReadonlyArray<ReceivedRequest>
  /** Connections open now. */
  readonly open: () => number
  /** Resolves when `path` has seen `n` requests. */
  readonly seen: (path: string, n: number) => Effect.Effect<ReadonlyArray<ReceivedRequest>>
}

/**
 * Made once by openssl: `cert` and `stranger` are each signed by themselves, for localhost and 127.0.0.1, until 2126;
 * signed by `cert` are `expired` (in 2021) and `otherhost` (for other.example). All have one key.
 */
const tls = (name: "cert" | "key" | Identity) => readFileSync(new URL(`tls/${name}.pem`, import.meta.url), "utf8")

/** The certificate of https receivers: for localhost and 127.0.0.1, signed by itself. */
export const receiverCertificate = tls("cert")

/** Certificates that are no good for localhost. */
export type Identity = "expired" | "otherhost" | "stranger"

/** What a receiver says of itself in TLS. */
export const identity = (certificate: "cert" | Identity = "cert"): SecureContextOptions => ({
  key: tls("key"),
  cert: tls(certificate)
})

/** A server of bytes, for receivers that break HTTP: what it does with a connection is its own. */
export interface RawReceiver {
  /** `host:port`, as `webhooks.devnetReceivers` takes it. */
  readonly host: string
  /** Connections so far, and those open now. */
  readonly accepted: () => number
  readonly open: () => number
}

/** Calls `serve` with each connection; over TLS with options, once the handshake is done. */
export const makeRawReceiver = (
  serve: (socket: Socket) => void,
  tlsOptions?: TlsOptions
): Effect.Effect<RawReceiver, never, Scope.Scope> =>
  Effect.gen(function*() {
    const sockets = new Set<Socket>()
    let accepted = 0
    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const made = tlsOptions === undefined ? createServer(serve) : createTlsServer(tlsOptions, serve)
        made.on("connection", (socket: Socket) => {
          accepted++
          sockets.add(socket)
          socket.on("error", () => {})
          socket.once("close", () => sockets.delete(socket))
        })
        made.on("secureConnection", (socket: Socket) => socket.on("error", () => {}))
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
    return {
      host: `localhost:${(server.address() as AddressInfo).port}`,
      accepted: () => accepted,
      open: () => sockets.size
    }
  })

/** A receiver on a free port of this machine; paths without a script answer 200. */
export const makeReceiver = (scheme: "http" | "https" = "http"): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.gen(function*() {
    const arrivals: Array<ReceivedRequest> = []
    const scripts = new Map<string, Behaviour>()
    const watchers = new Set<() => void>()
    const ofPath = (path?: string) => path === undefined ? arrivals : arrivals.filter((each) => each.path === path)

    const listener = (request: IncomingMessage, response: ServerResponse) => {
      const startedAt = performance.now()
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const path = request.url ?? ""
        const arrival: ReceivedRequest = {
          path,
          method: request.method ?? "",
          headers: request.headers as Record<string, string>,
          rawHeaders: request.rawHeaders,
          body: Buffer.concat(chunks),
          startedAt,
          endedAt: null
        }
        arrivals.push(arrival)
        response.on("close", () => {
          arrival.endedAt = performance.now()
        })
        ;(scripts.get(path) ?? answers(200))(ofPath(path).length, arrival, response)
        for (const look of watchers) look()
      })
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createHttpServer>>((resume) => {
        const made = scheme === "http"
          ? createHttpServer(listener)
          : createHttpsServer({ key: tls("key"), cert: receiverCertificate }, listener)
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    let open = 0
    server.on("connection", (socket) => {
      open++
      socket.once("close", () => open--)
    })
    const host = `localhost:${(server.address() as AddressInfo).port}`

    const seen = (path: string, n: number) =>
      Effect.callback<ReadonlyArray<ReceivedRequest>>((resume) => {
        const look = () => {
          if (ofPath(path).length < n) return
          watchers.delete(look)
          resume(Effect.succeed(ofPath(path)))
        }
        watchers.add(look)
        look()
        return Effect.sync(() => void watchers.delete(look))
      })

    return {
      host,
      url: (path) => `${scheme}://${host}${path}`,
      script: (path, behaviour) => void scripts.set(path, behaviour),
      arrivals: ofPath,
      open: () => open,
      seen
    }
  })
