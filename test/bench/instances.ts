/**
 * Creating invoices on 1, 2 and 3 instances of a cluster over one PostgreSQL, and those of one hot merchant on one and
 * on two: what each costs the instances, PostgreSQL and the load itself. All instances run for the whole measurement
 * and the windows alternate, so that others on the machine trouble all alike.
 */
import { Effect } from "effect"
import { availableParallelism } from "node:os"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { anvil } from "../support/Anvil.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { type Service, temporaryDirectory } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { callers, createLoad, merchantCount } from "./create.ts"
import { type DatabaseServer, spentBetween, usageOf } from "./Database.ts"
import { drive } from "./load.ts"
import { type Goal, median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "instances"
const database = "instances_till"

/**
 * Requests after which a process has compiled what it runs, and callers who make them: on a busy machine three cold
 * processes answer so few a second that more callers would wait longer than a request may take.
 */
const warmUpRequests = 12_000
const warmUpCallers = 64
/** Requests of a window: by number and not by time, so that what runs beside them weighs as much on a busy machine. */
const windowRequests = 9_000
/** Longer than so many requests take anywhere. */
const limitSeconds = 120

/** Windows: on how many instances, and whose invoices. */
const windows = [
  { name: "one", count: 1, isHot: false },
  { name: "two", count: 2, isHot: false },
  { name: "three", count: 3, isHot: false },
  { name: "hotOnOne", count: 1, isHot: true },
  { name: "hotOnTwo", count: 2, isHot: true }
] as const
type Window = typeof windows[number]

/** What was seen in one window; CPU in microseconds for each create. */
interface Seen {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuEach: number
  readonly postgresCpuEach: number
  readonly loadCpuEach: number
  readonly walBytesEach: number
  /** Creates that were refused and asked for again. */
  readonly refused: number
}

const measure = (
  server: DatabaseServer,
  services: ReadonlyArray<Service>,
  keys: ReadonlyArray<string>,
  { count, isHot }: Window
) =>
  Effect.gen(function*() {
    const from = yield* usageOf(server, database)
    const driven = yield* Effect.forEach(
      services.slice(0, count),
      ({ pid, ports }) => {
        const load = createLoad(ports.http, isHot ? keys.slice(0, 1) : keys)
        const share = { count: windowRequests / count, callers: Math.floor(callers / count), repeatsRefused: true }
        return drive(pid, { ...load, ...share, seconds: limitSeconds })
      },
      { concurrency: "unbounded" }
    )
    const { cpuMicros, walBytes } = spentBetween(from, yield* usageOf(server, database))
    const created = driven.reduce((sum, each) => sum + each.count, 0)
    const each = (figure: (one: typeof driven[number]) => number) =>
      driven.reduce((sum, one) => sum + figure(one) * one.count, 0) / created
    const seen: Seen = {
      perSecond: driven.reduce((sum, one) => sum + one.perSecond, 0),
      p50: each(({ p50 }) => p50),
      p99: Math.max(...driven.map(({ p99 }) => p99)),
      cpuEach: each(({ cpuEach }) => cpuEach),
      postgresCpuEach: cpuMicros / created,
      loadCpuEach: each(({ loadCpuEach }) => loadCpuEach),
      walBytesEach: walBytes / created,
      refused: driven.reduce((sum, one) => sum + one.refused, 0)
    }
    return seen
  })

type Round = Readonly<Record<Window["name"], Seen>>

const shown = ({ count, isHot }: Window) =>
  `${isHot ? "one hot merchant" : `${merchantCount} merchants`} on ${count} instance${count === 1 ? "" : "s"}`

const reportOf = (rounds: ReadonlyArray<Round>): ReadonlyArray<ReportLine> => {
  const of = (name: Window["name"], figure: (seen: Seen) => number) =>
    median(rounds.map((round) => figure(round[name])))
  const ratio = (
    what: string,
    [name, base]: readonly [Window["name"], Window["name"]],
    figure: (seen: Seen) => number,
    goal?: Goal
  ): ReportLine => ({
    section,
    what,
    value: median(rounds.map((round) => figure(round[name]) / figure(round[base]))),
    unit: "x",
    ...(goal === undefined ? {} : { goal })
  })
  const rate = ({ perSecond }: Seen) => perSecond
  const share = (of: (seen: Seen) => number) => (seen: Seen) =>
    of(seen) / (seen.cpuEach + seen.postgresCpuEach + seen.loadCpuEach)
  return [
    ...windows.map((window): ReportLine => ({
      section,
      what: `creates, ${shown(window)}`,
      value: of(window.name, rate),
      unit: "/s",
      cpuEach: of(window.name, ({ cpuEach }) => cpuEach),
      note: `p50 ${of(window.name, ({ p50 }) => p50).toFixed(0)} ms, p99 ${
        of(window.name, ({ p99 }) => p99).toFixed(0)
      } ms; CPU each: PostgreSQL ${of(window.name, ({ postgresCpuEach }) => postgresCpuEach).toFixed(0)} us (${
        (100 * of(window.name, share(({ postgresCpuEach }) => postgresCpuEach))).toFixed(0)
      } % of all), load ${of(window.name, ({ loadCpuEach }) => loadCpuEach).toFixed(0)} us; ${
        of(window.name, ({ walBytesEach }) => walBytesEach).toFixed(0)
      } B of WAL`
    })),
    ratio("PostgreSQL's CPU for each create, three instances / one", ["three", "one"], (seen) => seen.postgresCpuEach, {
      atMost: 1.25
    }),
    ratio("an instance's CPU for each create, three instances / one", ["three", "one"], ({ cpuEach }) => cpuEach, {
      atMost: 1.25
    }),
    {
      section,
      what: "instances of one core each that keep one core of PostgreSQL busy",
      value: of("one", ({ cpuEach, postgresCpuEach }) => cpuEach / postgresCpuEach),
      unit: "",
      note: "from the CPU of both for each create"
    },
    {
      section,
      what: "creates that were refused and asked for again",
      value: rounds.reduce((sum, round) => sum + windows.reduce((each, { name }) => each + round[name].refused, 0), 0),
      unit: "",
      goal: { atMost: 0 },
      note: "a request may take 9 s: on a machine that others use as well, fewer callers are answered in time"
    },
    ratio("rate of creates, two instances / one", ["two", "one"], rate),
    ratio("rate of creates, three instances / one", ["three", "one"], rate),
    ratio("rate of one hot merchant, two instances / one", ["hotOnTwo", "hotOnOne"], rate, { atLeast: 0.9 }),
    ratio("rate of one instance, hot merchant / many merchants", ["hotOnOne", "one"], rate)
  ]
}

export const instances = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const node = yield* anvil("base")
    const options = { network: "base", environment: "devnet", rpc: [node.url], xpub: devnetXpub }
    // The simulated networks, which `deploy` configures otherwise, live in one process.
    const deployed = yield* Tillwire.deploy(server, database, { chains: [{ use: "evm", options }] })
    const config = { ...deployed.config, cluster: {} }
    const deployment = { ...deployed, config }
    const merchants = yield* Tillwire.prepare(deployment, (service) => makeMerchants(service, merchantCount))
    const keys = merchants.map(({ key }) => key)
    const start = Effect.flatMap(temporaryDirectory, (directory) => Tillwire.start({ ...deployment, directory }))
    const services = [yield* start, yield* start, yield* start]
    yield* Effect.forEach(
      services,
      ({ pid, ports }) =>
        drive(pid, {
          ...createLoad(ports.http, keys),
          seconds: limitSeconds,
          count: warmUpRequests,
          callers: warmUpCallers,
          repeatsRefused: true
        }),
      { concurrency: "unbounded", discard: true }
    )
    const seen: Array<Round> = []
    for (let round = 1; round <= rounds; round++) {
      const take = (window: Window) =>
        Effect.tap(
          measure(server, services, keys, window),
          ({ cpuEach, loadCpuEach, p99, perSecond, postgresCpuEach }) =>
            Effect.sync(() =>
              progress(
                `instances ${round}/${rounds}: ${shown(window)}: ${perSecond.toFixed(0)}/s, CPU ${
                  cpuEach.toFixed(0)
                } us, PostgreSQL ${postgresCpuEach.toFixed(0)}, load ${loadCpuEach.toFixed(0)}, p99 ${
                  p99.toFixed(0)
                } ms`
              )
            )
        )
      const [one, two, three, hotOnOne, hotOnTwo] = windows
      seen.push({
        one: yield* take(one),
        two: yield* take(two),
        hotOnOne: yield* take(hotOnOne),
        hotOnTwo: yield* take(hotOnTwo),
        three: yield* take(three)
      })
    }
    const lines = reportOf(seen)
    const cores = availableParallelism()
    return cores >= 6
      ? lines
      : [...lines, { section, skipped: `rates of several instances say nothing of scaling: ${cores} cores for all` }]
  }))
