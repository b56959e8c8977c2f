/** The websocket hub: a map from invoice to its listeners, frames made once per event, bounds on everything. */
import { Clock, Deferred, Effect, Layer, Metric, Option, Schedule, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Socket } from "effect/socket"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { type CommittedEvent } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import { RequestInfo } from "../Http.ts"
import { errorResponse } from "../http/Families.ts"
import { type InvoiceStream, Sockets } from "../Sockets.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { payorEventText } from "../../schemas/Event.ts"
import { type EventPosition, readEventId } from "../../schemas/Ids.ts"
import { Connection } from "./Connection.ts"
import {
  endings,
  heartbeatText,
  readyText,
  replayCompleteText,
  replayStartText,
  resyncText,
  textFrame
} from "./Frames.ts"

/** Sockets per payment session (API reference, "Websocket"). */
export const maximumPerSession = 5

/** Events a replay holds at most, and how old they may be (API reference, "Websocket"). */
export const maximumReplay = 1_000
export const maximumReplayMillis = 86_400_000

/** How long listeners stay after the invoice reached its end (API reference, "Websocket"). */
export const terminalMillis = 60_000

/** Bytes of a client's message (API reference, "Websocket"). */
const maximumMessageBytes = 4_096

/** Replayed frames between two waits for the reader, so that a long replay never counts as being slow. */
const replayChunk = 100

/** How long a peer may take to answer our close before its socket is cut. */
const closeMillis = 1_000

const isPing = (text: string): boolean => Option.isSome(decodePing(text))
const decodePing = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ object: Schema.Literal("ws_ping") }))
)

/** Statuses that end the payor's part; late money on an expired invoice is seen by whoever asks again. */
const terminalStatuses: ReadonlySet<string> = new Set(["paid", "expired", "canceled"])

/** Whether the event leaves the invoice at its end; undefined when it does not tell. */
const isTerminal = (event: CommittedEvent): boolean | undefined =>
  event.type.startsWith("invoice.") ? terminalStatuses.has(JSON.parse(event.data).object.status) : undefined

/** The frame of a text in each version somebody listens in, made once. */
const frames = (text: (version: string) => string) => {
  const made = new Map<string, Buffer>()
  return (version: string): Buffer => {
    const frame = made.get(version) ?? textFrame(text(version))
    made.set(version, frame)
    return frame
  }
}

/** An error before the upgrade, in the wrapped family. */
export const refuseUpgrade = (error: PublicError): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(RequestInfo, ({ requestId }) => errorResponse(error, "wrapped", requestId))

const connections = Metric.withAttributes(
  Metric.gauge("ws_connections", { description: "Open websockets" }),
  { stream: "payment" }
)

