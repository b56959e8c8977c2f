/**
 * Goal: balances that many commits move at once, from several instances, equal the sum of what the commits that were
 * stored moved, and no such commit conflicts with another. Method: real PostgreSQL, two logs with pools of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import { balanceRows } from "../../../runtime/commit/BalanceDeltas.ts"
import { commitDatabase, commitOf, eventDraft, instance, thing } from "./CommitFixture.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const together = { concurrency: "unbounded" } as const

const delta = (account: string, units: bigint, more: Partial<BalanceDelta> = {}): BalanceDelta => ({
  merchantId: 1,
  environment: "devnet",
  account,
  asset: "base:native",
  units,
  usdMillis: units,
  ...more
})

describe("balances", () => {
  it.effect("equal the sums of what was committed, with two instances and rows named in any order", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      const accounts = range(8).map((n) => `account ${n}`)
      const exits = yield* Effect.all(
        range(400).map((n) => {
          const merchant = 1 + (n % 3)
          const order = n % 2 === 0 ? accounts : accounts.toReversed()
          return logs[n % 2]!.append(commitOf(merchant, {
            // Every seventh wants a row of its merchant that one of them gets.
            writes: n % 7 === 0 ? [thing(merchant, "contested", 1)] : [thing(merchant, `t${n}`, 1)],
            events: n % 5 === 0 ? [] : [eventDraft(`i${n}`)],
            balances: order.map((account, place) => delta(account, BigInt(n + place), { merchantId: merchant }))
          })).pipe(Effect.exit, Effect.map((exit) => ({ n, exit })))
        }),
        together
      )
      const stored = exits.filter(({ exit }) => Exit.isSuccess(exit))
      const conflicts = exits.filter(({ exit }) => Exit.isFailure(exit))
      assert.isTrue(conflicts.every(({ n }) => n % 7 === 0), "only the contested row is worth a conflict")
      const expected = range(3).flatMap((m) =>
        accounts.map((account, first) => {
          const place = (n: number) => (n % 2 === 0 ? first : accounts.length - 1 - first)
          const sum = stored.filter(({ n }) => n % 3 === m).reduce((total, { n }) => total + n + place(n), 0)
          return { merchant_id: m + 1, account, units: String(sum), usd_millis: BigInt(sum) }
        })
      )
      const rows = yield* logs[0]!.sql`select merchant_id, account, units::text as units, usd_millis
        from account_balances order by merchant_id, account`
      assert.deepStrictEqual(rows, expected)
    }).pipe(Effect.scoped))

  it.effect("hold 78 digits, go below zero and back, and need no event and no merchant", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* instance(yield* commitDatabase)
      const huge = 10n ** 77n
      yield* append(commitOf(0, { balances: [delta("a", huge, { merchantId: 0, usdMillis: 1n })] }))
      yield* append(commitOf(0, { balances: [delta("a", -huge - 5n, { merchantId: 0, usdMillis: -3n })] }))
      assert.deepStrictEqual(yield* sql`select units::text as units, usd_millis from account_balances`, [
        { units: "-5", usd_millis: -2n }
      ])
    }).pipe(Effect.scoped))
})

describe("a balance with a maximum", () => {
  const endings = (exits: ReadonlyArray<Exit.Exit<unknown, unknown>>) => ({
    stored: exits.filter(Exit.isSuccess).length,
    conflicts: exits.filter((exit) => String(exit).includes("Conflict")).length
  })

  it.effect("is not taken more of than it has, by two instances at once and in one flush", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      yield* logs[0]!.append(commitOf(1, { balances: [delta("a", -10n)] }))
      const take = (n: number, maximum: NonNullable<BalanceDelta["maximum"]>) =>
        logs[n % 2]!.append(commitOf(1, {
          writes: [thing(1, `t${n}`, 1)],
          balances: [delta("a", 1n, { maximum }), delta("b", -1n)]
        })).pipe(Effect.exit)
      const byUnits = yield* Effect.all(range(30).map((n) => take(n, { units: -4n, usdMillis: null })), together)
      assert.deepStrictEqual(endings(byUnits), { stored: 6, conflicts: 24 })
      const byDollars = yield* Effect.all(range(30).map((n) => take(30 + n, { units: null, usdMillis: 0n })), together)
      assert.deepStrictEqual(endings(byDollars), { stored: 4, conflicts: 26 })
      const { sql } = logs[0]!
      assert.deepStrictEqual(
        yield* sql`select account, units::text as units, usd_millis from account_balances order by account`,
        [{ account: "a", units: "0", usd_millis: 0n }, { account: "b", units: "-10", usd_millis: -10n }]
      )
      // Whatever conflicted stored none of its rows.
      assert.deepStrictEqual(yield* sql`select count(*) as count from things`, [{ count: 10n }])
    }).pipe(Effect.scoped))

  it.effect("is moved by commits without a maximum, whatever those with one do in the same flush", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* instance(yield* commitDatabase)
      const move = (units: bigint, more: Partial<BalanceDelta> = {}) =>
        Effect.map(
          Effect.exit(append(commitOf(1, { balances: [delta("a", units, more)] }))),
          (exit) => ({ exit, units })
        )
      const maximum = { units: 0n, usdMillis: 0n }
      // A balance that has no row yet has nothing.
      assert.deepStrictEqual(endings([(yield* move(1n, { maximum })).exit]), { stored: 0, conflicts: 1 })
      const moves = yield* Effect.all([move(-3n), move(3n, { maximum }), move(2n), move(1n, { maximum })], together)
      assert.deepStrictEqual(endings([moves[0]!.exit, moves[2]!.exit]), { stored: 2, conflicts: 0 })
      const sum = moves.filter(({ exit }) => Exit.isSuccess(exit)).reduce((total, { units }) => total + units, 0n)
      assert.deepStrictEqual(yield* sql`select units::text as units from account_balances`, [{ units: String(sum) }])
    }).pipe(Effect.scoped))
})

describe("what a flush writes of balances", () => {
  it("is one row for each that moves, and none for what cancels out", () => {
    assert.deepStrictEqual(
      balanceRows([[delta("a", 2n), delta("b", 1n)], undefined, [delta("a", 3n), delta("b", -1n)]]),
      [["1", "devnet", "a", "base:native", "5", "5"]]
    )
  })
})
