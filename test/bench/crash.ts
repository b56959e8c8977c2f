/** The service killed again and again under load: the long form of `test/journeys/crash.long.test.ts`. */
import { Effect } from "effect"
import { crash as killed } from "../support/Crash.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { startService } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { onDatabase } from "./Database.ts"
import type { ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const callers = 8

export const crash = ({ kills, progress, seed, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const receiver = yield* makeReceiver()
    const deployment = yield* Tillwire.deploy(server, "crash_till", { receivers: [receiver.host] })
    const ports = { http: yield* freePort, rpc: yield* freePort }
    const report = yield* killed({
      start: startService({ directory: deployment.directory, config: deployment.config, ports }),
      query: (text) => onDatabase(server, deployment.database, async (client) => (await client.query(text)).rows),
      receiver,
      kills,
      callers,
      seed,
      progress
    })
    report.faults.forEach(progress)
    return [{
      section: "crash",
      what: `promises broken by ${kills} kills`,
      value: report.faults.length,
      unit: "",
      goal: { atMost: 0 },
      note: `${report.invoices} invoices, ${report.payments} payments, ${report.events} events, `
        + `${report.deliveries} delivered (${report.duplicates} twice), seed ${report.seed}`
    }]
  }))
