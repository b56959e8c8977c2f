/**
 * Instances of a cluster that are killed, stopped, frozen and stalled: how long a piece of work is done by nobody, what
 * an idle instance costs, and that nothing lands that a newer term's work came before.
 */
import { Effect } from "effect"
import { migrate } from "../../runtime/Migrate.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import { connect } from "../support/Database.ts"
import {
  awaitCalm,
  busiestOf,
  gapsSince,
  now,
  prepareTrial,
  stall,
  startInstance,
  type TrialInstance,
  trialNames,
  type TrialQuery
} from "../support/LeaseTrial.ts"
import { cpuMicros, residentMegabytes } from "../support/Process.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import { median, type ReportLine, type Row } from "./Report.ts"

const database = "cluster_till"
const takeoverMillis = 6_000
const names = trialNames(24)
const idleMillis = 15_000

/** How long a fault's consequences are waited for once all names are done again. */
const settleMillis = 3_000

/** After which the server's statistics have all that the instances' start cost. */
const statisticsMillis = 15_000

/** Within which an instance that joins, or comes back, is given its part. */
const joinMillis = 5_000

export const cluster = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    yield* createDatabase(server, database)
    const url = urlOf(server, database)
    const query: TrialQuery = (text, values = []) =>
      onDatabase(server, database, async (client) => (await client.query(text, [...values])).rows)
    const address = { host: server.host, port: 5432, username: "postgres", database }
    yield* Effect.orDie(Effect.provide(migrate("runtime", runtimeMigrations), connect(address)))
    yield* prepareTrial(query)
    const options = { url, query, names, takeoverMillis }
    const lines: Array<Row> = []
    const row = (what: string, value: number, unit: string, goal?: number, note = "") =>
      lines.push({
        section: "cluster",
        what,
        value,
        unit,
        ...(goal === undefined ? {} : { goal: { atMost: goal } }),
        note
      })

    /** The busiest first. */
    let instances: ReadonlyArray<TrialInstance> = yield* Effect.forEach([1, 2, 3], () => startInstance(options))
    const found = yield* awaitCalm(query, names.length, 3)
    row("most of 24 names on one of 3 instances", Math.max(...found.values()), "names", 14)

    /** A fault, judged when all names are done again: the longest time without a row of a name, in milliseconds. */
    const judge = Effect.fnUntraced(function*<R>(
      what: string,
      fault: Effect.Effect<unknown, never, R>,
      alive: number,
      lastsMillis = 0
    ) {
      const since = yield* now(query)
      yield* fault
      yield* Effect.sleep(lastsMillis)
      const calm = yield* awaitCalm(query, names.length, alive)
      yield* Effect.sleep(settleMillis)
      const busiest = busiestOf(instances, calm)
      instances = [busiest, ...instances.filter((each) => each !== busiest)]
      const gaps = yield* gapsSince(query, since)
      const longest = Math.max(...gaps.longest)
      progress(`${what}: ${longest.toFixed(0)} ms, ${gaps.refused} refused, ${gaps.broken} broken`)
      row(`rows out of order after ${what}`, gaps.broken, "", 0, `${gaps.refused} late rows refused`)
      return longest
    })
    const signal = ({ child }: TrialInstance, name: NodeJS.Signals) => Effect.sync(() => child.kill(name))
    const replace = judge(
      "a join",
      Effect.map(startInstance(options), (joined) => {
        instances = [...instances.filter(({ child }) => child.exitCode === null && child.signalCode === null), joined]
      }),
      3,
      joinMillis
    )

    const kills: Array<number> = []
    const joins: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      kills.push(yield* judge("kill -9", signal(instances[0]!, "SIGKILL"), 2))
      joins.push(yield* replace)
    }
    row("longest gap after kill -9, median of rounds", median(kills), "ms", 3_000)
    row("longest gap after kill -9, worst round", Math.max(...kills), "ms", 3_000)
    row("longest gap when an instance joins, worst round", Math.max(...joins), "ms", 3_000)

    const stopped = yield* judge("SIGTERM", signal(instances[0]!, "SIGTERM"), 2)
    row("longest gap after SIGTERM", stopped, "ms", 3_000)
    yield* replace

    const paused = instances[0]!
    const frozen = yield* judge("SIGSTOP", signal(paused, "SIGSTOP"), 2)
    row("longest gap after SIGSTOP", frozen, "ms", 10_000)
    yield* judge("SIGCONT", signal(paused, "SIGCONT"), 3, joinMillis)

    const stalled = yield* judge("a stall of 9 s", stall(instances[0]!, 9_000), 3, 9_000 + joinMillis)
    row("longest gap after a stall of 9 s", stalled, "ms", 10_000)

    const behind = instances[0]!
    const stepped = yield* judge(
      "SIGSTOP with rows an hour ahead",
      Effect.andThen(
        signal(behind, "SIGSTOP"),
        Effect.andThen(
          query("update cluster_runners set last_heartbeat = last_heartbeat + interval '1 hour'"),
          query("update leases set until = until + interval '1 hour'")
        )
      ),
      2
    )
    row("longest gap after SIGSTOP and a clock set back an hour", stepped, "ms", 10_000)
    yield* signal(behind, "SIGCONT")
    yield* awaitCalm(query, names.length, 3)
    for (const { child } of instances) child.kill("SIGKILL")

    // Without work: what is left is the engine's own. A session that is idle tells its transactions up to 10 s late.
    const idle = yield* Effect.forEach([1, 2, 3], () => startInstance({ ...options, names: [] }))
    yield* Effect.sleep(statisticsMillis)
    const spent = () => idle.map(({ child }) => cpuMicros(child.pid!)).reduce((a, b) => a + b, 0)
    const transactions = Effect.map(
      query(
        "select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()"
      ),
      ([found]) => found.count as number
    )
    const [cpuBefore, transactionsBefore] = [spent(), yield* transactions]
    yield* Effect.sleep(idleMillis)
    const seconds = idleMillis / 1_000
    row("CPU of an idle instance", (spent() - cpuBefore) / 3 / (seconds * 10_000), "% of a core", 1)
    row("transactions of an idle instance", ((yield* transactions) - transactionsBefore) / 3 / seconds, "1/s", 3)
    row("memory of an idle instance", median(idle.map(({ child }) => residentMegabytes(child.pid!))), "MB")
    return lines
  }))
