/**
 * What telemetry costs a create: the lines of the log, and traces of one call in a hundred and of all. Each contestant
 * is under load at the same time as a process without a collector, in many short turns, so that other work on the
 * machine meets both alike. One of them is the same as that process: how far these two are apart is what the measurement
 * cannot see.
 */
import { Effect, Exit, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeMerchants } from "../support/Merchants.ts"
import type { Bench } from "./Bench.ts"
import { createLoad, merchantCount } from "./create.ts"
import { drive, type Driven, warmUp } from "./load.ts"
import { type Goal, median, quantile, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "traces"
const warmSeconds = 2

/** Turns of each contestant in a round, which starts all processes anew: how a process is compiled varies as well. */
const turnsOfRound = 12

const turnSeconds = 2

/** Callers of each of the two: fewer than where one is alone, as a commit takes longer. */
const turnCallers = 64

/** Turns of a round that may be without result: where others use the machine, a commit may take too long for a call. */
const maximumLostTurns = 4

type TelemetryOf = (collector: string) => object

/** What `telemetry` of the config is, beside the log's form and level. */
const contestants = {
  off: () => ({}),
  again: () => ({}),
  one: (url) => ({ otlp: { url, traces: 0.01 } }),
  all: (url) => ({ otlp: { url, traces: 1 } }),
  silent: () => ({ requests: "none", payments: false })
} as const satisfies Readonly<Record<string, TelemetryOf>>
type Contestant = keyof typeof contestants
const everyone = Object.keys(contestants) as ReadonlyArray<Contestant>

/** Those that are compared with `off`. */
type Rival = Exclude<Contestant, "off">
const rivals = everyone.filter((name): name is Rival => name !== "off")

const names: Readonly<Record<Contestant, string>> = {
  off: "no collector",
  again: "no collector, second process",
  one: "1 % traced",
  all: "100 % traced",
  silent: "no collector, no lines of requests and payments"
}

/** Reads everything and keeps nothing. */
const collector: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        request.resume()
        request.once("end", () => response.writeHead(200).end())
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  ),
  (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
)

/** What the rival and `off` did at the same time. */
interface Pair {
  readonly own: Driven
  readonly off: Driven
}

/** CPU of a create, of that of `off`. */
const costOf = ({ off, own }: Pair): number => own.cpuEach / off.cpuEach

type Turn = Readonly<Record<Rival, Pair>>

/** All turns of fresh processes. */
const measureRound = (
  deployments: Readonly<Record<Contestant, Tillwire.Deployment>>,
  keys: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Turn>> =>
  Effect.scoped(Effect.gen(function*() {
    const processes = new Map<Contestant, { readonly pid: number; readonly port: number }>()
    for (const name of everyone) {
      const { pid, ports } = yield* Tillwire.start(deployments[name])
      yield* warmUp(pid, { ...createLoad(ports.http, keys), seconds: warmSeconds })
      processes.set(name, { pid, port: ports.http })
    }
    const driveOne = (name: Contestant) => {
      const { pid, port } = processes.get(name)!
      return drive(pid, { ...createLoad(port, keys), callers: turnCallers, seconds: turnSeconds })
    }
    const turns: Array<Turn> = []
    for (let lost = 0; turns.length < turnsOfRound;) {
      const turn = yield* Effect.exit(Effect.forEach(rivals, (name) =>
        Effect.map(
          Effect.all({ own: driveOne(name), off: driveOne("off") }, { concurrency: 2 }),
          (pair) => [name, pair] as const
        )))
      if (Exit.isSuccess(turn)) turns.push(Object.fromEntries(turn.value) as Turn)
      else if (++lost > maximumLostTurns) yield* Effect.failCause(turn.cause)
    }
    return turns
  }))

/** The section. */
export const traces = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const url = yield* collector
    const original = yield* Tillwire.deploy(server, "traces")
    const merchants = yield* Tillwire.prepare(original, (service) => makeMerchants(service, merchantCount))
    const keys = merchants.map(({ key }) => key)
    const deployed = yield* Effect.forEach(everyone, (name) =>
      Effect.map(
        Tillwire.deploy(server, `traces_${name}`, { template: original.database }),
        ({ config, ...deployment }) => {
          const telemetry = { logs: "json", level: "info", ...contestants[name](url) }
          return [name, { ...deployment, config: { ...config, telemetry } }] as const
        }
      ))
    const deployments = Object.fromEntries(deployed) as Record<Contestant, Tillwire.Deployment>
    const seen: Array<Turn> = []
    for (let round = 1; round <= rounds; round++) {
      const turns = yield* measureRound(deployments, keys)
      seen.push(...turns)
      const each = rivals.map((name) => `${name} ${median(turns.map((turn) => costOf(turn[name]))).toFixed(3)}`)
      progress(`traces ${round}/${rounds}: CPU of a create / without a collector: ${each.join(", ")}`)
    }
    const shown = (name: Rival): ReportLine => ({
      section,
      what: `create, ${names[name]}`,
      value: median(seen.map((turn) => turn[name].own.perSecond)),
      unit: "/s",
      cpuEach: median(seen.map((turn) => turn[name].own.cpuEach))
    })
    const ratio = (what: string, of: (turn: Turn) => number, goal?: Goal): ReportLine => {
      const ratios = seen.map(of)
      const [low, high] = [quantile(ratios, 0.25), quantile(ratios, 0.75)]
      return {
        section,
        what: `CPU of a create, ${what}`,
        value: median(ratios),
        unit: "x",
        note: `half of ${ratios.length} turns ${low.toFixed(3)} to ${high.toFixed(3)}`,
        ...(goal === undefined ? {} : { goal })
      }
    }
    const against = (name: Rival, goal?: Goal) =>
      ratio(`${names[name]} / ${names.off}`, (turn) => costOf(turn[name]), goal)
    return [
      ...rivals.map(shown),
      against("again"),
      against("one", { atMost: 1.05 }),
      against("all"),
      ratio("lines of requests and payments / none", (turn) => 1 / costOf(turn.silent), { atMost: 1.03 })
    ]
  }))
