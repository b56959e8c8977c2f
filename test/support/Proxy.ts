/**
 * A CONNECT proxy on this machine, as an operator would put one in front: keeps what it is asked, answers as it is
 * told.
 */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"

export interface Proxy {
  /** `host:port`. */
  readonly host: string
  /** Each `CONNECT` so far: the target and the credential that came with it. */
  readonly asked: () => ReadonlyArray<{ readonly target: string; readonly authorization: string | undefined }>
  /**
   * What it does with the next ones: leads them to this `host:port` whatever they name, answers with a status, or
   * (null) nothing at all.
   */
  readonly set: (way: string | number | null) => void
}

export const makeProxy: Effect.Effect<Proxy, never, Scope.Scope> = Effect.gen(function*() {
  const asked: Array<{ readonly target: string; readonly authorization: string | undefined }> = []
  const sockets = new Set<Socket>()
  let way: string | number | null = 502
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const made = createServer((_, response) => response.writeHead(405).end())
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.callback<void>((resume) => {
        for (const socket of sockets) socket.destroy()
        made.close(() => resume(Effect.void))
        made.closeAllConnections()
      })
  )
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => {}).once("close", () => sockets.delete(socket))
    return socket
  }
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    track(socket)
    asked.push({ target: request.url ?? "", authorization: request.headers["proxy-authorization"] })
    if (way === null) return
    if (typeof way === "number") return void socket.end(`HTTP/1.1 ${way} Refused\r\ncontent-length: 0\r\n\r\n`)
    const [host = "", port] = way.split(":")
    const onward = track(connect(Number(port), host))
    onward.once("connect", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      onward.pipe(socket)
      socket.pipe(onward)
    })
  })
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    set: (next) => {
      way = next
    }
  }
})
