/**
 * Serves one stream: the handshake, the limit of its holder, `ready`, what the client missed, and then what is live.
 */
import { Effect, Option, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { CommittedEvent } from "../Commit.ts"
import type { EventStream, InvoiceStream } from "../Sockets.ts"
import { publicError } from "../../schemas/Errors.ts"
import { eventText, optInTypes, payorDataText, payorEventText } from "../../schemas/Event.ts"
import { readEventId } from "../../schemas/Ids.ts"
import { Connection, type Subscription } from "./Connection.ts"
import { filterInputOf, hiddenTypesOf, isShown } from "./Filters.ts"
import { closeReasons, readyText, type Subject, textFrame } from "./Frames.ts"
import { type HubContext, join, leave } from "./HubContext.ts"
import { replay, type ReplayQuery, writeTexts } from "./Replay.ts"
import {
  closeTimeAfter,
  isTerminal,
  joinRefusal,
  maximumEventReplay,
  maximumReplay,
  maximumReplayMillis
} from "./StreamRules.ts"
import * as Upgrade from "./Upgrade.ts"

const isPing = (text: string): boolean => Option.isSome(decodePing(text))
const decodePing = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ object: Schema.Literal("ws_ping") }))
)

/** Streams end by themselves when their tokens do, or never: then revocation ends them. */
const neverExpires = Number.POSITIVE_INFINITY

/** Accepts the request's handshake and joins; then `open` writes what a new listener is told first. */
const serve = (
  hub: HubContext,
  subscription: Subscription,
  subject: Subject,
  replays: boolean,
  open: (connection: Connection) => Effect.Effect<void>
) =>
  Effect.gen(function*() {
    const { clock, connections, countsByStream, scope } = hub
    const accepted = yield* Upgrade.accept
    const nowMillis = clock.currentTimeMillisUnsafe()
    const counts = countsByStream[subject.stream]
    const connection = new Connection(accepted.socket, accepted.connection, subscription, counts, replays, nowMillis)
    const refusal = joinRefusal(subscription.audience, connections.countOfHolder(subscription.holder))
    if (refusal !== undefined) return connection.end(refusal)
    const isOpen = Upgrade.serve(accepted.socket, {
      onMessage: (bytes) => connection.receive(isPing(bytes.toString("utf8")), clock.currentTimeMillisUnsafe()),
      onPing: () => connection.receive(false, clock.currentTimeMillisUnsafe()),
      onClose: () => leave(hub, connection)
    })
    if (!isOpen) return
    yield* join(hub, connection)
    connection.write(textFrame(readyText(subject, Math.floor(nowMillis / 1000))))
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
        Upgrade.refuseUpgrade(
          publicError("VALIDATION_ERROR", { message: "This path speaks websocket: send an upgrade" })
        )
    })
  )

/** What a payor missed; undefined where `since` is absent or cannot be read. */
const payorReplay = (
  { clock }: HubContext,
  { apiVersion, invoiceId, merchantId, since }: InvoiceStream,
  connection: Connection
): ReplayQuery | undefined => {
  const position = since === null ? undefined : readEventId(since)
  if (since === null || position === undefined) return undefined
  return {
    since,
    position,
    of: { merchantId, invoiceId, hiddenTypes: optInTypes },
    maximumEvents: maximumReplay,
    maximumMillis: maximumReplayMillis,
    textOf: (event) => event.isForPayors ? payorEventText(event, payorDataText(event.data), apiVersion) : null,
    onShown: (event) => {
      const nowMillis = clock.currentTimeMillisUnsafe()
      connection.closeAtMillis = closeTimeAfter(connection.closeAtMillis, isTerminal(filterInputOf(event)), nowMillis)
    }
  }
}

/** Serves the payor's stream of an invoice. */
export const serveInvoice = (hub: HubContext) => (stream: InvoiceStream) => {
  const { apiVersion, greeting, invoiceId, sessionKey, since } = stream
  const subscription: Subscription = {
    audience: { stream: "payment", invoiceId },
    holder: `session ${sessionKey}`,
    revocableAs: null,
    apiVersion,
    expiresAtMillis: stream.expiresAt * 1000
  }
  const open = Effect.fnUntraced(function*(connection: Connection) {
    const query = payorReplay(hub, stream, connection)
    if (query !== undefined) yield* replay(hub.bus, connection, query)
    else if (since !== null) return connection.end(closeReasons.badSince)
    yield* writeTexts(connection, yield* greeting)
    if (connection.isOverflowing) connection.end(closeReasons.slowConsumer)
  })
  return serve(hub, subscription, { stream: "payment", invoice_id: invoiceId }, since !== null, open)
}

/** What a merchant's stream missed since an event. */
const merchantReplay = (
  { apiVersion, environment, filters, merchantId, stream }: EventStream,
  since: NonNullable<EventStream["since"]>
): ReplayQuery => ({
  since: since.id,
  position: since.position,
  of: {
    merchantId,
    hiddenTypes: hiddenTypesOf(filters),
    ...(filters.invoiceId === null ? {} : { invoiceId: filters.invoiceId }),
    ...(filters.customerId === null ? {} : { customerId: filters.customerId }),
    ...(filters.orderId === null ? {} : { orderId: filters.orderId })
  },
  maximumEvents: maximumEventReplay,
  maximumMillis: null,
  textOf: (event: CommittedEvent): string | null =>
    isShown(stream, environment, filters, filterInputOf(event))
      ? eventText(event, event.pendingWebhooks, apiVersion)
      : null,
  onShown: () => {}
})

/** Serves a stream of a merchant's events. */
export const serveEvents = (hub: HubContext) => (events: EventStream) => {
  const { apiVersion, credential, environment, filters, merchantId, revocableAs, since, stream } = events
  const subscription: Subscription = {
    audience: { stream, merchantId, environment, filters },
    holder: credential,
    revocableAs,
    apiVersion,
    expiresAtMillis: neverExpires
  }
  const open = (connection: Connection) =>
    since === null ? Effect.void : replay(hub.bus, connection, merchantReplay(events, since))
  return serve(hub, subscription, { stream, environment }, since !== null, open)
}
