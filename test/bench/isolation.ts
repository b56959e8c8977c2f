/**
 * What merchants with healthy endpoints notice of others whose endpoints are dead and have long queues: nothing
 * (modules/docs/reference/webhooks.md#in-flight).
 */
import { Effect } from "effect"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { type DatabaseServer, onDatabase } from "./Database.ts"
import { drive, type LoadSpec } from "./load.ts"
import { median, quantile, type ReportLine } from "./Report.ts"
import { makeSink, type Sink } from "./sink.ts"
import * as Tillwire from "./Tillwire.ts"

const healthy = 50
const dead = 50
const queuedEach = 10_000

/** Events of the healthy merchants, in all. */
const rate = 50
const seconds = 30
const callers = 16
const warmUpRate = 200
const warmUpSeconds = 5

/** What an endpoint's delivery may take at the 99th percentile whoever else is dead. */
const p99Millis = 2_000

/** Events of the dead merchants' past, and their deliveries, none of them ever tried. */
const queue = [
  `insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, request_id,
      idempotency_key, pending_webhooks, data, is_for_payors)
    select m, ms - n, nextval('event_seq'), environment, type, invoice_id, customer_id, commerce, request_id,
      idempotency_key, 1, data, is_for_payors
    from (select * from events order by ms limit 1) e, unnest($1::int[]) m, generate_series(1, ${queuedEach}) n`,
  `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
    select e.merchant_id, w.id, e.ms, e.seq from events e join webhook_endpoints w on w.merchant_id = e.merchant_id
    where e.merchant_id = any ($1::int[])`
]

/** Every round meets the dead endpoints for the first time, with nothing given up: the hardest there is. */
const forget = [
  `update webhook_deliveries set status = 'pending', attempt = 0, due_at = now(), finished_at = null
    where merchant_id = any ($1::int[]) and (status <> 'pending' or attempt > 0 or due_at is null)`,
  "delete from webhook_lanes where merchant_id = any ($1::int[])"
]

const onDead = (server: DatabaseServer, database: string, ids: ReadonlyArray<number>, texts: ReadonlyArray<string>) =>
  onDatabase(server, database, async (client) => {
    for (const text of texts) await client.query(text, [ids])
  })

const measure = (sink: Sink, deployment: Tillwire.Deployment, keys: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const service = yield* Tillwire.start(deployment)
    const load: LoadSpec = {
      port: service.ports.http,
      callers,
      seconds,
      method: "POST",
      paths: ["/api/v1/invoices"],
      keys,
      body: invoiceBody,
      keyed: true,
      rate
    }
    yield* sink.reset
    const warm = yield* drive(service.pid, { ...load, rate: warmUpRate, seconds: warmUpSeconds })
    yield* sink.reached(warm.count)
    yield* sink.reset
    const { count } = yield* drive(service.pid, load)
    yield* sink.reached(count)
    const delays = yield* sink.delays
    return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), tarpits: yield* sink.tarpits }
  }))

export const isolation = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const sink = yield* makeSink
    const alone = yield* Tillwire.deploy(server, "isolation_alone", { receivers: [sink.host] })
    const { ids, keys } = yield* Tillwire.prepare(alone, (service) =>
      Effect.gen(function*() {
        const merchants = yield* Tillwire.makeShops(service, healthy, (n) => sink.url(`/hook/${n}`))
        const others = yield* Tillwire.makeShops(service, dead, (n) => sink.url(`/tarpit/${n}`))
        yield* service.call("/api/v1/invoices", {
          headers: { "x-api-key": merchants[0]!.key, "idempotency-key": "isolation" },
          body: invoiceBody
        })
        return { ids: others.map(({ id }) => id), keys: merchants.map(({ key }) => key) }
      }))
    const beside = yield* Tillwire.deploy(server, "isolation_beside", {
      receivers: [sink.host],
      template: "isolation_alone"
    })
    yield* onDead(server, beside.database, ids, queue)
    // As in service for long: a database that knows its tables.
    for (const { database } of [alone, beside]) {
      yield* onDatabase(server, database, (client) => client.query("vacuum analyze"))
    }
    yield* onDatabase(server, "postgres", (client) => client.query("checkpoint"))
    const seen: Array<Record<"alone" | "beside", Effect.Success<ReturnType<typeof measure>>>> = []
    for (let round = 1; round <= rounds; round++) {
      yield* onDead(server, beside.database, ids, forget)
      seen.push({ alone: yield* measure(sink, alone, keys), beside: yield* measure(sink, beside, keys) })
      const { alone: a, beside: b } = seen.at(-1)!
      progress(
        `isolation ${round}/${rounds}: alone p50 ${a.p50.toFixed(1)}, p99 ${a.p99.toFixed(1)} ms; beside dead ones `
          + `p50 ${b.p50.toFixed(1)}, p99 ${b.p99.toFixed(1)} ms, ${b.tarpits} attempts on them`
      )
    }
    const p99 = (side: "alone" | "beside") => median(seen.map((round) => round[side].p99))
    return [
      { section: "isolation", what: "commit to webhook alone, p99", value: p99("alone"), unit: "ms" },
      {
        section: "isolation",
        what: `the same beside ${dead} dead endpoints`,
        value: p99("beside"),
        unit: "ms",
        goal: { atMost: p99Millis },
        note: `${queuedEach.toLocaleString("en")} queued for each; ${
          median(seen.map(({ beside }) => beside.tarpits))
        } attempts on them`
      },
      {
        section: "isolation",
        what: "p99 beside them against alone",
        value: median(seen.map(({ alone, beside }) => beside.p99 / alone.p99)),
        unit: "x",
        goal: { atMost: 1.2 },
        note: `${healthy} endpoints, ${rate} events/s`
      }
    ]
  }))
