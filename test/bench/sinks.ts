/** How fast sinks take a backlog: events of many merchants that were stored before the sinks were turned on. */
import { Effect } from "effect"
import { join } from "node:path"
import { hasNatsServer, makeNatsServer } from "../fixtures/natsServer.ts"
import { cpuMicros } from "../support/Process.ts"
import { temporaryDirectory, until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { onDatabase } from "./Database.ts"
import type { ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "sinks"
const stream = "EVENTS"

/** Merchants, and events of each: 100,000 in all. */
const merchantCount = 50
const eventsEach = 2_000

/** Copies one real event of the deployment under later positions, for merchants who have none. */
const fill = `
  insert into merchant_streams (merchant_id, last_ms, last_seq)
  select 1000000 + m, e.ms + ${eventsEach}, ${eventsEach}
  from generate_series(1, ${merchantCount}) m, (select ms from events limit 1) e;
  insert into events (merchant_id, ms, seq, environment, type, invoice_id, commerce, pending_webhooks, data)
  select 1000000 + m, e.ms + n, n, e.environment, e.type, e.invoice_id, false, 0, e.data
  from generate_series(1, ${merchantCount}) m, generate_series(1, ${eventsEach}) n,
    (select * from events where type = 'invoice.created' limit 1) e`

const rest = (sink: string) =>
  `select count(*)::int as n from merchant_streams s
  left join event_sink_positions p on p.sink = '${sink}' and p.merchant_id = s.merchant_id
  where s.merchant_id > 1000000 and (s.last_ms, s.last_seq) > (coalesce(p.ms, 0), coalesce(p.seq, 0))`

export const sinks = ({ progress, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "sinks")
    const query = (text: string) =>
      onDatabase(server, deployment.database, async (client) => (await client.query(text)).rows)
    yield* Tillwire.prepare(
      deployment,
      (service, key) =>
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": "one" },
          body: { amount: 5_000 }
        })
    )
    yield* query(fill)
    const nats = hasNatsServer ? yield* makeNatsServer : undefined
    yield* nats?.makeStream(stream, "tillwire.events") ?? Effect.void
    const drivers = [
      { use: "sinks/file", options: { directory: join(yield* temporaryDirectory, "events") } },
      ...(nats === undefined ? [] : [{ use: "sinks/nats", options: { servers: [nats.url], stream } }])
    ]
    const lines: Array<ReportLine> = []
    for (const driver of drivers) {
      const { modules, ...config } = deployment.config as { readonly modules: ReadonlyArray<object> }
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start({
          ...deployment,
          config: { ...config, modules: [...modules, { use: "sinks" }, driver] }
        })
        // It has begun when its first positions are there: the start of the service is not measured.
        const left = Effect.map(query(rest(driver.use)), ([row]) => Number(row.n))
        const atStart = yield* until("the sink begins", left, (n) => n < merchantCount)
        const startedAt = performance.now()
        const cpuBefore = cpuMicros(service.pid)
        yield* until("the sink has all", left, (n) => n === 0, 300_000)
        const seconds = (performance.now() - startedAt) / 1_000
        const events = atStart * eventsEach
        const perSecond = events / seconds
        progress(`${driver.use}: ${events} events in ${seconds.toFixed(1)} s`)
        lines.push({
          section,
          what: `${driver.use}, a backlog of ${merchantCount * eventsEach} events`,
          value: perSecond,
          unit: "/s",
          cpuEach: (cpuMicros(service.pid) - cpuBefore) / events,
          goal: { atLeast: 20_000 }
        })
        yield* service.stop()
      }))
    }
    if (nats === undefined) {
      lines.push({ section, skipped: "sinks/nats: needs nats-server (Debian: apt-get install nats-server)" })
    }
    return lines
  }))
