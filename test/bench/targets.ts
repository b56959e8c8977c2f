/**
 * Receive targets of ONE wallet, given out by 1, 2 and 3 instances over one PostgreSQL: how many a second, and what
 * each costs the instances and PostgreSQL. An instance here is the chains alone, without HTTP, so that nothing else is
 * the limit.
 */
import { Effect } from "effect"
import { migrate } from "../../runtime/Migrate.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import type {
  AllocationAnswer,
  AllocationProcessSpecification,
  AllocationQuestion,
  AllocationWallet
} from "../support/allocationProcess.ts"
import { connect } from "../support/Database.ts"
import { cpuMicros, type Role, serveRole } from "../support/Process.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, type DatabaseServer, spentBetween, urlOf, usageOf } from "./Database.ts"
import { median, type ReportLine } from "./Report.ts"

const section = "targets"
const instanceCounts = [1, 2, 3] as const
type Count = typeof instanceCounts[number]
const wallets: ReadonlyArray<AllocationWallet> = ["xpub", "forwarder"]

/** Callers of all instances together, each with one allocation under way. */
const callers = 240
const warmUpSeconds = 2
const seconds = 4

/** Numbers of invoices that one instance may use up in a window. */
const windowNumbers = 1_000_000

/** What was seen of so many instances in one round. */
interface Seen {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Microseconds of CPU of each target. */
  readonly cpuEach: number
  readonly postgresCpuEach: number
}

const measure = (server: DatabaseServer, database: string, wallet: AllocationWallet, count: Count) =>
  Effect.scoped(Effect.gen(function*() {
    yield* createDatabase(server, database)
    const address = { host: server.host, port: 5432, username: "postgres", database, url: urlOf(server, database) }
    yield* Effect.orDie(Effect.provide(migrate("runtime", runtimeMigrations), connect(address)))
    const spec: AllocationProcessSpecification = { database: address, wallet }
    const roles: Array<Role<object>> = []
    const program = new URL("../support/allocationProcess.ts", import.meta.url)
    for (let started = 0; started < count; started++) roles.push(yield* serveRole<object>(program, spec))
    let first = 0
    const load = (seconds: number) =>
      Effect.forEach(roles, (role) => {
        const question: AllocationQuestion = { first, callers: callers / count, seconds }
        first += windowNumbers
        return role.ask<AllocationAnswer>(question)
      }, { concurrency: "unbounded" })
    yield* load(warmUpSeconds)
    const spent = () => roles.reduce((sum, { pid }) => sum + cpuMicros(pid), 0)
    const from = yield* usageOf(server, database)
    const cpuBefore = spent()
    const answers = yield* load(seconds)
    const cpu = spent() - cpuBefore
    const { cpuMicros: postgresCpu } = spentBetween(from, yield* usageOf(server, database))
    const waits = answers.flatMap((answer) => answer.waits).sort((a, b) => a - b)
    const seen: Seen = {
      perSecond: waits.length / seconds,
      p50: waits[Math.floor(waits.length / 2)]!,
      p99: waits[Math.floor(waits.length * 0.99)]!,
      cpuEach: cpu / waits.length,
      postgresCpuEach: postgresCpu / waits.length
    }
    return seen
  }))

type Round = Readonly<Record<Count, Seen>>

const linesOf = (wallet: AllocationWallet, rounds: ReadonlyArray<Round>): ReadonlyArray<ReportLine> => {
  const of = (count: Count, figure: (seen: Seen) => number) => median(rounds.map((round) => figure(round[count])))
  const ratio = (count: Count, figure: (seen: Seen) => number) =>
    median(rounds.map((round) => figure(round[count]) / figure(round[1])))
  return [
    ...instanceCounts.map((count): ReportLine => ({
      section,
      what: `${wallet} wallet, ${count} ${count === 1 ? "instance" : "instances"}, ${callers} callers`,
      value: of(count, ({ perSecond }) => perSecond),
      unit: "/s",
      cpuEach: of(count, ({ cpuEach }) => cpuEach),
      note: `p50 ${of(count, ({ p50 }) => p50).toFixed(0)} ms, p99 ${of(count, ({ p99 }) => p99).toFixed(0)} ms; ${
        of(count, ({ postgresCpuEach }) => postgresCpuEach).toFixed(0)
      } us CPU of PostgreSQL each`
    })),
    ...([2, 3] as const).flatMap((count): ReadonlyArray<ReportLine> => [
      {
        section,
        what: `${wallet} wallet: rate of ${count} instances / one`,
        value: ratio(count, ({ perSecond }) => perSecond),
        unit: "x",
        goal: { atLeast: 0.9 }
      },
      {
        section,
        what: `${wallet} wallet: CPU of each of ${count} instances / one`,
        value: ratio(count, ({ cpuEach }) => cpuEach),
        unit: "x",
        // A forwarder's addresses cost little, so what smaller batches cost is a large part of its figure.
        ...(wallet === "xpub" ? { goal: { atMost: 1.25 } } : {})
      }
    ])
  ]
}

export const targets = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const lines: Array<ReportLine> = []
    for (const wallet of wallets) {
      const seen: Array<Round> = []
      for (let round = 1; round <= rounds; round++) {
        const take = (count: Count) =>
          Effect.tap(
            measure(server, `targets_${wallet}_${count}_${round}`, wallet, count),
            ({ cpuEach, p99, perSecond, postgresCpuEach }) =>
              Effect.sync(() =>
                progress(
                  `targets ${round}/${rounds}: ${wallet}, ${count} instances: ${perSecond.toFixed(0)}/s, ${
                    cpuEach.toFixed(0)
                  } us CPU, PostgreSQL ${postgresCpuEach.toFixed(0)}, p99 ${p99.toFixed(0)} ms`
                )
              )
          )
        seen.push({ 1: yield* take(1), 2: yield* take(2), 3: yield* take(3) })
      }
      lines.push(...linesOf(wallet, seen))
    }
    return lines
  })
