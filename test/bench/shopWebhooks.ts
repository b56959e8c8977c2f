/**
 * The webhooks of shops from two instances that are killed at random, before receivers that fail in every way: the long
 * form of `test/modules/btcpay/deliveries.long.test.ts`. What the dead had claimed waits for its leases.
 */
import { Effect } from "effect"
import { runShopDeliveries } from "../modules/btcpay/ShopDeliveries.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine } from "./Report.ts"

const database = "shop_webhooks_till"
const retry = { baseMillis: 200, factor: 2 }

export const shopWebhooks = ({ kills, progress, seed, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const receiver = yield* makeReceiver()
    yield* createDatabase(server, database)
    const directories = [yield* temporaryDirectory, yield* temporaryDirectory] as const
    const ports = [{ http: yield* freePort, rpc: yield* freePort }, {
      http: yield* freePort,
      rpc: yield* freePort
    }] as const
    const config = {
      ...configOf({
        database: urlOf(server, database),
        receivers: [receiver.host],
        chains: [{ use: "simulated", options: { networks: ["base"] } }],
        webhooks: { retryBaseSeconds: retry.baseMillis / 1_000, retryFactor: retry.factor }
      }),
      telemetry: { logs: "json", level: "info" }
    }
    const report = yield* runShopDeliveries({
      start: (instance) => startService({ directory: directories[instance], config, ports: ports[instance] }),
      query: (text) => onDatabase(server, database, async (client) => (await client.query(text)).rows),
      receiver,
      kills,
      shortestLife: 1_000,
      longestLife: 15_000,
      callers: 4,
      betweenMillis: 2_000,
      retry,
      isShortRun: false,
      seed,
      progress
    })
    report.faults.forEach(progress)
    const row = (what: string, value: number, note: string): ReportLine => ({
      section: "shop_webhooks",
      what,
      value,
      unit: "",
      note
    })
    return [
      row("deliveries of shops", report.deliveries, `of ${report.invoices} invoices, ${report.arrivals} arrivals`),
      row("attempts after the first", report.redeliveries, ""),
      row("given up after all attempts", report.exhausted, ""),
      row("arrived twice by a kill", report.repeats, `${report.interrupted} were on their way to silent receivers`),
      {
        section: "shop_webhooks",
        what: `promises broken by ${kills} kills`,
        value: report.faults.length,
        unit: "",
        goal: { atMost: 0 },
        note: `seed ${report.seed}`
      }
    ]
  }))
