/**
 * Goal: an operator's alert fires when something that a merchant received is not explained, without anybody asking.
 * Method: real PostgreSQL with the wallets of three merchants; what their reports say is the test's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { migrations as invoiceMigrations } from "../../../modules/invoices/migrations.ts"
import { migrations as ledgerMigrations } from "../../../modules/ledger/migrations.ts"
import type { BookOwner } from "../../../modules/ledger/plugin.ts"
import { migrations } from "../../../modules/reconciliation/migrations.ts"
import { makeRepo } from "../../../modules/reconciliation/repo.ts"
import { monthOf, previousMonth, readMonth, type Report } from "../../../modules/reconciliation/rules.ts"
import { makeExplainedMonths, reportMonths } from "../../../modules/reconciliation/service/ExplainedMonths.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"

const gauges = Effect.map(
  Metric.snapshot,
  (series) =>
    ["reconciliation_explained_ppm", "reconciliation_months_unexplained"].map((name) => {
      const found = series.find(({ id }) => id === name)
      return found?.type === "Gauge" ? Number(found.state.value) : null
    })
)

const reportOf = (explained_ppm: number, has_more_differences = false) =>
  ({ explained_ppm, has_more_differences }) as Report

const owner = (merchantId: number, environment: BookOwner["environment"] = "devnet"): BookOwner => ({
  merchantId,
  environment
})

const [october, november] = [readMonth("2026-10")!, readMonth("2026-11")!]

describe("the explained part of what was received", () => {
  it.effect("is all before any report, and the least of all months' last reports then", () =>
    Effect.gen(function*() {
      const { record } = yield* makeExplainedMonths
      assert.deepStrictEqual(yield* gauges, [1_000_000, 0])
      yield* record(owner(1), october, reportOf(999_000))
      yield* record(owner(2), october, reportOf(750_000))
      yield* record(owner(2), november, reportOf(1_000_000))
      assert.deepStrictEqual(yield* gauges, [750_000, 2])
      yield* record(owner(2), october, reportOf(1_000_000))
      assert.deepStrictEqual(yield* gauges, [999_000, 1])
      yield* record(owner(1), october, reportOf(1_000_000, true))
      assert.deepStrictEqual(yield* gauges, [1_000_000, 1], "more differences than a report names")
      yield* record(owner(1), october, reportOf(1_000_000))
      yield* record(owner(1), { ...october, name: null }, reportOf(0))
      assert.deepStrictEqual(yield* gauges, [1_000_000, 0], "any other span is of no month")
    }))

  it.live("is looked for once a day in the last month of each merchant who has not closed it", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* migrate("invoices", invoiceMigrations)
        yield* migrate("ledger", ledgerMigrations)
        yield* migrate("reconciliation", migrations)
        yield* sql`INSERT INTO account_balances (merchant_id, environment, account, asset, units, usd_millis)
          SELECT m, e, a, 'base:native', 1, 1 FROM unnest('{0,1,2,3}'::integer[]) m, unnest('{devnet,mainnet}'::text[]) e,
            unnest('{chain:one,chain:two,suspense}'::text[]) a`
        yield* sql`DELETE FROM account_balances WHERE merchant_id = 3 AND (environment = 'mainnet' OR account <> 'suspense')`
        const start = yield* Clock.currentTimeMillis
        const due = start + 3_600_000
        const period = previousMonth(monthOf(Math.floor((due + 1_000) / 1_000)))
        yield* sql`INSERT INTO closed_periods (merchant_id, environment, period, version, report, previous_hash, hash,
            actor, closed_at)
          VALUES (1, 'mainnet', ${period.name}, 1, '{}', '', '', 'wallet_1', 1)`
        const reported: Array<unknown> = []
        const source = yield* reportMonths(
          yield* makeRepo,
          ({ environment, merchantId }, { name }) =>
            Effect.sync(() => void reported.push([merchantId, environment, name]))
        )
        assert.strictEqual(yield* source.run(start, 1), 0, "not while the service starts")
        const moment = due + 1_000
        for (let turn = 0; turn < 6; turn++) yield* source.run(moment, 1)
        const names = [[1, "devnet"], [2, "devnet"], [2, "mainnet"]].map((each) => [...each, period.name])
        assert.deepStrictEqual(reported, names)
        assert.isAtLeast((yield* source.nextDueMillis)!, moment + 86_400_000)
        for (let turn = 0; turn < 2; turn++) yield* source.run(moment + 86_400_000, 1)
        assert.strictEqual(reported.length, 4, "again the next day")
      }).pipe(Effect.provide(connect(database), { local: true }))
    }).pipe(Effect.scoped))
})
