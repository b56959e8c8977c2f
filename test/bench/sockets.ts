/**
 * Frames to many sockets, and what an idle one holds: the hub behind a real door, told of events by a bus without a
 * database, beside bare `ws` that sends the same texts to as many. Commits are not in it: they are measured by
 * `create`.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"
import * as Doors from "../../runtime/boot/Listener.ts"
import type { CommittedEvent } from "../../runtime/Commit.ts"
import { EventBus, type EventHandler } from "../../runtime/EventBus.ts"
import { Revocations } from "../../runtime/Http.ts"
import * as Hub from "../../runtime/sockets/Hub.ts"
import { Sockets } from "../../runtime/Sockets.ts"
import { payorDataText, payorEventText } from "../../schemas/Event.ts"
import { eventIdOf } from "../../schemas/Ids.ts"
import { answerQuestions, cpuMicros, type Role, say, serveRole, specification } from "../support/Process.ts"
import type { Bench } from "./Bench.ts"
import { median, type ReportLine } from "./Report.ts"

const [few, many] = [1_000, 5_000] as const

/** Sockets that hear of one event: as many as a key may have. */
const groupSize = 20

/** Each turn gives every socket so many frames; the next one starts when all have arrived. */
const framesEach = 5
const frames = 400_000
const warmUpFrames = 200_000

/** For what a handshake left behind to be collected. */
const settleMillis = 1_500

/** Connections that are opened at once. */
const opening = 100

/** Characters of an event's data: its frame has about 900 bytes. */
const data = JSON.stringify({ object: { object: "invoice", id: "x", note: "n".repeat(600) }, previous_attributes: {} })

/** What the servers say first. */
interface Serving {
  readonly port: number
  /** Bytes of a frame. */
  readonly frame: number
}

type ServerQuestion = { readonly ask: "tell"; readonly groups: number; readonly frames: number } | {
  readonly ask: "memory"
}

const groupOf = (url: string | undefined): string => url!.slice(url!.indexOf("?") + 1)

/** Resident bytes once everything that can be collected is, and given back: handshakes leave empty pages behind. */
const memory = async () => {
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc!({ type: "major", execution: "sync", flavor: "last-resort" })
    await new Promise((resolve) => setTimeout(resolve, settleMillis / 3))
  }
  return { bytes: process.memoryUsage().rss }
}

/** Of an unmasked text frame below 64 KB and above 125 bytes. */
const headBytes = 4

let told = 0
const eventFor = (group: string): CommittedEvent => {
  const position = { ms: 1_700_000_000_000n, seq: BigInt(1_000_000 + told++) }
  return {
    id: eventIdOf(position),
    position,
    merchantId: 1,
    type: "invoice.updated",
    environment: "devnet",
    created: 1_700_000_000,
    requestId: null,
    idempotencyKey: null,
    invoiceId: group,
    orderId: null,
    customerId: null,
    commerce: false,
    pendingWebhooks: 0,
    data,
    isForPayors: true
  }
}

/** The text that listeners get. */
const textOf = (group: string) => {
  const event = eventFor(group)
  return payorEventText(event, payorDataText(event.data))
}
const frameBytes = Buffer.byteLength(textOf("")) + headBytes

