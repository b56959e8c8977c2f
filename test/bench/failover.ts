/**
 * A primary that dies under load: three instances of a cluster over a database that fails over. What clients were told
 * is held against what the new primary has, and the time that nobody was answered is measured.
 */
import { Effect, Fiber } from "effect"
import { type Ask, type CrashRunOptions, judge, makeClients } from "../support/Crash.ts"
import { failoverDatabase, missingPrograms } from "../support/Patroni.ts"
import { makeReceiver, receiverCertificate } from "../support/Receiver.ts"
import { configOf, exchange, startService, temporaryDirectory, until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { median, type ReportLine } from "./Report.ts"

const section = "failover"
const instanceCount = 3
const callers = 6

/** Deaths of a primary, at most: each is followed by the return of its node. */
const mostKills = 10

/** Milliseconds of load before each. */
const calmMillis = 5_000

/** Milliseconds that a request may take before its client asks again. */
const answerMillis = 3_000

/** Names of the work that somebody holds. */
const heldWork = "select name from leases where until > clock_timestamp() order by name"

export const failover = (
  { kills, progress, seed }: Bench
): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const missing = missingPrograms()
    if (missing.length > 0 || process.getuid?.() !== 0) {
      return [{
        section,
        skipped: `needs root and ${[...missing, "root"].join(", ")} (Debian: apt-get install ${missing.join(" ")})`
      }]
    }
    const database = yield* failoverDatabase
    progress("failover: a primary, two replicas and haproxy stand")
    const receiver = yield* makeReceiver()
    const config = {
      ...configOf({
        database: database.url,
        chains: [{ use: "simulated", options: { networks: ["base"] } }],
        receivers: [receiver.host]
      }),
      cluster: {},
      transports: [{ use: "https", options: { ca: receiverCertificate } }],
      telemetry: { logs: "json", level: "info" }
    }
    const startInstance = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
    const first = yield* startInstance
    const { merchant_key: key } = yield* first.keys
    yield* first.call("/api/v1/webhooks", {
      headers: { "x-api-key": key },
      body: { url: receiver.url("/failover"), enabled_events: ["*"] }
    })
    const others = yield* Effect.forEach(Array.from({ length: instanceCount - 1 }), () => startInstance)
    const instances = [first, ...others]
    const [merchant] = yield* database.query("select id from merchants")

    let turn = 0
    let answeredAt = performance.now()
    const ask: Ask = (path, sent) =>
      Effect.suspend(() => exchange(instances[turn++ % instances.length]!.url, path, sent)).pipe(
        Effect.catchDefect(() => Effect.succeed(undefined)),
        Effect.timeoutOrElse({ duration: answerMillis, orElse: () => Effect.succeed(undefined) }),
        Effect.tap((response) =>
          Effect.sync(() => {
            if (response?.status === 200) answeredAt = performance.now()
          })
        )
      )
    const clients = makeClients({ merchant: { id: merchant!["id"], key }, ask, seed })
    let isRunning = true
    const load = yield* Effect.forkChild(
      Effect.forEach(Array.from({ length: callers }), (_, name) => clients.caller(name, () => isRunning), {
        concurrency: "unbounded",
        discard: true
      })
    )
    const outages: Array<number> = []
    const returns: Array<number> = []
    const count = Math.min(kills, mostKills)
    for (let kill = 1; kill <= count; kill++) {
      yield* Effect.sleep(calmMillis)
      const held = yield* database.query(heldWork)
      const name = yield* database.killPrimary
      const killedAt = performance.now()
      // What the dead primary had answered may still arrive.
      yield* Effect.sleep(500)
      const silentSince = answeredAt
      yield* until("somebody is answered again", Effect.sync(() => answeredAt), (at) => at > silentSince + 500, 120_000)
      const againAt = answeredAt
      const outage = againAt - Math.min(silentSince, killedAt)
      yield* until(
        "all work is held again",
        Effect.catchDefect(database.query(heldWork), () => Effect.succeed([])),
        (rows) => held.every(({ name }) => rows.some((row) => row["name"] === name)),
        120_000
      )
      const back = performance.now() - againAt
      outages.push(outage / 1_000)
      returns.push(Math.max(0, back) / 1_000)
      progress(
        `failover ${kill}/${count}: ${name} died, ${(outage / 1_000).toFixed(1)} s without an answer, `
          + `all ${held.length} pieces of work back ${(back / 1_000).toFixed(1)} s later`
      )
      yield* database.restoreNodes
    }
    yield* Effect.sleep(calmMillis)
    isRunning = false
    yield* Fiber.join(load)
    const run: CrashRunOptions = {
      start: Effect.succeed(first),
      query: database.query,
      receiver,
      kills: count,
      callers,
      seed,
      progress
    }
    const report = yield* judge(run, first, clients)
    report.faults.slice(0, 20).forEach(progress)
    return [
      {
        section,
        what: `promises broken by ${count} deaths of the primary`,
        value: report.faults.length,
        unit: "",
        goal: { atMost: 0 },
        note:
          `${report.invoices} invoices, ${report.unanswered} requests without an answer, ${report.payments} payments, `
          + `${report.events} events, ${report.duplicates} delivered twice, seed ${seed}`
      },
      { section, what: "longest time without an answer", value: Math.max(...outages), unit: "s", goal: { atMost: 30 } },
      { section, what: "time without an answer, median", value: median(outages), unit: "s" },
      {
        section,
        what: "longest time until all work is back",
        value: Math.max(...returns),
        unit: "s",
        goal: { atMost: 10 }
      }
    ]
  }))
