/** `tillwire webhooks`: endpoints, what was sent to them, and what has to be sent again. */
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DeliveryStatus } from "../../../schemas/Webhook.ts"
import { call, connect, type Connection } from "../Connection.ts"
import { sinceForms, sinceSeconds } from "../Duration.ts"
import { wrongUse } from "../Failure.ts"
import { afterFlag, answerList, limitFlag, optionalField, pageQuery } from "../Lists.ts"
import { answer, printable, say } from "../Output.ts"
import { timeText } from "../TimeText.ts"

const endpoint = Argument.String("endpoint").pipe(Argument.withDescription("Id of the endpoint, we_…"))

const list = Command.make("list", { limit: limitFlag, after: afterFlag }, (page) =>
  Effect.gen(function*() {
    const { data } = yield* call(yield* connect, (client, signal) =>
      client.get("/api/v1/webhooks", { query: pageQuery(page), signal }))
    yield* answerList(data, {
      id: ({ id }) =>
        id,
      status: ({ status }) => status,
      failures: ({ consecutive_failures }) => consecutive_failures,
      events: ({ enabled_events }) => enabled_events.join(","),
      url: ({ url }) => url
    })
  })).pipe(Command.withDescription("List webhook endpoints, newest first"))

const deliveries = Command.make("deliveries", {
  endpoint,
  status: Flag.Literals("status", DeliveryStatus.literals).pipe(
    Flag.withDescription("Only in this state"),
    Flag.optional
  ),
  event: Flag.String("event").pipe(Flag.withDescription("Only of this event"), Flag.optional),
  limit: limitFlag,
  after: afterFlag
}, ({ after, endpoint, event, limit, status }) =>
  Effect.gen(function*() {
    const { data } = yield* call(yield* connect, (client, signal) =>
      client.get("/api/v1/webhooks/{id}/deliveries", {
        path: { id: endpoint },
        query: {
          ...pageQuery({ after, limit }),
          ...optionalField("status", status),
          ...optionalField("event_id", event)
        },
        signal
      }))
    yield* answerList(data, {
      created: ({ created_at }) => timeText(created_at),
      id: ({ id }) => id,
      status: ({ status }) => status,
      event: ({ event_id }) => event_id,
      type: (delivery) => (delivery as { readonly event_type?: string; readonly type?: string }).event_type ?? ""
    })
  })).pipe(Command.withDescription("List what was sent to an endpoint, newest first"))

const resend = Command.make("resend", {
  delivery: Argument.String("delivery").pipe(Argument.withDescription("Id of the delivery"))
}, ({ delivery }) =>
  Effect.gen(function*() {
    const { data } = yield* call(yield* connect, (client, signal) =>
      client.post("/api/v1/webhooks/deliveries/{delivery_id}/redeliver", { path: { delivery_id: delivery }, signal }))
    yield* answer(data, () =>
      `queued as ${printable(data.id)}`)
  })).pipe(Command.withDescription("Send a delivery once more"))

/** Queues what failed, call after call, until all of it is. */
const recoverOne = Effect.fnUntraced(function*(connection: Connection, id: string, from: number) {
  let queued = 0
  let next: string | null = null
  for (;;) {
    const { data } = yield* call(connection, (client, signal) =>
      client.post("/api/v1/webhooks/{id}/replay", {
        path: { id },
        body: { created_gte: from, only_failed: true, ...(next === null ? {} : { from_event_id: next }) },
        signal
      }))
    queued += data.queued
    if (process.stderr.isTTY) yield* say(`${id}  ${queued} queued`)
    next = data.has_more ? data.next_event_id : null
    if (next === null) return { endpoint_id: id, queued }
  }
})

const recover = Command.make("recover", {
  endpoint: Argument.String("endpoint").pipe(
    Argument.withDescription("One endpoint, else all that are enabled"),
    Argument.optional
  ),
  since: Flag.String("since").pipe(Flag.withDescription(`Events from then on, ${sinceForms}`))
}, ({ endpoint, since }) =>
  Effect.gen(function*() {
    const from = sinceSeconds(since, (yield* Clock.currentTimeMillis) / 1000)
    if (from === undefined) return yield* wrongUse(`--since takes a time or how long ago, ${sinceForms}`)
    const connection = yield* connect
    const ids = Option.isSome(endpoint) ? [endpoint.value] : (yield* call(
      connection,
      (client, signal) => client.get("/api/v1/webhooks", { query: { limit: 100 }, signal })
    )).data.data.filter(({ status }) => status === "enabled").map(({ id }) => id)
    const results = yield* Effect.forEach(ids, (id) => recoverOne(connection, id, from))
    yield* answer({ object: "list", data: results }, () =>
      results.length === 0
        ? "there is no enabled endpoint"
        : results.map(({ endpoint_id, queued }) => `${endpoint_id}  ${queued} queued`).join("\n"))
  })).pipe(Command.withDescription("Send everything again that an endpoint never took"))

export const command = Command.make("webhooks").pipe(
  Command.withSubcommands([list, deliveries, resend, recover]),
  Command.withExamples([
    { command: "tillwire webhooks recover --since 1d", description: "After your receiver was down" }
  ])
)
