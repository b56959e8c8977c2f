/** `tillwire events`: what happened, listed, followed, and sent to the webhooks once more. */
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { call, connect, type Connection } from "../Connection.ts"
import { sinceForms, sinceSeconds } from "../Duration.ts"
import { eventsAfter, type FeedEvent, newestId } from "../EventFeed.ts"
import { commandFailed, wrongUse } from "../Failure.ts"
import { afterFlag, answerList, limitFlag, optionalField, pageQuery } from "../Lists.ts"
import { answer, say, streamLine } from "../Output.ts"
import { timeText } from "../TimeText.ts"

/** Milliseconds between two looks: 30 of the 100 calls that a key has a minute. */
const pollMillis = 2_000

const types = Flag.String("type").pipe(
  Flag.withDescription("Types, comma-separated, such as invoice.paid,invoice_payment.*"),
  Flag.optional
)

const list = Command.make("list", {
  type: types,
  invoice: Flag.String("invoice").pipe(Flag.withDescription("Only of this invoice"), Flag.optional),
  since: Flag.String("since").pipe(Flag.withDescription(`From then on, ${sinceForms}`), Flag.optional),
  limit: limitFlag,
  after: afterFlag
}, ({ after, invoice, limit, since, type }) =>
  Effect.gen(function*() {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const from = Option.map(since, (text) => sinceSeconds(text, now))
    if (Option.isSome(from) && from.value === undefined) {
      return yield* wrongUse(`--since takes a time or how long ago, ${sinceForms}`)
    }
    const connection = yield* connect
    const { data } = yield* call(connection, (client, signal) =>
      client.get("/api/v1/events", {
        query: {
          ...pageQuery({ after, limit }),
          ...optionalField("type", type),
          ...optionalField("invoice_id", invoice),
          ...(Option.isSome(from) ? { "created[gte]": String(from.value) } : {})
        },
        signal
      }))
    yield* answerList(data, {
      created: ({ created }) => timeText(created),
      type: ({ type }) => type,
      id: ({ id }) => id,
      waiting: ({ pending_webhooks }) => pending_webhooks,
      object: (event) => (event.data.object as { readonly id?: string }).id
    })
  })).pipe(Command.withDescription("List events, newest first"))

/**
 * Sends an event to an endpoint once more: the delivery that there was, else by a replay of its moment, which may send
 * other events of its type and second as well.
 */
const resendTo = Effect.fnUntraced(function*(connection: Connection, endpoint: string, event: FeedEvent) {
  const { data: deliveries } = yield* call(
    connection,
    (client, signal) =>
      client.get("/api/v1/webhooks/{id}/deliveries", {
        path: { id: endpoint },
        query: { event_id: event.id, limit: 1 },
        signal
      })
  )
  const before = deliveries.data[0]
  if (before !== undefined) {
    yield* call(connection, (client, signal) =>
      client.post("/api/v1/webhooks/deliveries/{delivery_id}/redeliver", {
        path: { delivery_id: before.id },
        signal
      }))
    return { endpoint_id: endpoint, queued: true }
  }
  const { data } = yield* call(connection, (client, signal) =>
    client.post("/api/v1/webhooks/{id}/replay", {
      path: { id: endpoint },
      body: {
        from_event_id: event.id,
        created_gte: event.created,
        created_lte: event.created,
        types: [event.type],
        only_failed: false
      },
      signal
    }))
  return { endpoint_id: endpoint, queued: data.queued > 0 }
})

const resend = Command.make("resend", {
  id: Argument.String("id").pipe(Argument.withDescription("Id of the event")),
  endpoint: Flag.String("endpoint").pipe(
    Flag.withDescription("To this webhook endpoint only, else to all that listen to it"),
    Flag.optional
  )
}, ({ endpoint, id }) =>
  Effect.gen(function*() {
    const connection = yield* connect
    const { data: event } = yield* call(connection, (client, signal) =>
      client.get("/api/v1/events/{eventId}", { path: { eventId: id }, signal }))
    const endpoints = Option.isSome(endpoint) ? [endpoint.value] : (yield* call(
      connection,
      (client, signal) =>
        client.get("/api/v1/webhooks", { query: { limit: 100 }, signal })
    )).data.data.filter(({ status }) => status === "enabled").map(({ id }) => id)
    if (endpoints.length === 0) {
      return yield* commandFailed("failed", "there is no enabled webhook endpoint", "See tillwire webhooks list")
    }
    const queued = yield* Effect.forEach(endpoints, (one) => resendTo(connection, one, event))
    yield* answer({ object: "list", data: queued }, () =>
      queued.map(({ endpoint_id, queued }) =>
        `${endpoint_id}  ${queued ? "queued" : "was never meant for it"}`
      ).join("\n"))
  })).pipe(Command.withDescription("Send an event to the webhook endpoints once more"))

const tail = Command.make("tail", { type: types }, ({ type }) =>
  Effect.gen(function*() {
    const connection = yield* connect
    let after = (yield* newestId(connection)) ?? "evt_0-0"
    yield* say("following events; Ctrl+C ends it")
    for (;;) {
      const { events, hasMore } = yield* eventsAfter(connection, after, { types: Option.getOrUndefined(type) })
      for (const event of events) {
        yield* streamLine(event, () =>
          `${timeText(event.created)}  ${event.type.padEnd(26)}  ${event.id}  ${
            (event.data.object as { readonly id?: string }).id ?? ""
          }`)
      }
      after = events.at(-1)?.id ?? after
      if (!hasMore) {
        yield* Effect.sleep(pollMillis)
      }
    }
  })).pipe(Command.withDescription("Print events as they come"))

export const command = Command.make("events").pipe(Command.withSubcommands([list, resend, tail]))
