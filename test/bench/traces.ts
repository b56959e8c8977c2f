/**
 * What tracing costs a create: without a collector, with one call in a hundred traced, and with all of them. The
 * collector reads everything and keeps nothing.
 */
import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeMerchants } from "../support/Merchants.ts"
import type { Bench } from "./Bench.ts"
import { createLoad, merchantCount } from "./create.ts"
import { drive, type Driven, warmUp } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "traces"
const warmSeconds = 2

/** The share of calls that is traced; null: no collector. */
const shares = { off: null, one: 0.01, all: 1 } as const
type Share = keyof typeof shares

const names: Readonly<Record<Share, string>> = { off: "off", one: "1 % traced", all: "100 % traced" }

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

const measure = (
  deployment: Tillwire.Deployment,
  keys: ReadonlyArray<string>,
  otlp: object | null
): Effect.Effect<Driven> =>
  Effect.scoped(Effect.gen(function*() {
    const telemetry = { logs: "json", level: "info", ...(otlp === null ? {} : { otlp }) }
    const { pid, ports } = yield* Tillwire.start({ ...deployment, config: { ...deployment.config, telemetry } })
    const load = createLoad(ports.http, keys)
    yield* warmUp(pid, { ...load, seconds: warmSeconds })
    return yield* drive(pid, load)
  }))

/** The section. Of each round the three in turn, so that a slow minute of the machine meets all. */
export const traces = ({ rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const url = yield* collector
    const deployment = yield* Tillwire.deploy(server, "traces")
    const merchants = yield* Tillwire.prepare(deployment, (service) => makeMerchants(service, merchantCount))
    const keys = merchants.map(({ key }) => key)
    const seen: Array<Readonly<Record<Share, Driven>>> = []
    for (let round = 0; round < rounds; round++) {
      const of = (share: number | null) => measure(deployment, keys, share === null ? null : { url, traces: share })
      seen.push({ off: yield* of(shares.off), one: yield* of(shares.one), all: yield* of(shares.all) })
    }
    const shown = (share: Share): ReportLine => ({
      section,
      what: `create, ${names[share]}`,
      value: median(seen.map((round) => round[share].perSecond)),
      unit: "/s",
      cpuEach: median(seen.map((round) => round[share].cpuEach))
    })
    const ratio = (share: Share) => median(seen.map((round) => round[share].cpuEach / round.off.cpuEach))
    return [
      shown("off"),
      shown("one"),
      shown("all"),
      { section, what: "CPU of a create, 1 % traced / off", value: ratio("one"), unit: "x", goal: { atMost: 1.05 } },
      { section, what: "CPU of a create, 100 % traced / off", value: ratio("all"), unit: "x" }
    ]
  }))
