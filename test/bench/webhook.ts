/**
 * From the commit of an event to the first byte of its webhook: while nothing else happens, and at 500 events a second.
 */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { makeReceiver } from "../support/Receiver.ts"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { onDatabase } from "./Database.ts"
import { drive, type LoadSpec } from "./load.ts"
import { median, quantile, type ReportLine } from "./Report.ts"
import { makeSink } from "./sink.ts"
import * as Tillwire from "./Tillwire.ts"

const warmUp = 40
const measured = 100
/** Between two invoices: long enough for everything the first one set off to be over. */
const idleMillis = 30

/** Under load: events a second, of merchants with one endpoint each. */
const rate = 500
const loadSeconds = 20
const loadWarmUpSeconds = 6
const shops = 50
const callers = 64

const idle = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const receiver = yield* makeReceiver()
    const deployment = yield* Tillwire.deploy(server, "webhook_till", { receivers: [receiver.host] })
    const key = yield* Tillwire.prepare(deployment, (service, key) =>
      Effect.as(
        service.call("/api/v1/webhooks", {
          headers: { "x-api-key": key },
          body: { url: receiver.url("/hook"), enabled_events: ["*"] }
        }),
        key
      ))
    const seen: Array<{ readonly p50: number; readonly p95: number }> = []
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        const delays: Array<number> = []
        for (let at = 0; at < warmUp + measured; at++) {
          const before = receiver.arrivals().length
          yield* service.call("/api/v1/invoices", {
            headers: { "x-api-key": key, "idempotency-key": randomUUID() },
            body: invoiceBody
          })
          const arrival = (yield* receiver.seen("/hook", before + 1))[before]!
          // The id holds the database's clock, whole milliseconds, read in the flush: earlier than the commit's end.
          const committed = Number(/^evt_(\d+)-/.exec(arrival.headers["webhook-id"]!)![1])
          if (at >= warmUp) delays.push(performance.timeOrigin + arrival.startedAt - committed)
          yield* Effect.sleep(idleMillis)
        }
        seen.push({ p50: quantile(delays, 0.5), p95: quantile(delays, 0.95) })
      }))
      progress(
        `webhook, idle ${round}/${rounds}: p50 ${seen.at(-1)!.p50.toFixed(1)} ms, p95 ${seen.at(-1)!.p95.toFixed(1)} ms`
      )
    }
    return [{
      section: "webhook",
      what: "commit to first byte, idle, p50",
      value: median(seen.map(({ p50 }) => p50)),
      unit: "ms",
      goal: { atMost: 10 },
      note: `p95 ${median(seen.map(({ p95 }) => p95)).toFixed(1)} ms; counted from the clock reading inside the flush`
    }]
  }))

const loaded = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const sink = yield* makeSink
    const deployment = yield* Tillwire.deploy(server, "webhook_load", { receivers: [sink.host] })
    const merchants = yield* Tillwire.prepare(
      deployment,
      (service) => Tillwire.makeShops(service, shops, (n) => sink.url(`/hook/${n}`))
    )
    const seen: Array<
      { readonly p50: number; readonly p99: number; readonly cores: number; readonly perSecond: number }
    > = []
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        const load: LoadSpec = {
          port: service.ports.http,
          callers,
          seconds: loadSeconds,
          method: "POST",
          paths: ["/api/v1/invoices"],
          keys: merchants.map(({ key }) => key),
          body: invoiceBody,
          keyed: true,
          rate
        }
        yield* sink.reset
        const warm = yield* drive(service.pid, { ...load, seconds: loadWarmUpSeconds })
        yield* sink.reached(warm.count)
        // As in service for long: a database that knows its tables.
        yield* onDatabase(server, deployment.database, (client) => client.query("vacuum analyze"))
        yield* sink.reset
        const { count, cpuEach, perSecond } = yield* drive(service.pid, load)
        yield* sink.reached(count)
        const delays = yield* sink.delays
        const cores = cpuEach * perSecond / 1e6
        seen.push({ p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), cores, perSecond })
      }))
      const { cores, p50, p99, perSecond } = seen.at(-1)!
      progress(
        `webhook, ${perSecond.toFixed(0)}/s ${round}/${rounds}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, `
          + `${cores.toFixed(2)} cores`
      )
    }
    const row = (what: string, values: ReadonlyArray<number>, atMost: number, note: string): ReportLine => ({
      section: "webhook",
      what: `commit to first byte, ${rate} events/s, ${what}`,
      value: median(values),
      unit: "ms",
      goal: { atMost },
      note
    })
    const [cores, perSecond] = [median(seen.map(({ cores }) => cores)), median(seen.map(({ perSecond }) => perSecond))]
    return [
      row("p50", seen.map(({ p50 }) => p50), 10, `https; ${perSecond.toFixed(0)} invoices/s were answered`),
      row("p99", seen.map(({ p99 }) => p99), 100, `${shops} endpoints; the service used ${cores.toFixed(2)} cores`)
    ]
  }))

export const webhook = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.map(Effect.all([idle(bench), loaded(bench)]), (lines) => lines.flat())
