/**
 * `http.processes: 2` beside one process, on the same database: the CPU that a create costs the whole service, and
 * where cores are free for it, how many more creates there are a second.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { anvil } from "../support/Anvil.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { cpuMicros } from "../support/Process.ts"
import type { Bench } from "./Bench.ts"
import { callers, createLoad, merchantCount } from "./create.ts"
import { drive, type Driven } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "processes"
const counts = [1, 2] as const
type Count = typeof counts[number]

/** Each process compiles what it runs, so the warm-up is as long for each. */
const warmUpRequestsEach = 12_000
/** Longer than the warm-up takes anywhere. */
const warmUpSeconds = 120
const seconds = 4

/** Cores that the two processes, the first one, PostgreSQL and the load need for themselves; with fewer they only share. */
const neededCores = 4

/** Microseconds of CPU of a process and its children. */
const familyMicros = (pid: number): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim()
  return [pid, ...children === "" ? [] : children.split(" ").map(Number)].reduce((sum, id) => sum + cpuMicros(id), 0)
}

const measure = (deployment: Tillwire.Deployment, keys: ReadonlyArray<string>, count: Count) =>
  Effect.scoped(Effect.gen(function*() {
    const http = { ...(deployment.config as { readonly http?: object }).http, processes: count }
    const { pid, ports } = yield* Tillwire.start({ ...deployment, config: { ...deployment.config, http } })
    const load = createLoad(ports.http, keys)
    yield* drive(pid, { ...load, seconds: warmUpSeconds, count: count * warmUpRequestsEach })
    const before = familyMicros(pid)
    const driven = yield* drive(pid, { ...load, seconds })
    return { ...driven, cpuEach: (familyMicros(pid) - before) / driven.count }
  }))

export const processes = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const node = yield* anvil("base")
    const options = { network: "base", environment: "devnet", rpc: [node.url], xpub: devnetXpub }
    // The simulated networks, which `deploy` configures otherwise, live in one process.
    const chains = [{ use: "evm", options }]
    const deployment = yield* Tillwire.deploy(server, "processes", { chains })
    const merchants = yield* Tillwire.prepare(deployment, (service) => makeMerchants(service, merchantCount))
    const keys = merchants.map(({ key }) => key)
    const seen: Array<Readonly<Record<Count, Driven>>> = []
    for (let round = 1; round <= rounds; round++) {
      const one = yield* measure(deployment, keys, 1)
      const two = yield* measure(deployment, keys, 2)
      seen.push({ 1: one, 2: two })
      progress(
        `processes ${round}/${rounds}: one ${one.cpuEach.toFixed(0)} us CPU and ${one.perSecond.toFixed(0)}/s, `
          + `two ${two.cpuEach.toFixed(0)} us and ${two.perSecond.toFixed(0)}/s`
      )
    }
    const of = (count: Count, figure: (driven: Driven) => number) => median(seen.map((each) => figure(each[count])))
    const ratio = (figure: (driven: Driven) => number) => median(seen.map((each) => figure(each[2]) / figure(each[1])))
    const rate = `rate of creates, two HTTP processes / one`
    return [
      ...counts.map((count): ReportLine => ({
        section,
        what: `creates, http.processes ${count}, ${callers} callers`,
        value: of(count, ({ perSecond }) => perSecond),
        unit: "/s",
        cpuEach: of(count, ({ cpuEach }) => cpuEach)
      })),
      {
        section,
        what: "service CPU for each create, two HTTP processes / one",
        value: ratio(({ cpuEach }) => cpuEach),
        unit: "x",
        goal: { atMost: 1.1 }
      },
      availableParallelism() < neededCores
        ? { section, skipped: `${rate}: needs ${neededCores} cores that nobody else uses` }
        : { section, what: rate, value: ratio(({ perSecond }) => perSecond), unit: "x", goal: { atLeast: 1.6 } }
    ]
  }))