const hub = Effect.gen(function*() {
  const handlers: Array<EventHandler> = []
  const bus = EventBus.of({
    subscribe: (_, handler) => Effect.sync(() => void handlers.push(handler)),
    readAfter: () => Effect.succeed([]),
    countAfter: () => Effect.succeed(0),
    prunedPosition: () => Effect.succeed({ ms: 0n, seq: 0n }),
    nextPosition: () => Effect.succeed({ ms: 0n, seq: 0n }),
    staleMillis: () => 0
  })
  const revocations = Revocations.of({
    register: () => Effect.void,
    awaitEnd: () => Effect.never,
    isGood: () => Effect.succeed(true)
  })
  const sockets = Context.get(
    yield* Layer.build(Hub.layer.pipe(
      Layer.provide(Layer.succeed(EventBus, bus)),
      Layer.provide(Layer.succeed(Revocations, revocations))
    )),
    Sockets
  )
  const router = yield* HttpRouter.make
  let sessions = 0
  yield* router.add(
    "GET",
    "/ws",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
      sockets.serveInvoice({
        merchantId: 1,
        invoiceId: groupOf(url),
        sessionKey: String(sessions++),
        expiresAt: 9_000_000_000,
        apiVersion: "2026-01-15",
        since: null,
        greeting: Effect.succeed([])
      }))
  )
  const { port } = yield* Doors.listen(router, { host: "127.0.0.1", port: 0 }, "http")
  answerQuestions<ServerQuestion>(async (question) => {
    if (question.ask === "memory") return await memory()
    for (let n = 0; n < question.frames; n++) {
      const events = Array.from({ length: question.groups }, (_, group) => eventFor(String(group)))
      for (const handler of handlers) await Effect.runPromise(handler(events))
    }
    return {}
  })
  say({ port, frame: frameBytes } satisfies Serving)
  return yield* Effect.never
})

const bare = () => {
  const groups = new Map<string, Set<WebSocket>>()
  const server = createServer()
  new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket, { url }) => {
    const listeners = groups.get(groupOf(url)) ?? new Set()
    groups.set(groupOf(url), listeners.add(socket))
    socket.on("close", () => listeners.delete(socket))
  })
  answerQuestions<ServerQuestion>(async (question) => {
    if (question.ask === "memory") return await memory()
    for (let n = 0; n < question.frames; n++) {
      for (const [group, listeners] of groups) {
        const text = textOf(group)
        for (const socket of listeners) socket.send(text)
      }
    }
    return {}
  })
  server.listen(
    0,
    "127.0.0.1",
    () => say({ port: (server.address() as { readonly port: number }).port, frame: frameBytes })
  )
}

type ClientQuestion =
  | { readonly ask: "connect"; readonly port: number; readonly count: number }
  | { readonly ask: "reset" }
  | { readonly ask: "reached"; readonly bytes: number }

const handshake = (group: number) =>
  `GET /ws?${group} HTTP/1.1\r\nhost: till\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`
  + "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

/** Many clients that read and count, in one process: no library, so that they cost little. */
const clients = () => {
  let bytes = 0
  let count = 0
  let wanted: { readonly bytes: number; readonly tell: (said: object) => void } | undefined
  const check = () => {
    if (wanted === undefined || bytes < wanted.bytes) return
    wanted.tell({})
    wanted = undefined
  }
  const open = (port: number) =>
    new Promise<Socket>((resolve, reject) => {
      const group = Math.floor(count++ / groupSize)
      const socket = connect(port, "127.0.0.1", () => socket.write(handshake(group)))
      socket.once("error", reject)
      socket.once("data", (chunk) => {
        if (!chunk.toString("latin1").startsWith("HTTP/1.1 101")) return reject(new Error(chunk.toString("latin1")))
        socket.on("data", (more) => {
          bytes += more.length
          check()
        })
        resolve(socket)
      })
      socket.once("close", () => {
        throw new Error("a socket was closed")
      })
    })
  answerQuestions<ClientQuestion>(async (question) => {
    switch (question.ask) {
      case "connect":
        while (count < question.count) {
          await Promise.all(
            Array.from({ length: Math.min(opening, question.count - count) }, () => open(question.port))
          )
        }
        return {}
      case "reset":
        bytes = 0
        return {}
      case "reached":
        return bytes >= question.bytes ? {} : new Promise<object>((tell) => {
          wanted = { bytes: question.bytes, tell }
        })
    }
  })
  say({})
}

/** Those of `npm start`, and a way to collect. */
const flags = ["--max-semi-space-size=4", "--initial-old-space-size=48", "--expose-gc"]

interface RoleSpec {
  readonly role: "hub" | "bare" | "clients"
}

const roleOf = <A>(role: RoleSpec["role"]): Effect.Effect<Role<A>, never, Scope.Scope> =>
  serveRole<A>(new URL(import.meta.url), { role } satisfies RoleSpec, flags)

