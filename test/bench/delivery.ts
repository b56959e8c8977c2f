/**
 * Two instances killed, paused and stopped under load, before receivers of every kind: the long form of the journey.
 */
import { Effect } from "effect"
import { anvil } from "../support/Anvil.ts"
import { deliveryRunConfig, runDelivery } from "../support/Delivery.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceivers, receiverKinds } from "../support/Receivers.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine } from "./Report.ts"

const database = "delivery_till"
const retry = { baseMillis: 200, factor: 2 }

/** Twice what a lease lasts. */
const pauseMillis = 65_000

export const delivery = ({ kills, progress, seed, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const node = yield* anvil("base")
    const receivers = yield* makeReceivers({ slowMillis: 5_000 })
    yield* createDatabase(server, database)
    const directories = [yield* temporaryDirectory, yield* temporaryDirectory] as const
    const ports = [{ http: yield* freePort, rpc: yield* freePort }, {
      http: yield* freePort,
      rpc: yield* freePort
    }] as const
    const config = {
      ...configOf({ database: urlOf(server, database), chains: [] }),
      ...deliveryRunConfig({ node, receivers, retry }),
      telemetry: { logs: "json", level: "info" }
    }
    const report = yield* runDelivery({
      start: (instance) => startService({ directory: directories[instance], config, ports: ports[instance] }),
      query: (text) => onDatabase(server, database, async (client) => (await client.query(text)).rows),
      makeMerchants,
      receivers,
      node,
      merchants: 6,
      callers: 3,
      betweenMillis: 1_000,
      calmMillis: 20_000,
      shortestLife: 1_000,
      longestLife: 4_000,
      pauseMillis,
      retry,
      kinds: receiverKinds,
      hurry: false,
      kills,
      seed,
      progress
    })
    report.faults.forEach(progress)
    const row = (what: string, value: number, unit: string, note: string): ReportLine => ({
      section: "delivery",
      what,
      value,
      unit,
      note
    })
    return [
      row("committed", report.events, "events", `${report.invoices} invoices, ${report.payments} payments`),
      row("delivered", report.delivered, "", `to ${report.endpoints} endpoints, ${report.arrivals} arrivals`),
      row("failed after four attempts", report.exhausted, "", `${report.canceled} canceled by a 410`),
      row("waiting behind an open breaker", report.waiting, "", ""),
      row("arrived twice by a break", report.repeats, "", `${report.breaks} kills, pauses and stops`),
      row("retries at their time", report.retries, "", ""),
      row("answered during rolling restarts", report.rolling, "", "none of them failed"),
      row("healthy endpoints beside the others, p99", report.p99, "ms", `p50 ${report.p50.toFixed(1)} ms`),
      {
        section: "delivery",
        what: `promises broken by ${kills} kills`,
        value: report.faults.length,
        unit: "",
        goal: { atMost: 0 },
        note: `seed ${report.seed}`
      }
    ]
  }))
