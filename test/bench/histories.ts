/**
 * Random histories of a chain, its nodes and the processes that follow it, against a model, for each family: how many
 * left a journal that is not as the chain is. The run says the seed of each that did, and why.
 */
import { Cause, Effect, References, type Scope } from "effect"
import { migrate } from "../../runtime/Migrate.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { runHistory } from "../conformance/histories.ts"
import { connect, type TestDatabase } from "../support/Database.ts"
import { testedChains } from "../support/TestedChains.ts"
import { batchFamilies, batchHistories } from "./batches.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, urlOf } from "./Database.ts"
import { moneyHistories } from "./money.ts"
import type { ReportLine } from "./Report.ts"

/** Histories that run side by side, each on a database of its own: they wait most of the time. */
const parallelCount = 4

const databaseFor = Effect.fnUntraced(function*({ server }: Bench, name: string) {
  const database = `histories_${name}`
  yield* createDatabase(server, database)
  const made: TestDatabase = {
    host: server.host,
    port: 5432,
    username: "postgres",
    database,
    url: urlOf(server, database)
  }
  yield* Effect.provide(migrate("runtime", runtimeMigrations), connect(made))
  return made
})

/** Every `parallelCount`-th history, beginning with the one at `first`: the places of those that went wrong. */
const runShare = Effect.fnUntraced(function*(
  bench: Bench,
  name: string,
  chain: Effect.Effect<TestedChain, never, Scope.Scope>,
  first: number
) {
  const database = yield* databaseFor(bench, `${name}_${first}`)
  let wrong = 0
  for (let place = first; place < bench.histories; place += parallelCount) {
    const seed = (bench.seed + place) % 2 ** 31
    const history = Effect.scoped(Effect.flatMap(chain, (rig) => runHistory(rig, database, seed)))
    const outcome = yield* Effect.exit(Effect.provideService(history, References.MinimumLogLevel, "None"))
    if (outcome._tag === "Success") continue
    wrong++
    bench.progress(`${name}: the history of seed ${seed} went wrong: ${Cause.pretty(outcome.cause)}`)
  }
  return wrong
})

/** The first seed is that of the bench; the others follow it. */
const runFamily = Effect.fnUntraced(function*(
  bench: Bench,
  name: string,
  chain: Effect.Effect<TestedChain, never, Scope.Scope>
) {
  const started = performance.now()
  const shares = Array.from({ length: parallelCount }, (_, first) => runShare(bench, name, chain, first))
  const wrong = (yield* Effect.all(shares, { concurrency: "unbounded" })).reduce((sum, each) => sum + each, 0)
  const seconds = (performance.now() - started) / 1000
  const line: ReportLine = {
    section: "histories",
    what: name,
    value: wrong,
    unit: `wrong of ${bench.histories}`,
    goal: { atMost: 0 },
    note: `${seconds.toFixed(0)} s, first seed ${bench.seed}`
  }
  bench.progress(`${name}: ${line.value} ${line.unit}, ${line.note}`)
  return line
})

/** The family that is no chain: what a merchant's money does. */
const money = "money"

/** What `--family` may name. */
export const historyFamilies: ReadonlyArray<string> = [
  ...Object.keys(testedChains),
  money,
  "batches",
  ...batchFamilies
]

const isAsked = ({ family }: Bench, name: string): boolean => family === undefined || name === family

export const histories = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const chains = yield* Effect.forEach(
      Object.entries(testedChains).filter(([name]) => isAsked(bench, name)),
      ([name, chain]) => runFamily(bench, name, chain)
    )
    const ofMoney = isAsked(bench, money) ? yield* moneyHistories(bench) : []
    const isOfBatches = ["batches", ...batchFamilies].some((name) => isAsked(bench, name))
    return [...chains, ...ofMoney, ...isOfBatches ? yield* batchHistories(bench) : []]
  }).pipe(Effect.orDie)
