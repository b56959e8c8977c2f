/**
 * Goal: no node, no restart and no backup costs money: what stands in the service is what stands on the chain.
 * Method: the short form of `npm run bench -- chaos`: the real process on mainnet rules between two endpoints that
 * fail, real nodes behind them, and a judge who reads the chain itself; then the recorded history is spoiled in every
 * way, and the judge has to notice. `test/journeys/chaosJudge.test.ts` does the same with a history written by hand.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { checkHistory } from "../support/chaos/Checker.ts"
import { chaos, chaosDeployment, everyHabit } from "../support/chaos/Run.ts"
import { findPlainPayment, spoilers } from "../support/chaos/Spoilers.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { testSeed } from "../support/Seed.ts"
import { startService, temporaryDirectory } from "../support/Service.ts"

/** Four starts of the service and two nodes beside it, on a machine that may be busy with something else. */
const limitMillis = 300_000

const run = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const directory = yield* temporaryDirectory
  const ports = { http: yield* freePort, rpc: yield* freePort }
  return yield* chaos({
    start: (endpoints) =>
      // As it is started outside of tests, at its own pace.
      startService({ directory, ports, ownProcess: true, ...chaosDeployment(database.url, endpoints) }),
    database: database.database,
    query: (name, text) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
        Effect.provide(connect({ ...database, database: name }), { local: true }),
        Effect.orDie
      ),
    seed: testSeed,
    progress: (line) => console.log(line),
    acts: ["forkedWithBlip", "hiddenLogs", "doubledLogs", "lagging", "reorg", "restore", "falseReport", "flood"],
    // A difference of balances is looked at every 30 s only: what a contract passes on is for the long form.
    habits: everyHabit.filter((habit) => habit !== "internal"),
    chaosMillis: 0,
    pace: 0.12,
    blockMillis: 300,
    calmBlockMillis: 150,
    customerMillis: 600,
    lifeSeconds: 5,
    floodLogs: 200,
    patienceMillis: 60_000
  })
})

describe("a service between two nodes that fail", () => {
  it.live(
    "stands as the chain stands, whatever its nodes, its process and its backup do, and the judge can fail",
    () =>
      Effect.gen(function*() {
        const { history, ...report } = yield* run
        const plain = findPlainPayment(history)
        for (const [what, [promise, spoil]] of Object.entries(spoilers)) {
          const { faults } = checkHistory(spoil(history, plain))
          const before = new Set(report.faults)
          assert.isTrue(
            faults.some((fault) => fault.startsWith(promise) && !before.has(fault)),
            `${what} was not noticed`
          )
        }
        const byPromise = Map.groupBy(report.faults, (fault) => fault.split(":")[0])
        const some = [...byPromise.values()].flatMap((all) => all.slice(0, 4))
        assert.deepStrictEqual(some, [], `${report.faults.length} broken promises, seed ${report.seed}`)
        assert.deepStrictEqual([...report.refused], [])
        assert.isAbove(report.payments, 10)
        assert.isAbove(report.reorganisations, 0)
      }).pipe(Effect.scoped),
    limitMillis
  )
})
