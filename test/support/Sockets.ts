/** Websocket clients of tests: a well-behaved one by `ws`, and one that writes whatever bytes it is told to. */
import { Effect, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import { WebSocket } from "ws"

export interface Client {
  readonly socket: WebSocket
  readonly frames: Array<any>
  readonly texts: Array<string>
  /** The next frame not yet taken. */
  readonly next: Effect.Effect<any>
  readonly take: (n: number) => Effect.Effect<Array<any>>
  readonly closed: Effect.Effect<{ readonly code: number; readonly reason: string }>
}

/** An upgrade that was refused: the answer's status, and its body where that is JSON. */
export interface RefusedUpgrade {
  readonly status: number
  readonly body: any
}

export interface ConnectOptions {
  readonly protocols?: Array<string>
  readonly headers?: Record<string, string>
}

/** Connects, and cuts the connection when the scope closes. */
export const connectTo = (
  url: string,
  options: ConnectOptions = {}
): Effect.Effect<Client, RefusedUpgrade, Scope.Scope> =>
  Effect.gen(function*() {
    const socket = new WebSocket(url, options.protocols ?? [], { headers: options.headers ?? {} })
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
    const texts: Array<string> = []
    const frames: Array<any> = []
    const watchers = new Set<() => void>()
    socket.on("message", (data) => {
      texts.push(String(data))
      frames.push(JSON.parse(String(data)))
      for (const look of watchers) look()
    })
    const closing = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }))
    )
    let taken = 0
    const take = (n: number) =>
      Effect.callback<Array<any>>((resume) => {
        const look = () => {
          if (frames.length < taken + n) return
          watchers.delete(look)
          resume(Effect.succeed(frames.slice(taken, taken += n)))
        }
        watchers.add(look)
        look()
        return Effect.sync(() => void watchers.delete(look))
      })
    const client: Client = {
      socket,
      frames,
      texts,
      take,
      next: Effect.map(take(1), ([frame]) => frame),
      closed: Effect.promise(() => closing)
    }
    return yield* Effect.callback<Client, RefusedUpgrade>((resume) => {
      socket.on("open", () => resume(Effect.succeed(client)))
      socket.on("unexpected-response", (_, response) => {
        let text = ""
        response.on("data", (chunk) => text += String(chunk))
        response.on("end", () => {
          const body = response.headers["content-type"]?.includes("json") === true ? JSON.parse(text) : text
          resume(Effect.fail({ status: response.statusCode ?? 0, body }))
        })
      })
      socket.on("error", () => {})
    })
  })

/** The code a stream was ended with, and that of the `ws_error` before it. */
export const endOf = (client: Client) =>
  Effect.map(client.closed, ({ code }) => [code, client.frames.findLast(({ object }) => object === "ws_error")?.code])

/** `<status> <code>` of a refusal, whose body must be the wrapped one. */
export const refusalOf = <R>(connecting: Effect.Effect<unknown, RefusedUpgrade, R>) =>
  Effect.map(
    Effect.flip(Effect.flatMap(connecting, () => Effect.die(new Error("it was opened")))),
    ({ body, status }) => {
      const keys = `${Object.keys(body).join()} ${Object.keys(body.error ?? {}).join()}`
      if (keys !== "success,error code,message,param,details,request_id") {
        throw new Error(`not the wrapped body: ${JSON.stringify(body)}`)
      }
      return `${status} ${body.error.code}`
    }
  )

/** A frame of a server: unmasked. */
export interface Frame {
  readonly opcode: number
  readonly payload: Buffer
}

export interface RawSocket {
  readonly tcp: Socket
  /** The status of the handshake's answer. */
  readonly status: number
  readonly frames: () => ReadonlyArray<Frame>
  readonly isClosed: () => boolean
  /** The code of the server's close frame; undefined where the connection ended without one. */
  readonly closed: Effect.Effect<number | undefined>
}

const framesIn = (bytes: Buffer): ReadonlyArray<Frame> => {
  const frames: Array<Frame> = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const short = bytes[at + 1]! & 0x7f
    const head = short === 126 ? 4 : short === 127 ? 10 : 2
    if (at + head > bytes.length) break
    const size = short === 126
      ? bytes.readUInt16BE(at + 2)
      : short === 127
      ? Number(bytes.readBigUInt64BE(at + 2))
      : short
    if (at + head + size > bytes.length) break
    frames.push({ opcode: bytes[at]! & 0x0f, payload: bytes.subarray(at + head, at + head + size) })
    at += head + size
  }
  return frames
}

/** A client's frame as RFC 6455 has it, or not: every part can be made wrong. */
export const frame = (opcode: number, payload: Buffer | string = "", wrong: {
  readonly fin?: boolean
  readonly reserved?: number
  readonly masked?: boolean
  /** The length to claim, in 64 bits. */
  readonly claims?: bigint
} = {}): Buffer => {
  const { fin = true, masked = true, reserved = 0 } = wrong
  const bytes = Buffer.from(payload)
  const bit = masked ? 0x80 : 0
  const first = (fin ? 0x80 : 0) | reserved << 4 | opcode
  const head = wrong.claims !== undefined
    ? Buffer.concat([Buffer.of(first, bit | 127), Buffer.from(wrong.claims.toString(16).padStart(16, "0"), "hex")])
    : bytes.length < 126
    ? Buffer.of(first, bit | bytes.length)
    : Buffer.of(first, bit | 126, bytes.length >> 8, bytes.length & 0xff)
  if (!masked) return Buffer.concat([head, bytes])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ mask[at % 4]!)])
}

/** A close frame with a code as it is, valid or not. */
export const closeFrame = (code: number, reason: Buffer | string = ""): Buffer => {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return frame(0x8, Buffer.concat([payload, Buffer.from(reason)]))
}

/** Makes a handshake by hand, with headers added or replaced, and gives the connection as it is. */
export const rawSocket = (
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<RawSocket, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { host, hostname, pathname, port, search } = new URL(url)
    const tcp = yield* Effect.acquireRelease(
      Effect.sync(() => connect(Number(port), hostname)),
      (open) => Effect.sync(() => open.destroy())
    )
    let received = Buffer.alloc(0)
    let head = -1
    let isClosed = false
    const ended = new Promise<void>((resolve) =>
      tcp.once("close", () => {
        isClosed = true
        resolve()
      })
    )
    tcp.on("error", () => {})
    const frames = () => framesIn(received.subarray(head + 4))
    const sent: Record<string, string> = {
      host,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      ...headers
    }
    tcp.write(`GET ${pathname}${search} HTTP/1.1\r\n${
      Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`).join("")
    }\r\n`)
    const status = yield* Effect.callback<number>((resume) => {
      tcp.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        if (head !== -1) {
          return
        }
        head = received.indexOf("\r\n\r\n")
        if (head !== -1) {
          resume(Effect.succeed(Number(received.subarray(9, 12).toString())))
        }
      })
      tcp.once("close", () =>
        resume(Effect.succeed(0)))
    })
    const closed = Effect.map(Effect.promise(() => ended), () => {
      const last = frames().findLast(({ opcode }) => opcode === 0x8)
      return last === undefined || last.payload.length < 2 ? undefined : last.payload.readUInt16BE(0)
    })
    return { tcp, status, frames, isClosed: () => isClosed, closed }
  })
