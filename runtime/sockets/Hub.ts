/**
 * The websocket hub: maps from invoices and merchants to their listeners, frames made once per event, bounds on
 * everything.
 */
import { Clock, Effect, Fiber, Layer, Metric, Option, Schedule, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { type CommittedEvent } from "../Commit.ts"
import { EventBus } from "../EventBus.ts"
import { RequestInfo, Revocations } from "../Http.ts"
import { errorResponse } from "../http/ErrorResponses.ts"
import { type EventStream, type InvoiceStream, Sockets } from "../Sockets.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { eventText, payorEventText } from "../../schemas/Event.ts"
import { readEventId } from "../../schemas/Ids.ts"
import { Connection, type ConnectionCounts, type Subscription } from "./Connection.ts"
import { type FilterInput, filterInputOf, isShown } from "./Filters.ts"
import { closeReasons, heartbeatText, readyText, type Subject, textFrame } from "./Frames.ts"
import { replay, type ReplayQuery, writeTexts } from "./Replay.ts"
import * as Upgrade from "./Upgrade.ts"

/** Sockets per payment session and per key, on one instance (modules/docs/reference/websockets.md#limits). */
export const maximumPerSession = 5
export const maximumPerKey = 20

/**
 * Events a replay on the payor's stream holds at most, and how old they may be
 * (modules/docs/reference/websockets.md#replay).
 */
export const maximumReplay = 1_000
export const maximumReplayMillis = 86_400_000

/**
 * Events a replay on a merchant's stream passes over at most, shown or filtered out
 * (modules/docs/reference/websockets.md#replay).
 */
export const maximumEventReplay = 10_000

/** How long listeners stay after the invoice reached its end (modules/docs/reference/websockets.md#endings). */
export const terminalMillis = 60_000

/**
 * How long the database may be asked in vain before payors' streams end: with a second between looks, well below the 10
 * s of modules/docs/reference/websockets.md#endings.
 */
export const maximumStaleMillis = 5_000

/**
 * Of them, so many in a second: each asks for the state at once, and the database may only be slow
 * (modules/docs/reference/websockets.md#endings).
 */
export const maximumStaleEnds = 1_000

const isPing = (text: string): boolean => Option.isSome(decodePing(text))
const decodePing = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ object: Schema.Literal("ws_ping") }))
)

/** Statuses that end the payor's part; late money on an expired invoice is seen by whoever asks again. */
const terminalStatuses: ReadonlySet<string> = new Set(["paid", "expired", "canceled"])

/** Whether the event leaves the invoice at its end; undefined when it does not tell. */
const isTerminal = ({ event, object }: FilterInput): boolean | undefined =>
  event.type.startsWith("invoice.") ? terminalStatuses.has(String(object()["status"])) : undefined

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

const connections = Metric.gauge("ws_connections", { description: "Open websockets" })
const slowConsumers = Metric.counter("ws_slow_consumers_total", {
  description: "Websockets closed because their reader was too slow",
  incremental: true
})

/** A map to sets in which no set is empty. */
const makeIndex = <Key>() => {
  const sets = new Map<Key, Set<Connection>>()
  return {
    sets,
    add: (key: Key, connection: Connection): number => {
      const found = sets.get(key) ?? new Set()
      sets.set(key, found.add(connection))
      return found.size
    },
    remove: (key: Key, connection: Connection): boolean => {
      const found = sets.get(key)
      if (found?.delete(connection) !== true || found.size > 0) return false
      return sets.delete(key)
    }
  }
}

/** Streams end by themselves when their tokens do, or never: then revocation ends them. */
const neverExpires = Number.POSITIVE_INFINITY

