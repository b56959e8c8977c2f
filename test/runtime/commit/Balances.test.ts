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

describe("what a flush writes of balances", () => {
  it("is one row for each that moves, and none for what cancels out", () => {
    assert.deepStrictEqual(
      balanceRows([[delta("a", 2n), delta("b", 1n)], undefined, [delta("a", 3n), delta("b", -1n)]]),
      [["1", "devnet", "a", "base:native", "5", "5"]]
    )
  })
})
