/**
 * Goal: an endpoint with a format of its own is sent what the format makes of a commit's messages, signed with its own
 * secret, by the same queue and the same rules as events, and nothing else ever shows these messages.
 * Method: real commits, deliverers, database and receivers; the format is the test's own.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { Commit, noCause, type WebhookMessage } from "../../../runtime/Commit.ts"
import { EventBus } from "../../../runtime/EventBus.ts"
import { attemptTimeoutMillis } from "../../../runtime/webhooks/Deliverer.ts"
import { pruneMerchant } from "../../../runtime/commit/Retention.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { advanceRetries } from "../../../runtime/webhooks/DeliveryRepo.ts"
import type { EndpointRow } from "../../../runtime/webhooks/Endpoints.ts"
import { type WebhookFormat, Webhooks } from "../../../runtime/Webhooks.ts"
import { answersInTurn, makeReceiver } from "../../support/Receiver.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"
import { allAre, deliverer, draft, emit, endpoint, promise, start, until, wake } from "./Delivery.ts"

/** A secret that is none of ours, as a merchant's other system made it. */
const ownSecret = "not one of ours"

const shoutFormat: WebhookFormat = {
  name: "shout",
  render: ({ attempt, data, key, type }) => {
    const body = `${type}!${data}!${attempt}`
    const signature = createHmac("sha256", key).update(body).digest("hex")
    return { body, headers: { "Content-Type": "text/plain", "Shout-Signature": signature } }
  }
}

const registerShout = Layer.effectDiscard(Effect.flatMap(Webhooks, (webhooks) => webhooks.registerFormat(shoutFormat)))

const instance = (settings: Parameters<typeof deliverer>[0], drainMillis?: number) =>
  registerShout.pipe(Layer.provideMerge(deliverer(settings, undefined, drainMillis)))

const shoutEndpoint = (url: string, more: Partial<EndpointRow> = {}) =>
  Effect.flatMap(Secrets, (secrets) =>
    endpoint(url, {
      format: "shout",
      filters: ["Loud"],
      ordered: true,
      sealedSecret: secrets.seal("webhook", ownSecret),
      ...more
    }))

const message = (n: number, more: Partial<WebhookMessage> = {}): WebhookMessage => ({
  format: "shout",
  type: "Loud",
  filters: ["Loud", "everything"],
  data: `message ${n}`,
  ...more
})

/** Commits an event, and messages with it. */
const tell = (n: number, messages: ReadonlyArray<WebhookMessage>) =>
  Effect.flatMap(Commit, (commit) =>
    commit.append({
      merchantId: 1,
      environment: "devnet",
      cause: noCause,
      writes: [],
      events: [draft(n)],
      messages
    }))

const counts = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ readonly messages: number; readonly deliveries: number; readonly pending: number }>`
    SELECT (SELECT count(*) FROM webhook_messages)::integer AS messages,
      (SELECT count(*) FROM webhook_deliveries)::integer AS deliveries,
      (SELECT coalesce(sum(pending_webhooks), 0) FROM events)::integer AS pending`.pipe(Effect.map(([row]) => row!))
)

