/**
 * Goal: what a wallet held when a period began is the same by the last closed month as by the whole history.
 * Method: random histories, by the rule alone and by real PostgreSQL; the database forgets the closed months' entries.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { migrations as invoiceMigrations } from "../../../modules/invoices/migrations.ts"
import { migrations as ledgerMigrations } from "../../../modules/ledger/migrations.ts"
import { migrations } from "../../../modules/reconciliation/migrations.ts"
import { makeRepo } from "../../../modules/reconciliation/repo.ts"
import { closingsOf, movementsAfter, readMonth } from "../../../modules/reconciliation/rules.ts"
import { add, type Movement, walletFlows, zero } from "../../../modules/reconciliation/rules/Flows.ts"
import type { WalletHolding } from "../../../modules/reconciliation/rules/Openings.ts"
import { makeReport } from "../../../modules/reconciliation/service/PeriodReports.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import { makeRandom } from "../../fixtures/histories.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"

const histories = 200
const owner = { merchantId: 1, environment: "devnet" } as const
const [closed, period] = [readMonth("2026-10")!, readMonth("2026-11")!]

/** An entry between a wallet's account and another one; above zero: into the wallet. */
interface Entry extends WalletHolding {
  readonly counterAccount: string
  readonly at: number
}

/** Entries of the closed month, of the period and of the month after it. */
const randomEntries = (seed: number): ReadonlyArray<Entry> => {
  const next = makeRandom(seed)
  return Array.from({ length: next(40) }, () => ({
    asset: ["base:native", "base:0xa"][next(2)]!,
    account: ["chain:one", "chain:two", "chain:three"][next(3)]!,
    counterAccount: ["merchant_pending", "suspense", "refund_payable"][next(3)]!,
    units: BigInt(next(2_001) - 1_000),
    usdMillis: BigInt(next(2_001) - 1_000),
    at: closed.from + next(92 * 86_400)
  }))
}

const movementOf = ({ at, ...entry }: Entry): Movement => ({ ...entry, isBeforePeriod: at < period.from })

const balancesOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<WalletHolding> => {
  const sums = new Map<string, WalletHolding>()
  for (const { account, asset, units, usdMillis } of entries) {
    const key = `${account} ${asset}`
    sums.set(key, { account, asset, ...add(sums.get(key) ?? zero, { units, usdMillis }) })
  }
  return [...sums.values()]
}

const closingsBy = (entries: ReadonlyArray<Entry>): ReadonlyArray<WalletHolding> =>
  walletFlows(entries.filter(({ at }) => at < closed.to).map(movementOf))
    .map(({ account, asset, closing }) => ({ account, asset, ...closing }))

describe("what a wallet held when a period began", () => {
  it("is the same by the last closed month and by all movements, for any history", () => {
    for (let seed = 1; seed <= histories; seed++) {
      const entries = randomEntries(seed)
      const whole = entries.filter(({ at }) => at < period.to).map(movementOf)
      const since = entries.filter(({ at }) => at >= closed.to)
      const found = movementsAfter(closingsBy(entries), {
        movements: since.filter(({ at }) => at < period.to).map(movementOf),
        later: since.filter(({ at }) => at >= period.to),
        balances: balancesOf(entries)
      })
      assert.deepStrictEqual(walletFlows(found!), walletFlows(whole), `seed ${seed}`)
    }
  })

  it("is not taken from a closed month that something was dated into afterwards", () => {
    const [first, late] = [...randomEntries(7), ...randomEntries(8)].filter(({ at, units }) =>
      at < closed.to && units !== 0n
    )
    const since = { movements: [], later: [] }
    const closings = closingsBy([first!])
    assert.isNotNull(movementsAfter(closings, { ...since, balances: balancesOf([first!]) }))
    assert.isNull(movementsAfter(closings, { ...since, balances: balancesOf([first!, late!]) }))
  })

  const inDatabase = <A, E>(work: Effect.Effect<A, E, Scope.Scope | SqlClient.SqlClient>) =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      return yield* Effect.gen(function*() {
        yield* migrate("invoices", invoiceMigrations)
        yield* migrate("ledger", ledgerMigrations)
        yield* migrate("reconciliation", migrations)
        return yield* work
      }).pipe(Effect.provide(connect(database), { local: true }))
    }).pipe(Effect.scoped)

  const book = Effect.fnUntraced(
    function*({ account, asset, at, counterAccount, units, usdMillis }: Entry, id: string) {
      const sql = yield* SqlClient.SqlClient
      const [debit, credit] = units < 0n ? [counterAccount, account] : [account, counterAccount]
      const [amount, value] = units < 0n ? [-units, -usdMillis] : [units, usdMillis]
      yield* sql`INSERT INTO balance_transactions (merchant_id, id, version, environment, type, is_pending, amount, net,
        asset, units, source_object, source_id, booked_micros)
      VALUES (1, ${id}, 1, 'devnet', 'adjustment', false, 0, 0, ${asset}, 0, 'adjustment', ${id}, 0)`
      yield* sql`INSERT INTO ledger_entries (merchant_id, transaction_id, step, line, version, environment, kind, debit,
        credit, asset, units, usd_millis, created_at)
      VALUES (1, ${id}, 1, 1, 1, 'devnet', 'booked', ${debit}, ${credit}, ${asset}, ${amount}, ${value}, ${at})`
      yield* sql`INSERT INTO account_balances (merchant_id, environment, account, asset, units, usd_millis)
      VALUES (1, 'devnet', ${account}, ${asset}, ${units}, ${usdMillis})
      ON CONFLICT (merchant_id, environment, account, asset) DO UPDATE SET
        units = account_balances.units + excluded.units, usd_millis = account_balances.usd_millis + excluded.usd_millis`
    }
  )

  it.live("is read without the entries of the months that are closed, and with those dated into them afterwards", () =>
    inDatabase(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* makeRepo
      const read = makeReport({
        clock: { nowSeconds: () => Effect.succeed(period.to + 100) },
        ledger: { tokenOf: () => ({ id: 1, symbol: "USDC", decimals: 6 }) },
        repo
      })
      // Debit and credit hold no signs: units and value of one entry go the same way.
      const entries = randomEntries(11).map((entry) => ({ ...entry, usdMillis: entry.units * 3n }))
      yield* Effect.forEach(entries, (entry, place) => book(entry, `bt_${place}`))
      const whole = yield* read(owner, period)
      const report = JSON.stringify(yield* read(owner, closed))
      assert.deepStrictEqual(closingsOf({ report }), closingsBy(entries))
      yield* sql`INSERT INTO closed_periods (merchant_id, environment, period, version, report, previous_hash, hash,
          actor, closed_at)
        VALUES (1, 'devnet', ${closed.name}, 1, ${report}, '', '', 'wallet_1', 1)`
      assert.deepStrictEqual(yield* read(owner, period), whole)
      yield* sql`CREATE TABLE forgotten AS SELECT * FROM ledger_entries WHERE created_at < ${closed.to}`
      yield* sql`DELETE FROM ledger_entries WHERE created_at < ${closed.to}`
      assert.deepStrictEqual(yield* read(owner, period), whole)
      yield* sql`INSERT INTO ledger_entries SELECT * FROM forgotten`
      yield* book({ ...entries[0]!, at: closed.to - 1, units: 5n, usdMillis: 15n }, "bt_late")
      const late = yield* read(owner, period)
      yield* sql`DELETE FROM closed_periods`
      assert.deepStrictEqual(yield* read(owner, period), late)
      assert.notDeepEqual(late.wallets, whole.wallets)
    })))
})