const make = Effect.gen(function*() {
  const bus = yield* EventBus
  const byInvoice = new Map<string, Set<Connection>>()
  const bySession = new Map<string, number>()

  const listen = (stream: InvoiceStream, connection: Connection) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        bySession.set(stream.sessionKey, (bySession.get(stream.sessionKey) ?? 0) + 1)
        const listeners = byInvoice.get(stream.invoiceId) ?? new Set()
        byInvoice.set(stream.invoiceId, listeners.add(connection))
      }).pipe(Effect.andThen(Metric.modify(connections, 1))),
      () =>
        Effect.sync(() => {
          const left = bySession.get(stream.sessionKey)! - 1
          if (left === 0) bySession.delete(stream.sessionKey)
          else bySession.set(stream.sessionKey, left)
          const listeners = byInvoice.get(stream.invoiceId)
          listeners?.delete(connection)
          if (listeners?.size === 0) byInvoice.delete(stream.invoiceId)
        }).pipe(Effect.andThen(Metric.modify(connections, -1)))
    )

  const noteEnd = (connection: Connection, terminal: boolean | undefined, now: number) => {
    if (terminal === true) connection.closeAtMillis ??= now + terminalMillis
    if (terminal === false) connection.closeAtMillis = null
  }

  yield* bus.subscribe("sockets", (events) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      for (const event of events) {
        const listeners = event.invoiceId === null ? undefined : byInvoice.get(event.invoiceId)
        if (listeners === undefined || event.payorData === null) continue
        const { payorData } = event
        const frame = frames((version) => payorEventText(event, payorData, version))
        const terminal = isTerminal(event)
        for (const connection of listeners) {
          connection.send(frame(connection.apiVersion), event.position)
          noteEnd(connection, terminal, now)
        }
      }
    }))

  const tick = Effect.map(Clock.currentTimeMillis, (now) => {
    let frame: Buffer | undefined
    const heartbeat = () => frame ??= textFrame(heartbeatText(Math.floor(now / 1000)))
    for (const listeners of byInvoice.values()) for (const connection of listeners) connection.tick(now, heartbeat)
  })
  yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("1 second")))

  const writeAll = (connection: Connection, texts: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      for (let start = 0; start < texts.length; start += replayChunk) {
        const chunk = texts.slice(start, start + replayChunk)
        yield* Effect.callback<void>((resume) => {
          chunk.forEach((text, at) =>
            connection.write(textFrame(text), at === chunk.length - 1 ? () => resume(Effect.void) : undefined)
          )
        })
      }
    })

  /** Missed events, read after the connection began to listen: what is live meanwhile waits, and repeats are dropped. */
  const replay = (stream: InvoiceStream, connection: Connection, since: string, position: EventPosition) =>
    Effect.gen(function*() {
      const { invoiceId, merchantId } = stream
      const events = yield* bus.after({ merchantId, invoiceId, position, limit: maximumReplay + 1 })
      const now = yield* Clock.currentTimeMillis
      const isRecent = ({ position }: CommittedEvent) => Number(position.ms) >= now - maximumReplayMillis
      if (events[0] !== undefined && !isRecent(events[0])) {
        return connection.write(textFrame(resyncText("cursor_too_old", events.find(isRecent)?.id ?? null)))
      }
      if (events.length > maximumReplay) return connection.write(textFrame(resyncText("too_many_events", null)))
      const shown = events.filter(({ payorData }) => payorData !== null)
      yield* writeAll(connection, [
        replayStartText(since),
        ...shown.map((event) => payorEventText(event, event.payorData!, stream.apiVersion)),
        replayCompleteText(shown.length, shown.at(-1)?.id ?? null)
      ])
      const last = events.at(-1)
      if (last !== undefined) connection.replayedTo(last.position)
      for (const event of shown) noteEnd(connection, isTerminal(event), now)
    })

  const open = (stream: InvoiceStream, connection: Connection) =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      connection.write(textFrame(readyText(stream.invoiceId, Math.floor(now / 1000))))
      if (stream.since !== null) {
        const position = readEventId(stream.since)
        if (position === undefined) return connection.end(endings.badSince)
        yield* replay(stream, connection, stream.since, position)
      }
      yield* writeAll(connection, yield* stream.greeting)
      connection.opened()
    })

  const read = (pull: Effect.Effect<ReadonlyArray<string>, Socket.SocketError>, connection: Connection) =>
    Effect.forever(Effect.gen(function*() {
      const messages = yield* pull
      const now = yield* Clock.currentTimeMillis
      for (const message of messages) {
        if (Buffer.byteLength(message) > maximumMessageBytes) connection.end(endings.tooBig)
        else connection.received(isPing(message), now)
      }
    }))

  const serve = Effect.fnUntraced(function*(stream: InvoiceStream) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const socket = yield* request.upgrade
    const { write } = yield* socket.writer
    const pull = yield* Socket.readerString(socket)
    const now = yield* Clock.currentTimeMillis
    const { socket: tcp } = NodeHttpServerRequest.toIncomingMessage(request)
    const connection = new Connection(tcp, stream.apiVersion, stream.expiresAt * 1000, now)
    if ((bySession.get(stream.sessionKey) ?? 0) >= maximumPerSession) {
      connection.end(endings.tooManyConnections)
    } else {
      yield* listen(stream, connection)
      yield* Effect.forkScoped(open(stream, connection))
    }
    const ending = yield* Effect.raceFirst(Deferred.await(connection.ended), read(pull, connection))
    if (ending.error !== null) connection.writeLast(textFrame(ending.error))
    yield* write(new Socket.CloseEvent(ending.code, ending.reason))
    // The peer answers our close, or is cut: a reader that never reads would hold its buffer for ever.
    yield* Effect.forever(pull).pipe(
      Effect.timeoutOption(closeMillis),
      Effect.ensuring(Effect.sync(() => tcp.destroy()))
    )
  }, Effect.scoped)

  const serveInvoice = (stream: InvoiceStream) =>
    serve(stream).pipe(
      Effect.as(HttpServerResponse.empty()),
      Effect.catchTags({
        // How every connection ends, a clean close included.
        SocketError: () => Effect.succeed(HttpServerResponse.empty()),
        HttpServerError: () =>
          refuseUpgrade(publicError("VALIDATION_ERROR", { message: "This path speaks websocket: send an upgrade" }))
      })
    )

  const tell = (invoiceId: string, text: (version: string) => string) =>
    Effect.sync(() => {
      const listeners = byInvoice.get(invoiceId)
      if (listeners === undefined) return
      const frame = frames(text)
      for (const connection of listeners) connection.send(frame(connection.apiVersion), null)
    })

  const listened = () => [...byInvoice.keys()]

  const close = Effect.sync(() => {
    for (const listeners of byInvoice.values()) for (const connection of listeners) connection.end(endings.restart)
  })
  yield* Effect.addFinalizer(() => close)

  return Sockets.of({ serveInvoice, tell, listened, close })
})

/** The hub of this instance: tells its own connections what any instance committed. */
export const layer: Layer.Layer<Sockets, never, EventBus> = Layer.effect(Sockets, make)