describe("an endpoint with a format of its own", () => {
  promise(
    "gets the messages of commits in the format's body and headers, signed with its own secret, and no events",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* shoutEndpoint(receiver.url("/own"))
      yield* endpoint(receiver.url("/events"))
      yield* start(instance(settingsOf([receiver.host])))
      yield* tell(1, [message(1), message(2, { type: "Quiet", filters: ["Quiet", "everything"] }), message(3)])
      yield* until((rows) => rows.length === 3 && allAre("succeeded")(rows))
      const own = receiver.arrivals("/own")
      assert.deepStrictEqual(own.map(({ body }) => String(body)), ["Loud!message 1!1", "Loud!message 3!1"])
      for (const { body, headers } of own) {
        assert.strictEqual(headers["content-type"], "text/plain")
        assert.strictEqual(headers["user-agent"], "Service-Webhooks/1")
        assert.strictEqual(headers["shout-signature"], createHmac("sha256", ownSecret).update(body).digest("hex"))
        assert.deepStrictEqual(Object.keys(headers).filter((name) => /^(x-service|webhook)-/.test(name)), [])
      }
      const events = receiver.arrivals("/events")
      assert.strictEqual(events.length, 1)
      assert.strictEqual(JSON.parse(String(events[0]!.body)).type, "invoice.updated")
      // The event counts the endpoint of events only.
      assert.deepStrictEqual(yield* counts, { messages: 2, deliveries: 3, pending: 1 })
    })
  )

  promise(
    "is none of those that messages of other formats, environments or no wanted type are kept for",
    Effect.gen(function*() {
      yield* shoutEndpoint("https://shop.example/a")
      yield* shoutEndpoint("https://shop.example/b", { environment: "mainnet" })
      yield* shoutEndpoint("https://shop.example/c", { status: "disabled" })
      yield* shoutEndpoint("https://shop.example/d", { merchantId: 2 })
      yield* tell(1, [message(1, { format: "other" }), message(2, { type: "Quiet", filters: ["Quiet"] })])
      assert.deepStrictEqual(yield* counts, { messages: 0, deliveries: 0, pending: 0 })
      yield* tell(2, [message(3)])
      assert.deepStrictEqual(yield* counts, { messages: 1, deliveries: 1, pending: 0 })
    })
  )

  promise(
    "is sent each message again until it takes it, one at a time and in order, whichever of two instances sends",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      let inFlight = 0
      let mostInFlight = 0
      let requests = 0
      receiver.script("/own", (_, __, response) => {
        mostInFlight = Math.max(mostInFlight, ++inFlight)
        setTimeout(() => {
          inFlight--
          response.writeHead(++requests % 3 === 1 ? 503 : 200).end()
        }, 5)
      })
      yield* shoutEndpoint(receiver.url("/own"))
      const first = yield* Scope.make()
      // A stop that gives an attempt up has it sent again beside itself: this one waits for it.
      const stopped = instance(settingsOf([receiver.host]), attemptTimeoutMillis)
      const killed = yield* Layer.buildWithScope(Layer.fresh(stopped), first)
      const other = yield* start(instance(settingsOf([receiver.host])))
      for (let n = 1; n <= 8; n++) yield* tell(n, [message(2 * n - 1), message(2 * n)])
      yield* until((rows) => rows.filter(({ status }) => status === "succeeded").length >= 4)
      yield* Scope.close(first, Exit.void)
      void killed
      yield* wake(1, other)
      yield* until((rows) => rows.length === 16 && allAre("succeeded")(rows))
      const taken = receiver.arrivals().map(({ body }) => Number(/message (\d+)/.exec(String(body))![1]))
      assert.strictEqual(mostInFlight, 1)
      assert.deepStrictEqual(taken, taken.toSorted((a, b) => a - b))
      assert.deepStrictEqual([...new Set(taken)], Array.from({ length: 16 }, (_, n) => n + 1))
      assert.isTrue(receiver.arrivals().some(({ body }) => String(body).endsWith("!2")), "an attempt says its number")
    })
  )

  promise(
    "that wants a single attempt is sent nothing again, and the next message goes on",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      receiver.script("/own", answersInTurn(500, 200))
      yield* shoutEndpoint(receiver.url("/own"), { isSingleAttempt: true })
      yield* start(instance(settingsOf([receiver.host])))
      yield* tell(1, [message(1), message(2)])
      const rows = yield* until((rows) => rows.length === 2 && rows.every(({ due }) => due === null))
      assert.deepStrictEqual(rows.map(({ attempt, status }) => [status, attempt]), [["failed", 1], ["succeeded", 1]])
    })
  )

  promise(
    "keeps its messages and spends no attempt while no plugin has registered the format",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      yield* shoutEndpoint(receiver.url("/own"))
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.fresh(deliverer(settingsOf([receiver.host]))), scope)
      yield* tell(1, [message(1)])
      const [row] = yield* until((rows) => rows.some(({ last_error }) => last_error !== null))
      assert.deepInclude(row, {
        status: "pending",
        attempt: 0,
        last_error: "no plugin here has the webhook format \"shout\""
      })
      yield* Scope.close(scope, Exit.void)
      yield* advanceRetries(1, 60)
      yield* start(instance(settingsOf([receiver.host])))
      yield* until(allAre("succeeded"))
      assert.strictEqual(receiver.arrivals().length, 1)
    })
  )
})

describe("messages", () => {
  promise(
    "are no events: subscribers are given the event of their commit alone",
    Effect.gen(function*() {
      yield* shoutEndpoint("https://shop.example/a")
      const seen: Array<string> = []
      const bus = yield* EventBus
      yield* bus.subscribe("test", (events) => Effect.sync(() => void seen.push(...events.map(({ type }) => type))))
      const { events } = yield* tell(1, [message(1)])
      assert.strictEqual(events.length, 1)
      yield* emit(2)
      yield* until((rows) => rows.length === 1 && seen.length >= 2)
      assert.deepStrictEqual(seen, ["invoice.updated", "invoice.updated"])
    })
  )

  promise(
    "go when the events of their commit go",
    Effect.gen(function*() {
      yield* shoutEndpoint("https://shop.example/a")
      yield* tell(1, [message(1)])
      yield* pruneMerchant(1, BigInt(Date.now() + 60_000))
      yield* tell(2, [message(2)])
      yield* pruneMerchant(1, BigInt(Date.now() + 60_000))
      assert.deepInclude(yield* counts, { messages: 0, deliveries: 0 })
    })
  )

  promise(
    "without an event of their commit are a mistake of its author",
    Effect.gen(function*() {
      const commit = yield* Commit
      const exit = yield* Effect.exit(commit.append({
        merchantId: 1,
        environment: "devnet",
        cause: noCause,
        writes: [],
        events: [],
        messages: [message(1)]
      }))
      assert.include(String(exit._tag === "Failure" ? exit.cause : ""), "A commit without events sends no messages")
    })
  )
})
