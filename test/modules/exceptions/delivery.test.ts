/**
 * Goal: nobody meets an event of an exception who did not ask for it by name, and whoever did misses none, on every
 * channel. Method: a whole service; one accident that is decided on, and receivers and streams that ask differently.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { migratedDatabase } from "../../support/Database.ts"
import { makeReceiver, type Receiver } from "../../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../../support/Service.ts"
import { type Client, connectTo } from "../../support/Sockets.ts"
import { assertStatus } from "../../journeys/Shop.ts"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly receiver: Receiver
}>()("test/ExceptionsDesk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "simulated" }] })
      })
      return Desk.of({ service, receiver })
    })
  )
}

const typesOf = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)

const isOfException = (type: string) => type.startsWith("exception.")

const eventsOf = ({ frames }: Client) => frames.filter(({ object }) => object === "event")

/** What each receiver and stream asks for, and whether it names the exceptions. */
const askers = {
  "*": [],
  "*,exception.*": ["exception.opened", "exception.resolved"],
  "exception.resolved": ["exception.resolved"],
  "exception.*": ["exception.opened", "exception.resolved"]
} as const

layer(Desk.layer, { excludeTestServices: true })("events of an exception", (it) => {
  it.effect("come by webhook, stream and list to those alone who name them", () =>
    Effect.gen(function*() {
      const { receiver, service } = yield* Desk
      const { merchant_key } = yield* service.keys
      const headers = { "x-api-key": merchant_key }
      const call = (path: string, body?: object) =>
        Effect.map(
          service.call(path, {
            headers: { ...headers, "idempotency-key": randomUUID() },
            ...(body === undefined ? {} : { body })
          }),
          (answer) => assertStatus(200, answer)
        )
      const dial = (path: string, more: Record<string, string> = headers) =>
        connectTo(`${service.url.replace("http", "ws")}${path}`, { headers: more })
      const filters = Object.keys(askers) as ReadonlyArray<keyof typeof askers>
      for (const [at, filter] of filters.entries()) {
        yield* call("/api/v1/webhooks", { url: receiver.url(`/${at}`), enabled_events: filter.split(",") })
      }
      const silent = yield* dial("/ws/merchant/events")
      const streams = yield* Effect.forEach(filters, (filter) => dial(`/ws/merchant/events?types=${filter}`))
      yield* until(
        "every stream has begun",
        Effect.sync(() => [silent, ...streams].map(({ frames }) => frames.some(({ type }) => type === "ready"))),
        (ready) => !ready.includes(false)
      )

      const invoice = yield* call("/api/v1/invoices", { amount_usd: 50 })
      yield* call(`/api/v1/devnet/invoices/${invoice.invoice_id}/simulate`, { action: "overpay" })
      const { data: [exception] } = (yield* call("/api/v1/exceptions?status=open")).data
      yield* call(`/api/v1/exceptions/${exception.id}/resolve`, { action: "credit" })
      const other = yield* call("/api/v1/invoices", { amount_usd: 7 })

      const list = (query: string) => Effect.map(call(`/api/v1/events?${query}`), ({ data }) => data)
      const all = ((yield* list("limit=100&type=*,exception.*")).data as ReadonlyArray<any>).toReversed()
      const hidden = all.filter(({ type }) => isOfException(type))
      assert.deepStrictEqual(typesOf(hidden), ["exception.opened", "exception.resolved"])
      const shown = all.filter(({ type }) => !isOfException(type))
      const wantedOf = (filter: keyof typeof askers) =>
        all.filter(({ type }) =>
          isOfException(type) ? (askers[filter] as ReadonlyArray<string>).includes(type) : filter.includes("*,")
            || filter === "*"
        )

      for (const query of ["limit=100", "limit=100&type=*", `limit=100&invoice_id=${invoice.invoice_id}`]) {
        const { data } = yield* list(query)
        assert.deepStrictEqual(data.filter(({ type }: { type: string }) => isOfException(type)), [], query)
      }
      const first = yield* list(`limit=${shown.length - 1}`)
      assert.deepStrictEqual([first.data.length, first.has_more], [shown.length - 1, true])
      const second = yield* list(`limit=${shown.length}`)
      assert.deepStrictEqual([typesOf(second.data), second.has_more], [typesOf(shown.toReversed()), false])
      assert.deepStrictEqual((yield* list("type=exception.resolved")).data.length, 1)

      assert.strictEqual(shown.at(-1).data.object.id, other.invoice_id)
      const idsOf = (events: ReadonlyArray<{ readonly id: string }>) => events.map(({ id }) => id)
      const wanted = [shown.length, ...filters.map((filter) => wantedOf(filter).length)]
      yield* until(
        "the streams have all",
        Effect.sync(() => [silent, ...streams].map((stream) => eventsOf(stream).length)),
        (counts) => counts.every((count, at) => count >= wanted[at]!)
      )
      assert.deepStrictEqual(idsOf(eventsOf(silent)), idsOf(shown))
      for (const [at, filter] of filters.entries()) {
        assert.deepStrictEqual(idsOf(eventsOf(streams[at]!)), idsOf(wantedOf(filter)), filter)
        const replayed = yield* dial(`/ws/merchant/events?since=evt_0-0&types=${filter}`)
        yield* replayed.take(wantedOf(filter).length + 3)
        assert.deepStrictEqual(idsOf(eventsOf(replayed)), idsOf(wantedOf(filter)), filter)
      }
      const again = yield* dial("/ws/merchant/events?since=evt_0-0")
      yield* again.take(shown.length + 3)
      assert.deepStrictEqual(idsOf(eventsOf(again)), idsOf(shown))

      yield* until(
        "nothing is on its way",
        list("limit=100&type=*,exception.*"),
        ({ data }) => data.every((event: { pending_webhooks: number }) => event.pending_webhooks === 0)
      )
      for (const [at, filter] of filters.entries()) {
        const delivered = receiver.arrivals(`/${at}`).map(({ body }) => JSON.parse(body.toString()).id)
        assert.sameMembers([...new Set(delivered)], [...idsOf(wantedOf(filter))], filter)
      }
    }))
})
