/**
 * The websocket hub of this instance: hears of commits, sends them to its connections, and once a second ends the
 * streams whose time is over.
 */
import { Clock, Effect, Layer, Metric, Schedule } from "effect"
import { EventBus } from "../EventBus.ts"
import { Revocations } from "../Http.ts"
import { Sockets } from "../Sockets.ts"
import { broadcast, sendToInvoice } from "./Broadcast.ts"
import type { Connection } from "./Connection.ts"
import { makeConnectionIndex } from "./ConnectionIndex.ts"
import { closeReasons, heartbeatText, textFrame } from "./Frames.ts"
import type { HubContext } from "./HubContext.ts"
import { serveEvents, serveInvoice } from "./StreamServer.ts"
import { maximumStaleEnds, maximumStaleMillis } from "./StreamRules.ts"

const openConnections = Metric.gauge("ws_connections", { description: "Open websockets" })
const slowConsumers = Metric.counter("ws_slow_consumers_total", {
  description: "Websockets closed because their reader was too slow",
  incremental: true
})

/** Writes the counts of each stream into its series. */
const makeMetricsUpdate = ({ countsByStream }: HubContext): Effect.Effect<void> => {
  const series = Object.entries(countsByStream).map(([stream, counts]) => {
    const attributes = { stream }
    return {
      counts,
      open: Metric.withAttributes(openConnections, attributes),
      slow: Metric.withAttributes(slowConsumers, attributes)
    }
  })
  return Effect.forEach(series, ({ counts, open, slow }) => {
    const newlySlow = counts.slow
    counts.slow = 0
    return Effect.andThen(Metric.update(open, counts.open), Metric.update(slow, newlySlow))
  }, { discard: true })
}

/** Payors hear nothing while the database does not answer, and must not think that nothing happens. */
const endStale = ({ bus, connections }: HubContext): void => {
  if (bus.staleMillis() < maximumStaleMillis) return
  const open = [...connections.payors()].filter(({ isEnded }) => !isEnded)
  for (const connection of open.slice(0, maximumStaleEnds)) connection.end(closeReasons.restart)
}

const tickConnections = ({ connections }: HubContext, nowMillis: number): void => {
  let frame: Buffer | undefined
  const heartbeat = () => frame ??= textFrame(heartbeatText(Math.floor(nowMillis / 1000)))
  for (const connection of connections.all()) connection.tick(nowMillis, heartbeat)
}

const make = Effect.gen(function*() {
  const hub: HubContext = {
    bus: yield* EventBus,
    revocations: yield* Revocations,
    clock: yield* Clock.Clock,
    scope: yield* Effect.scope,
    connections: makeConnectionIndex<Connection>(),
    countsByStream: {
      payment: { open: 0, slow: 0 },
      merchant: { open: 0, slow: 0 },
      commerce: { open: 0, slow: 0 }
    },
    credentialWatches: new Map()
  }
  const { bus, connections } = hub
  yield* bus.subscribe(
    "sockets",
    (events) => Effect.map(Clock.currentTimeMillis, (nowMillis) => broadcast(connections, events, nowMillis))
  )

  const updateMetrics = makeMetricsUpdate(hub)
  yield* updateMetrics
  const tick = Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
    endStale(hub)
    tickConnections(hub, nowMillis)
    return updateMetrics
  })
  yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("1 second")))

  const close = Effect.sync(() => {
    for (const connection of connections.all()) connection.end(closeReasons.restart)
  })
  yield* Effect.addFinalizer(() => close)

  return Sockets.of({
    serveInvoice: serveInvoice(hub),
    serveEvents: serveEvents(hub),
    send: (invoiceId, text) => Effect.sync(() => sendToInvoice(connections, invoiceId, text)),
    watchedInvoices: connections.invoices,
    close
  })
})

/** The hub of this instance: tells its own connections what any instance committed. */
export const layer: Layer.Layer<Sockets, never, EventBus | Revocations> = Layer.effect(Sockets, make)