interface Measured {
  readonly perSecond: number
  readonly cpuEach: number
  /** Kilobytes (1,024 bytes) that an idle socket holds. */
  readonly held: number
}

/**
 * One fresh server and so many sockets. What one holds is resident memory, with what the first handshakes made grow.
 */
const measure = (role: "hub" | "bare", size: number): Effect.Effect<Measured> =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* roleOf<Serving>(role)
    const readers = yield* roleOf<object>("clients")
    const connected = (count: number) => readers.ask({ ask: "connect", port: server.said.port, count })
    const resident = Effect.map(server.ask<{ readonly bytes: number }>({ ask: "memory" }), ({ bytes }) => bytes)
    const empty = yield* resident
    yield* connected(size)
    const held = ((yield* resident) - empty) / size / 1_024
    const drive = (total: number) =>
      Effect.forEach(Array.from({ length: total / size / framesEach }), () =>
        Effect.gen(function*() {
          yield* readers.ask({ ask: "reset" })
          yield* server.ask({ ask: "tell", groups: size / groupSize, frames: framesEach })
          yield* readers.ask({ ask: "reached", bytes: size * framesEach * server.said.frame })
        }), { discard: true })
    yield* drive(warmUpFrames)
    const start = performance.now()
    const before = cpuMicros(server.pid)
    yield* drive(frames)
    const cpuEach = (cpuMicros(server.pid) - before) / frames
    return { perSecond: frames / ((performance.now() - start) / 1_000), cpuEach, held }
  }))

export const sockets = ({ progress, rounds }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const sizes = [few, many]
    const seen = sizes.map((): Record<"hub" | "bare", Array<Measured>> => ({ hub: [], bare: [] }))
    for (let round = 1; round <= rounds; round++) {
      for (const [at, size] of sizes.entries()) {
        for (const role of ["hub", "bare"] as const) seen[at]![role].push(yield* measure(role, size))
        const now = (role: "hub" | "bare") => {
          const { cpuEach, held, perSecond } = seen[at]![role].at(-1)!
          return `${perSecond.toFixed(0)} frames/s, ${cpuEach.toFixed(2)} us CPU, ${held.toFixed(1)} KB a socket`
        }
        progress(`sockets, ${size} ${round}/${rounds}: tillwire ${now("hub")}; bare ws ${now("bare")}`)
      }
    }
    const name = { hub: "tillwire's hub", bare: "bare ws" } as const
    const lines: Array<ReportLine> = []
    sizes.forEach((size, at) => {
      for (const role of ["hub", "bare"] as const) {
        const all = seen[at]![role]
        lines.push({
          section: "sockets",
          what: `${name[role]}, ${size.toLocaleString("en")} sockets`,
          value: median(all.map(({ perSecond }) => perSecond)),
          unit: "/s",
          note: `${median(all.map(({ cpuEach }) => cpuEach)).toFixed(2)} us CPU a frame of ${frameBytes} bytes`
        })
      }
      lines.push({
        section: "sockets",
        what: `CPU a frame against bare ws, ${size.toLocaleString("en")} sockets`,
        value: median(seen[at]!.hub.map(({ cpuEach }, round) => cpuEach / seen[at]!.bare[round]!.cpuEach)),
        unit: "x",
        goal: { atMost: 1.2 },
        note: `the hub without commits; one event to ${groupSize} sockets`
      })
    })
    const held = (role: "hub" | "bare") => median(seen[1]![role].map(({ held }) => held))
    lines.push({
      section: "sockets",
      what: "memory of an idle socket",
      value: held("hub"),
      unit: "KB",
      goal: { atMost: 16 },
      note: `bare ws ${held("bare").toFixed(1)} KB; resident memory of ${many.toLocaleString("en")}, after a collection`
    })
    return lines
  })

if (import.meta.main) {
  const { role } = specification<RoleSpec>()
  if (role === "bare") bare()
  else if (role === "clients") clients()
  else Effect.runFork(Effect.scoped(hub))
}
