/**
 * `npm run bench [-- name…] [--rounds n] [--kills n] [--minutes n] [--rows n] [--seed n] [--histories n] [--family name]
 * [--before path] [--json file]`: every figure with its goal, both sides measured in the same run. `--before` is another
 * working copy of the project, its dependencies installed, that `create` and `page` are compared with; `--family`
 * keeps `histories` to one of the names in `test/support/TestedChains.ts`, `money`, `batches` or one of the chains of
 * batches, `batches_evm` for example. Names: create, events, event_list, http, expiry, ledger, list, looks,
 * calls, webhook, deliveries, claims, cluster, cluster_chaos, cluster_faults, collect, dashboard, processes, instances,
 * isolation, sinks, sockets, start, targets, tokens, traces, signin, quotes, page, commerce, backup, crash, delivery,
 * shop_webhooks, failover, chaos, flood, histories; none means all.
 */
import { Cause, Effect } from "effect"
import { randomInt } from "node:crypto"
import { writeFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import { backups } from "./backup.ts"
import type { Bench } from "./Bench.ts"
import { calls } from "./calls.ts"
import { chaos, chaosOfCluster } from "./chaos.ts"
import { claims } from "./claims.ts"
import { cluster } from "./cluster.ts"
import { clusterFaults } from "./clusterFaults.ts"
import { collect } from "./collect.ts"
import { commerce } from "./commerce.ts"
import { crash } from "./crash.ts"
import { create } from "./create.ts"
import { dashboard } from "./dashboard.ts"
import { databaseServer } from "./Database.ts"
import { deliveries } from "./deliveries.ts"
import { delivery } from "./delivery.ts"
import { eventList } from "./eventList.ts"
import { events } from "./events.ts"
import { expiry } from "./expiry.ts"
import { failover } from "./failover.ts"
import { flood } from "./flood.ts"
import { histories, historyFamilies } from "./histories.ts"
import { http } from "./http.ts"
import { instances } from "./instances.ts"
import { isolation } from "./isolation.ts"
import { ledger } from "./ledger.ts"
import { list } from "./list.ts"
import { looks } from "./looks.ts"
import { type ReportLine, table } from "./Report.ts"
import { page } from "./page.ts"
import { signin } from "./signin.ts"
import { processes } from "./processes.ts"
import { quotes } from "./quotes.ts"
import { reconciliation } from "./reconciliation.ts"
import { shopWebhooks } from "./shopWebhooks.ts"
import { sinks } from "./sinks.ts"
import { sockets } from "./sockets.ts"
import { start } from "./start.ts"
import { targets } from "./targets.ts"
import { tokens } from "./tokens.ts"
import { traces } from "./traces.ts"
import { webhook } from "./webhook.ts"

const sections: Readonly<Record<string, (bench: Bench) => Effect.Effect<ReadonlyArray<ReportLine>>>> = {
  create,
  events,
  event_list: eventList,
  http,
  expiry,
  ledger,
  list,
  looks,
  reconciliation,
  calls,
  webhook,
  deliveries,
  claims,
  cluster,
  cluster_chaos: chaosOfCluster,
  cluster_faults: clusterFaults,
  collect,
  dashboard,
  processes,
  instances,
  isolation,
  sinks,
  sockets,
  start,
  targets,
  tokens,
  traces,
  signin,
  quotes,
  page,
  commerce,
  backup: backups,
  crash,
  delivery,
  shop_webhooks: shopWebhooks,
  failover,
  chaos,
  flood,
  histories
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    kills: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    rows: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    histories: { type: "string", default: "300" },
    family: { type: "string" },
    before: { type: "string" },
    json: { type: "string" }
  }
})

const unknown = positionals.filter((name) => !(name in sections))
if (unknown.length > 0) {
  console.error(`no section is named ${unknown.join(", ")}; there are ${Object.keys(sections).join(", ")}`)
  process.exit(2)
}

if (values.family !== undefined && !historyFamilies.includes(values.family)) {
  console.error(`no family is named ${values.family}; there are ${historyFamilies.join(", ")}`)
  process.exit(2)
}

const main = Effect.gen(function*() {
  const server = yield* databaseServer
  const bench: Bench = {
    server,
    rounds: Number(values.rounds),
    kills: Number(values.kills),
    minutes: Number(values.minutes),
    rows: Number(values.rows),
    seed: Number(values.seed),
    histories: Number(values.histories),
    family: values.family,
    before: values.before === undefined ? undefined : resolve(values.before),
    progress: (line) => console.log(line)
  }
  const lines: Array<ReportLine> = []
  for (const [name, run] of Object.entries(sections)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    bench.progress(`# ${name}`)
    lines.push(...yield* run(bench))
  }
  const machine = {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    node: process.version,
    load: loadavg().map((load) => load.toFixed(1)).join(" "),
    rounds: bench.rounds,
    seed: bench.seed
  }
  console.log(`\n${table(lines)}\n\n${JSON.stringify(machine)}`)
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ machine, lines }, null, 2))
  return lines
})

// Interrupted, everything that was started is stopped before this process ends.
const running = Effect.runFork(Effect.scoped(main))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => running.interruptUnsafe())
running.addObserver((exit) => {
  if (exit._tag === "Failure") console.error(Cause.pretty(exit.cause))
  process.exit(exit._tag === "Success" ? 0 : 1)
})
