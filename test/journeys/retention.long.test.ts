/**
 * Goal: a merchant whose first events are over a year old goes on as before: what was removed is told as removed, and
 * nothing else changed. Method: a whole service, stopped; rows of its first invoice made 366 days old; started again,
 * with its sums to be counted anew from what is left.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect, migratedDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../support/Service.ts"

const yearMillis = 366 * 86_400_000

it.live("a merchant goes on as before when its first events are removed after a year", () =>
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    const receiver = yield* makeReceiver()
    const directory = yield* temporaryDirectory
    const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
    const start = startService({
      directory,
      config: configOf({ database: database.url, receivers: [receiver.host], chains: [{ use: "simulated" }] })
    })
    const first = yield* start
    const { merchant_key: key } = yield* first.keys
    const ask = (service: Service, path: string, sent: TestRequest = {}) =>
      service.call(`/api/v1/${path}`, {
        ...sent,
        headers: { "x-api-key": key, "idempotency-key": randomUUID(), ...sent.headers }
      })
    const pay = (service: Service, id: string) =>
      ask(service, `devnet/invoices/${id}/simulate`, { body: { action: "pay" } })

    const { json: { data: { id: hook } } } = yield* ask(first, "webhooks", {
      body: { url: receiver.url("/hook"), enabled_events: ["invoice.*"] }
    })
    const create = { body: { amount_usd: 5 }, headers: { "idempotency-key": "old" } }
    const { json: old } = yield* ask(first, "invoices", create)
    yield* pay(first, old.invoice_id)
    const paid = (service: Service, id: string) =>
      until("the invoice is paid", ask(service, `invoices/${id}/status`), ({ json }) => json.invoice.status === "paid")
    yield* paid(first, old.invoice_id)
    const { json: open } = yield* ask(first, "invoices", { body: { amount_usd: 7 } })
    const sent = (service: Service) =>
      Effect.map(ask(service, `webhooks/${hook}/deliveries?limit=100`), ({ json }) => json.data.data as Array<any>)
    yield* until("everything is delivered", sent(first), (all) =>
      all.length > 3 && all.every(({ status }) =>
        status === "succeeded"
      ))
    const totals = yield* ask(first, "invoices/totals")
    const events = (service: Service, query = "") =>
      Effect.map(ask(service, `events?limit=100${query}`), ({ json }) => json.data.data as Array<any>)
    const kept = (yield* events(first)).filter(({ data }) => data.object.id === open.invoice_id)
    const [gone] = (yield* sent(first)).filter(({ event_id }) => kept.every(({ id }) => id !== event_id))
    yield* first.stop()

    yield* sql`UPDATE webhook_deliveries SET event_ms = event_ms - ${yearMillis} WHERE (event_ms, event_seq) IN (
      SELECT ms, seq FROM events WHERE invoice_id = ${old.invoice_id})`
    yield* sql`UPDATE events SET ms = ms - ${yearMillis} WHERE invoice_id = ${old.invoice_id}`
    yield* sql`UPDATE idempotency SET created_at = created_at - make_interval(secs => ${yearMillis} / 1000)`
    const [{ ms, seq } = { ms: 0n, seq: 0n }] = yield* sql<{ ms: bigint; seq: bigint }>`
      SELECT ms, seq FROM events WHERE invoice_id = ${old.invoice_id} ORDER BY ms, seq LIMIT 1`
    yield* sql`DELETE FROM rollup_versions`
    const second = yield* start
    yield* until(
      "the old events are removed",
      exchange(second.rpcUrl, "/metrics"),
      ({ text }) => /^tillwire_rows_pruned_total{table="events"} [1-9]/m.test(text)
    )
    // Counted once from the snapshots, and once from the events before they went.
    yield* second.stop()
    yield* sql`DELETE FROM rollup_versions`
    const service = yield* start
    assert.deepStrictEqual((yield* ask(service, "invoices/totals")).json, totals.json)
    const left = (yield* events(service)).map(({ id }) => id)
    assert.deepStrictEqual(left, kept.map(({ id }) => id))
    assert.deepStrictEqual((yield* events(service, `&ending_before=evt_${ms}-${seq}`)).map(({ id }) => id), left)
    const told = yield* ask(service, `events/evt_${ms}-${seq}`)
    assert.deepStrictEqual([told.status, told.json.error.code], [404, "EVENT_NOT_FOUND"])
    for (const [method, path] of [["GET", ""], ["POST", "/redeliver"]] as const) {
      assert.strictEqual((yield* ask(service, `webhooks/deliveries/${gone.id}${path}`, { method })).status, 404)
    }
    const replay = yield* ask(service, `webhooks/${hook}/replay`, {
      body: { from_event_id: `evt_${ms}-${seq}`, only_failed: false }
    })
    assert.strictEqual(replay.json.data.queued, left.length)
    // The key went before the event that its answer is made of, so it is a new one.
    const repeated = yield* ask(service, "invoices", create)
    assert.deepStrictEqual([repeated.status, repeated.headers["idempotent-replayed"]], [200, undefined])
    assert.notStrictEqual(repeated.json.invoice_id, old.invoice_id)
    const status = yield* ask(service, `invoices/${old.invoice_id}/status`)
    assert.strictEqual(status.json.invoice.status, "paid")

    yield* pay(service, open.invoice_id)
    yield* paid(service, open.invoice_id)
    yield* until("the payment is told", events(service), (all) => all.some(({ type }) => type === "invoice.paid"))
  }).pipe(Effect.scoped))
