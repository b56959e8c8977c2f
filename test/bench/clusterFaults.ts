/**
 * Faults that a cluster has to outlive and that take longer than `cluster`: a network that goes silent, a PostgreSQL
 * that is restarted again and again, two builds side by side, many kills, an instance more, instances of some roles.
 */
import { Effect } from "effect"
import { type InstanceRole, instanceRoles } from "../../runtime/Leases.ts"
import { lockNamespace } from "../../runtime/leases/Cluster.ts"
import { migrate } from "../../runtime/Migrate.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import { connect } from "../support/Database.ts"
import { makeDatabaseProxy } from "../support/DatabaseProxy.ts"
import {
  awaitCalm,
  busiestOf,
  gapsSince,
  now,
  prepareTrial,
  spread,
  startInstance,
  type TrialInstance,
  trialNames,
  type TrialQuery
} from "../support/LeaseTrial.ts"
import { until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import type { ReportLine, Row } from "./Report.ts"

const section = "cluster_faults"
const database = "cluster_faults_till"
const takeoverMillis = 6_000
const names = trialNames(24)
const restarts = 20
const shards = 60 * instanceRoles.length

/** How long a silent network lasts: the instance behind it has lost its work by then. */
const silentMillis = 12_000

/** How long a fault's consequences are waited for once all names are done again. */
const settleMillis = 1_000

/** Within which an instance that joins is given its part. */
const joinMillis = 5_000

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

const isRunning = ({ child }: TrialInstance) => child.exitCode === null && child.signalCode === null

export const clusterFaults = ({ kills, progress, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    yield* createDatabase(server, database)
    const ask = (text: string, values: ReadonlyArray<unknown>) =>
      onDatabase(server, database, async (client) => (await client.query(text, [...values])).rows)
    const query: TrialQuery = (text, values = []) => ask(text, values)
    const address = { host: server.host, port: 5432, username: "postgres", database }
    yield* Effect.orDie(Effect.provide(migrate("runtime", runtimeMigrations), connect(address)))
    yield* prepareTrial(query)
    const options = { url: urlOf(server, database), query, names, takeoverMillis }
    const lines: Array<Row> = []
    const row = (what: string, value: number, unit: string, atMost?: number, note = "") => {
      progress(`${what}: ${value.toFixed(0)} ${unit} ${note}`)
      lines.push({ section, what, value, unit, note, ...(atMost === undefined ? {} : { goal: { atMost } }) })
    }
    const start = (roles?: ReadonlyArray<InstanceRole>, more: Partial<typeof options> = {}) =>
      startInstance({ ...options, ...more }, roles)
    const end = ({ child }: TrialInstance, name: NodeJS.Signals = "SIGKILL") => Effect.sync(() => void child.kill(name))
    const locks = Effect.map(
      query(
        "select count(*)::int as count from pg_locks where locktype = 'advisory' and granted and classid::bigint = $1",
        [lockNamespace]
      ),
      ([found]) => found.count as number
    )
    const tokens = Effect.map(
      query("select name, token::int as token from leases"),
      (rows) => new Map<string, number>(rows.map(({ name, token }) => [name, token]))
    )
    const since = <A>(fault: Effect.Effect<A>, alive: number, count = names.length) =>
      Effect.gen(function*() {
        const from = yield* now(query)
        yield* fault
        yield* awaitCalm(query, count, alive)
        yield* Effect.sleep(settleMillis)
        return yield* gapsSince(query, from)
      })

    // A fourth instance.
    let instances: ReadonlyArray<TrialInstance> = yield* Effect.forEach([1, 2, 3], () => start())
    yield* awaitCalm(query, names.length, 3)
    yield* Effect.sleep(joinMillis)
    const tokensBefore = yield* tokens
    const fromJoin = yield* now(query)
    instances = [...instances, yield* start()]
    yield* Effect.sleep(joinMillis + settleMillis)
    yield* awaitCalm(query, names.length, 4)
    const joined = yield* gapsSince(query, fromJoin)
    const handovers = [...(yield* tokens)].map(([name, token]) => token - tokensBefore.get(name)!)
    row("longest gap when a fourth instance joins", Math.max(...joined.longest), "ms", 3_000)
    row("most hand-overs of a name when a fourth instance joins", Math.max(...handovers), "", 1)
    const shares = [...(yield* spread(query)).values()]
    row("most of 24 names on one of 4 instances", Math.max(...shares), "names", 14)
    yield* end(instances[3]!)
    instances = instances.slice(0, 3)
    yield* awaitCalm(query, names.length, 3)

    // PostgreSQL restarted.
    const pauses: Array<number> = []
    const lockMillis: Array<number> = []
    let refused = 0
    let broken = 0
    for (let restart = 0; restart < restarts; restart++) {
      const gaps = yield* since(server.restart, 3)
      pauses.push(Math.max(...gaps.longest))
      refused += gaps.refused
      broken += gaps.broken
      // Names that were done before go on before the locks are taken anew.
      const askedAt = performance.now()
      yield* until("all shards have an owner", locks, (count) => count === shards, 30_000)
      lockMillis.push(performance.now() - askedAt + settleMillis)
    }
    row(
      `longest gap of ${restarts} restarts of PostgreSQL`,
      Math.max(...pauses),
      "ms",
      5_000,
      `${refused} late rows refused`
    )
    row("median of them", percentile(pauses, 0.5), "ms")
    row("rows out of order after restarts", broken, "", 0)
    row("until all shards have an owner after a restart, at most", Math.max(...lockMillis), "ms", 3 * takeoverMillis)
    row("instances that ended", instances.filter((each) => !isRunning(each)).length, "", 0)

    // A network that goes silent.
    const proxy = yield* makeDatabaseProxy({ ...address, url: "" })
    const cut = yield* start(undefined, { url: proxy.url })
    yield* Effect.sleep(joinMillis)
    yield* awaitCalm(query, names.length, 4)
    const [share] = yield* query(
      "select count(distinct name)::int as names from lease_writes where instance = $1 and at > clock_timestamp() - interval '400 ms'",
      [cut.instanceId]
    )
    const silent = yield* since(Effect.andThen(proxy.set("held"), Effect.sleep(silentMillis)), 3)
    row(
      "longest gap when the network goes silent",
      Math.max(...silent.longest),
      "ms",
      10_000,
      `${share.names} names behind it`
    )
    const back = yield* since(Effect.andThen(proxy.set("through"), Effect.sleep(joinMillis)), 4)
    row("rows out of order when it is back", silent.broken + back.broken, "", 0, `${back.refused} late rows refused`)
    row("longest gap when it is back", Math.max(...back.longest), "ms", 3_000)
    row("instances that ended because of it", isRunning(cut) ? 0 : 1, "", 0)
    yield* end(cut)
    yield* awaitCalm(query, names.length, 3)

    // Rows an hour ahead, and the busiest is killed.
    const victim = busiestOf(instances, yield* spread(query))
    const stepped = yield* since(
      Effect.andThen(
        query("update cluster_runners set last_heartbeat = last_heartbeat + interval '1 hour'"),
        Effect.andThen(query("update leases set until = until + interval '1 hour'"), end(victim))
      ),
      2
    )
    row("longest gap after a kill with rows an hour ahead", Math.max(...stepped.longest), "ms", 10_000)
    instances = [...instances.filter(isRunning), yield* start()]
    yield* Effect.sleep(joinMillis)
    yield* awaitCalm(query, names.length, 3)

    // Kills.
    const takeovers: Array<number> = []
    for (let kill = 0; kill < kills; kill++) {
      const shared = yield* spread(query)
      const killed = busiestOf(instances, shared)
      const gaps = yield* since(end(killed), 2)
      takeovers.push(...gaps.longest.toSorted((a, b) => b - a).slice(0, shared.get(killed.instanceId) ?? 0))
      broken += gaps.broken
      instances = [...instances.filter(isRunning), yield* start()]
      yield* Effect.sleep(joinMillis)
      yield* awaitCalm(query, names.length, 3)
      if (kill % 10 === 9) progress(`${kill + 1} kills`)
    }
    row(`takeover of a name after ${kills} kills, median`, percentile(takeovers, 0.5), "ms", 1_000)
    row(`takeover of a name after ${kills} kills, 95 of 100`, percentile(takeovers, 0.95), "ms", 3_000)
    row(`takeover of a name after ${kills} kills, worst`, Math.max(...takeovers), "ms")
    row("rows out of order after kills and restarts", broken, "", 0)

    // Two builds: the newer one knows one name more.
    const newest = [...names, "timer:newest"]
    for (const each of instances) yield* end(each)
    yield* query("delete from cluster_roles")
    const older = yield* Effect.forEach([1, 2], () => start())
    yield* awaitCalm(query, names.length, 2)
    const fromBuild = yield* now(query)
    const newer = yield* start(undefined, { names: newest })
    yield* Effect.sleep(joinMillis)
    const gapsOfBuilds = yield* gapsSince(query, fromBuild)
    row("rows out of order with two builds", gapsOfBuilds.broken, "", 0)
    for (const each of older) yield* end(each, "SIGTERM")
    const endedAt = performance.now()
    yield* awaitCalm(query, newest.length, 1)
    row("until a new build's own work is done once the older ones left", performance.now() - endedAt, "ms", 5_000)
    yield* end(newer)

    // Roles.
    yield* start(["api"])
    yield* start(["worker"])
    yield* Effect.sleep(joinMillis)
    const from = yield* now(query)
    yield* Effect.sleep(joinMillis)
    const done = yield* query(
      "select count(*) filter (where name like 'chain:%')::int as chains, count(*)::int as all from lease_writes where at > $1::timestamptz",
      [from]
    )
    row("rows of followers where no instance follows", done[0].chains, "", 0, `${done[0].all} rows of workers`)
    return lines
  }))
