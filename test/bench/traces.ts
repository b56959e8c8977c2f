/**
 * What telemetry costs a create: the lines of the log, and traces of one call in a hundred and of all. All contestants
 * run side by side and take short turns, because other work on the machine lasts longer than a turn and so meets a turn
 * of each alike. Two of them are the same: how far these are apart is what the measurement cannot see.
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

/** Creates of a turn: about a second. Longer than {@link turnSeconds} they take nowhere. */
const turnCount = 3_000
const turnSeconds = 120

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

type Turn = Readonly<Record<Contestant, Driven>>

/** Everyone's turns of fresh processes; each turn begins with another one, so that nobody always follows the same. */
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
    const turns: Array<Turn> = []
    for (let turn = 0, lost = 0; turns.length < turnsOfRound; turn++) {
      const first = turn % everyone.length
      const order = [...everyone.slice(first), ...everyone.slice(0, first)]
      const driven = yield* Effect.exit(Effect.forEach(turn % 2 === 0 ? order : order.toReversed(), (name) => {
        const { pid, port } = processes.get(name)!
        const load = { ...createLoad(port, keys), count: turnCount, seconds: turnSeconds }
        return Effect.map(drive(pid, load), (result) => [name, result] as const)
      }))
      if (Exit.isSuccess(driven)) turns.push(Object.fromEntries(driven.value) as Turn)
      else if (++lost > maximumLostTurns) return yield* Effect.failCause(driven.cause)
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
      const each = everyone.map((name) => `${name} ${median(turns.map((turn) => turn[name].cpuEach)).toFixed(0)}`)
      progress(`traces ${round}/${rounds}: us of CPU each: ${each.join(", ")}`)
    }
    const shown = (name: Contestant): ReportLine => ({
      section,
      what: `create, ${names[name]}`,
      value: median(seen.map((turn) => turn[name].perSecond)),
      unit: "/s",
      cpuEach: median(seen.map((turn) => turn[name].cpuEach))
    })
    const ratio = (name: Contestant, base: Contestant, goal?: Goal): ReportLine => {
      const ratios = seen.map((turn) => turn[name].cpuEach / turn[base].cpuEach)
      const spread = `half of ${ratios.length} turns ${quantile(ratios, 0.25).toFixed(3)} to ${
        quantile(ratios, 0.75).toFixed(3)
      }`
      return {
        section,
        what: `CPU of a create, ${names[name]} / ${names[base]}`,
        value: median(ratios),
        unit: "x",
        note: spread,
        ...(goal === undefined ? {} : { goal })
      }
    }
    return [
      ...everyone.map(shown),
      ratio("again", "off"),
      ratio("one", "off", { atMost: 1.05 }),
      ratio("all", "off"),
      ratio("off", "silent", { atMost: 1.03 })
    ]
  }))
