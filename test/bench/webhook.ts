/** From the commit of an event to the first byte of its webhook, while nothing else happens. */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { makeReceiver } from "../support/Receiver.ts"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { type Line, median } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const warmUp = 40
const measured = 100
/** Between two invoices: long enough for everything the first one set off to be over. */
const idleMillis = 30

const quantile = (values: ReadonlyArray<number>, share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!

export const webhook = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<Line>> =>
  Effect.scoped(Effect.gen(function*() {
    const receiver = yield* makeReceiver()
    const deployment = yield* Tillwire.deploy(server, "webhook_till", [receiver.host])
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
      progress(`webhook ${round}/${rounds}: p50 ${seen.at(-1)!.p50.toFixed(1)} ms, p95 ${seen.at(-1)!.p95.toFixed(1)} ms`)
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