const make = Effect.gen(function*() {
  const bus = yield* EventBus
  const revocations = yield* Revocations
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const byInvoice = makeIndex<string>()
  const byMerchant = makeIndex<number>()
  const byHolder = makeIndex<string>()
  const byRevocable = makeIndex<string>()
  const watches = new Map<string, Fiber.Fiber<void>>()
  const countsByStream: Readonly<Record<Subject["stream"], ConnectionCounts>> = {
    payment: { open: 0, slow: 0 },
    merchant: { open: 0, slow: 0 },
    commerce: { open: 0, slow: 0 }
  }
  const allConnections = function*(): Iterable<Connection> {
    for (const index of [byInvoice, byMerchant]) for (const listeners of index.sets.values()) yield* listeners
  }

  /** One watch for all streams of a credential. */
  const watch = (id: string) =>
    revocations.awaitEnd(id).pipe(
      Effect.flatMap((how) =>
        Effect.sync(() => {
          const revoked = id.startsWith("key_") ? closeReasons.keyEnded : closeReasons.sessionEnded
          const ending = how === "unknown" ? closeReasons.restart : revoked
          for (const connection of byRevocable.sets.get(id) ?? []) connection.end(ending)
        })
      ),
      Effect.forkIn(scope)
    )

  const join = (connection: Connection) => {
    const { audience, holder, revocableAs } = connection.subscription
    countsByStream[audience.stream].open++
    byHolder.add(holder, connection)
    if (audience.stream === "payment") byInvoice.add(audience.invoiceId, connection)
    else byMerchant.add(audience.merchantId, connection)
    if (revocableAs === null || byRevocable.add(revocableAs, connection) > 1) return Effect.void
    return Effect.map(watch(revocableAs), (fiber) => void watches.set(revocableAs, fiber))
  }

  const leave = (connection: Connection): void => {
    const { audience, holder, revocableAs } = connection.subscription
    connection.markClosed()
    countsByStream[audience.stream].open--
    byHolder.remove(holder, connection)
    if (audience.stream === "payment") byInvoice.remove(audience.invoiceId, connection)
    else byMerchant.remove(audience.merchantId, connection)
    if (revocableAs === null || !byRevocable.remove(revocableAs, connection)) return
    watches.get(revocableAs)?.interruptUnsafe()
    watches.delete(revocableAs)
  }

  const scheduleClose = (connection: Connection, terminal: boolean | undefined, now: number) => {
    if (terminal === true) connection.closeAtMillis ??= now + terminalMillis
    if (terminal === false) connection.closeAtMillis = null
  }

  const sendToPayors = (facts: FilterInput, now: number): void => {
    const { event } = facts
    const { invoiceId, payorData } = event
    const listeners = invoiceId === null ? undefined : byInvoice.sets.get(invoiceId)
    if (listeners === undefined || payorData === null) return
    const frame = frames((version) => payorEventText(event, payorData, version))
    const terminal = isTerminal(facts)
    for (const connection of listeners) {
      connection.send(frame(connection.subscription.apiVersion), event.position)
      scheduleClose(connection, terminal, now)
    }
  }

  const sendToMerchants = (facts: FilterInput): void => {
    const { event } = facts
    const listeners = byMerchant.sets.get(event.merchantId)
    if (listeners === undefined) return
    const frame = frames((version) => eventText(event, event.pendingWebhooks, version))
    for (const connection of listeners) {
      const { apiVersion, audience } = connection.subscription
      if (audience.stream === "payment" || !isShown(audience.stream, audience.environment, audience.filters, facts)) {
        continue
      }
      connection.send(frame(apiVersion), event.position)
    }
  }

  yield* bus.subscribe("sockets", (events) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      for (const event of events) {
        const facts = filterInputOf(event)
        sendToPayors(facts, now)
        sendToMerchants(facts)
      }
    }))

  const series = Object.entries(countsByStream).map(([stream, tally]) => {
    const attributes = { stream }
    return {
      tally,
      open: Metric.withAttributes(connections, attributes),
      slow: Metric.withAttributes(slowConsumers, attributes)
    }
  })
  const updateMetrics = Effect.forEach(series, ({ open, slow, tally }) => {
    const newlySlow = tally.slow
    tally.slow = 0
    return Effect.andThen(Metric.update(open, tally.open), Metric.update(slow, newlySlow))
  }, { discard: true })

  yield* updateMetrics

  /** Payors hear nothing while the database does not answer, and must not think that nothing happens. */
  const endStale = () => {
    if (bus.staleMillis() < maximumStaleMillis) return
    const open = [...byInvoice.sets.values()].flatMap((listeners) => [...listeners].filter(({ isEnded }) => !isEnded))
    for (const connection of open.slice(0, maximumStaleEnds)) connection.end(closeReasons.restart)
  }

  const tick = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    endStale()
    let frame: Buffer | undefined
    const heartbeat = () => frame ??= textFrame(heartbeatText(Math.floor(now / 1000)))
    for (const connection of allConnections()) connection.tick(now, heartbeat)
    return updateMetrics
  })
  yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("1 second")))

  /** Why a listener may not join, if it may not. */
  const objectionTo = ({ audience, holder }: Subscription) => {
    const held = byHolder.sets.get(holder)?.size ?? 0
    if (audience.stream === "payment") return held >= maximumPerSession ? closeReasons.tooManyOfSession : undefined
    return held >= maximumPerKey ? closeReasons.tooManyOfKey : undefined
  }

  /** Accepts the request's handshake and joins; then `open` writes what a new listener is told first. */
  const serve = (
    listener: Subscription,
    subject: Subject,
    replays: boolean,
    open: (connection: Connection) => Effect.Effect<void>
  ) =>
    Effect.gen(function*() {
      const accepted = yield* Upgrade.accept
      const now = clock.currentTimeMillisUnsafe()
      const tally = countsByStream[subject.stream]
      const connection = new Connection(accepted.socket, accepted.connection, listener, tally, replays, now)
      const objection = objectionTo(listener)
      if (objection !== undefined) return connection.end(objection)
      const isOpen = Upgrade.serve(accepted.socket, {
        onMessage: (bytes) => connection.receive(isPing(bytes.toString("utf8")), clock.currentTimeMillisUnsafe()),
        onPing: () => connection.receive(false, clock.currentTimeMillisUnsafe()),
        onClose: () => leave(connection)
      })
      if (!isOpen) return
      yield* join(connection)
      connection.write(textFrame(readyText(subject, Math.floor(now / 1000))))
      const opening = open(connection).pipe(
        Effect.andThen(Effect.sync(() => connection.finishOpening())),
        Effect.catchCause((cause) =>
          Effect.andThen(
            Effect.logWarning("A websocket was not opened; its client comes back", cause),
            Effect.sync(() => connection.end(closeReasons.restart))
          )
        )
      )
      yield* Effect.forkIn(opening, scope, { startImmediately: true })
    }).pipe(
      Effect.uninterruptible,
      Effect.as(HttpServerResponse.empty({ status: 101 })),
      Effect.catchTags({
        // How a handshake ends whose client has gone.
        SocketError: () => Effect.succeed(HttpServerResponse.empty()),
        HttpServerError: () =>
          refuseUpgrade(publicError("VALIDATION_ERROR", { message: "This path speaks websocket: send an upgrade" }))
      })
    )

  const serveInvoice = (stream: InvoiceStream) => {
    const { apiVersion, greeting, invoiceId, merchantId, sessionKey, since } = stream
    const listener: Subscription = {
      audience: { stream: "payment", invoiceId },
      holder: `session ${sessionKey}`,
      revocableAs: null,
      apiVersion,
      expiresAtMillis: stream.expiresAt * 1000
    }
    const replayQuery = (connection: Connection): ReplayQuery | undefined => {
      const position = since === null ? undefined : readEventId(since)
      if (since === null || position === undefined) return undefined
      return {
        since,
        position,
        of: { merchantId, invoiceId },
        maximumEvents: maximumReplay,
        maximumMillis: maximumReplayMillis,
        textOf: (event) => event.payorData === null ? null : payorEventText(event, event.payorData, apiVersion),
        onShown: (event) => scheduleClose(connection, isTerminal(filterInputOf(event)), clock.currentTimeMillisUnsafe())
      }
    }
    const open = Effect.fnUntraced(function*(connection: Connection) {
      const found = replayQuery(connection)
      if (found !== undefined) yield* replay(bus, connection, found)
      else if (since !== null) return connection.end(closeReasons.badSince)
      yield* writeTexts(connection, yield* greeting)
      if (connection.isOverflowing) connection.end(closeReasons.slowConsumer)
    })
    return serve(listener, { stream: "payment", invoice_id: invoiceId }, since !== null, open)
  }

  const serveEvents = (
    { apiVersion, credential, environment, filters, merchantId, revocableAs, since, stream }: EventStream
  ) => {
    const listener: Subscription = {
      audience: { stream, merchantId, environment, filters },
      holder: credential,
      revocableAs,
      apiVersion,
      expiresAtMillis: neverExpires
    }
    const textOf = (event: CommittedEvent): string | null =>
      isShown(stream, environment, filters, filterInputOf(event))
        ? eventText(event, event.pendingWebhooks, apiVersion)
        : null
    const open = (connection: Connection) =>
      since === null ? Effect.void : replay(bus, connection, {
        since: since.id,
        position: since.position,
        of: {
          merchantId,
          ...(filters.invoiceId === null ? {} : { invoiceId: filters.invoiceId }),
          ...(filters.customerId === null ? {} : { customerId: filters.customerId }),
          ...(filters.orderId === null ? {} : { orderId: filters.orderId })
        },
        maximumEvents: maximumEventReplay,
        maximumMillis: null,
        textOf,
        onShown: () => {}
      })
    return serve(listener, { stream, environment }, since !== null, open)
  }

  const send = (invoiceId: string, text: (version: string) => string) =>
    Effect.sync(() => {
      const listeners = byInvoice.sets.get(invoiceId)
      if (listeners === undefined) return
      const frame = frames(text)
      for (const connection of listeners) {
        // Whoever was told that the invoice has ended is offered nothing for it any more, however late the offer was
        // made.
        if (connection.closeAtMillis === null) connection.send(frame(connection.subscription.apiVersion), null)
      }
    })

  const watchedInvoices = () => [...byInvoice.sets.keys()]

  const close = Effect.sync(() => {
    for (const connection of allConnections()) connection.end(closeReasons.restart)
  })
  yield* Effect.addFinalizer(() => close)

  return Sockets.of({ serveInvoice, serveEvents, send, watchedInvoices, close })
})

/** The hub of this instance: tells its own connections what any instance committed. */
export const layer: Layer.Layer<Sockets, never, EventBus | Revocations> = Layer.effect(Sockets, make)
