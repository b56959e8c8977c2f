/**
 * Endpoints, chain, process and database that fail in every way, for minutes: the journey of that name at length. Once
 * with one instance, and once with three of a cluster, of which one at a time is killed.
 */
import { Effect } from "effect"
import { chaos as run, chaosDeployment, everyAct, everyHabit } from "../support/chaos/Run.ts"
import { freePort } from "../support/Ports.ts"
import { startService, temporaryDirectory } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine } from "./Report.ts"

const instancesOfCluster = 3

/** Faults of one kind that are written out; the rest is counted. */
const shownFaults = 12

const chaosOf =
  (section: string, instances: number) =>
  ({ minutes, progress, seed, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
    Effect.scoped(Effect.gen(function*() {
      const database = `${section}_till`
      yield* createDatabase(server, database)
      const places = yield* Effect.forEach(Array.from({ length: instances }), () =>
        Effect.gen(function*() {
          return { directory: yield* temporaryDirectory, ports: { http: yield* freePort, rpc: yield* freePort } }
        }))
      const report = yield* run({
        start: (endpoints, place) => {
          const { config, environment } = chaosDeployment(urlOf(server, database), endpoints)
          return startService({
            ...places[place]!,
            config: instances === 1 ? config : { ...config, cluster: {} },
            environment
          })
        },
        instances,
        database,
        query: (name, text) => onDatabase(server, name, async (client) => (await client.query(text)).rows),
        seed,
        progress,
        acts: everyAct,
        habits: everyHabit,
        chaosMillis: minutes * 60_000,
        pace: 1,
        blockMillis: 1_000,
        calmBlockMillis: 500,
        customerMillis: 1_200,
        lifeSeconds: 60,
        floodLogs: 1_500,
        patienceMillis: 120_000
      })
      const byPromise = Map.groupBy(report.faults, (fault) => fault.split(":")[0]!)
      for (const [promise, faults] of byPromise) {
        faults.slice(0, shownFaults).forEach(progress)
        if (faults.length > shownFaults) progress(`… ${promise}: ${faults.length} in all`)
      }
      for (const [call, reason] of report.refused) progress(`${call} was refused: ${reason}`)
      const counted = [...byPromise].map(([promise, faults]) => `${faults.length} ${promise}`).join(", ")
      const row = (what: string, value: number, note: string, unit = ""): ReportLine => ({
        section,
        what,
        value,
        unit,
        note
      })
      return [
        row("invoices", report.invoices, `${report.sent} payments sent, ${report.events} events`),
        row("payments on the chain in the end", report.payments, `$${(report.worth / 1000).toFixed(3)}`),
        row(
          "faults made",
          report.acts,
          `${report.kills} kills, ${report.restores} restores, ` +
            `${report.reorganisations} reorganisations`
        ),
        row("until all was right again", report.calmMillis / 1000, "", "s"),
        {
          section,
          what: `promises broken in ${minutes} minutes`,
          value: report.faults.length,
          unit: "",
          goal: { atMost: 0 },
          note: `${counted === "" ? "" : `${counted}; `}seed ${seed}`
        }
      ]
    }))

export const chaos = chaosOf("chaos", 1)
export const chaosOfCluster = chaosOf("cluster_chaos", instancesOfCluster)
