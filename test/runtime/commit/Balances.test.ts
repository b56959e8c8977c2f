/**
 * Goal: balances that many commits move at once, from several instances, equal the sum of what the commits that were
 * stored moved; none conflicts with another, but those that take more than there is. Method: real PostgreSQL, two logs
 * with pools of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import { balanceRows } from "../../../runtime/commit/BalanceDeltas.ts"
import { commitDatabase, commitOf, eventDraft, instance, thing } from "./CommitFixture.ts"
import { waitForLocks } from "../../support/Together.ts"

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
      yield* waitForLocks(logs[0]!.sql)
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

describe("a balance that must hold what is taken", () => {
  const endings = (exits: ReadonlyArray<Exit.Exit<unknown, unknown>>) => ({
    stored: exits.filter(Exit.isSuccess).length,
    conflicts: exits.filter((exit) => String(exit).includes("Conflict")).length
  })

  it.effect("does not lose more than it holds, to two instances at once and in one flush", () =>
    Effect.gen(function*() {
      const database = yield* commitDatabase
      const logs = [yield* instance(database), yield* instance(database)]
      yield* waitForLocks(logs[0]!.sql)
      // Below zero is what is owed, above zero what a wallet has.
      yield* logs[0]!.append(commitOf(1, {
        balances: [delta("owed", -10n, { usdMillis: -6n }), delta("wallet", 5n), delta("free", 1n)]
      }))
      const take = (n: number, account: string, units: bigint, mustHold: NonNullable<BalanceDelta["mustHold"]>) =>
        logs[n % 2]!.append(commitOf(1, {
          writes: [thing(1, `${account} ${units} ${mustHold.units} ${n}`, 1)],
          balances: [delta(account, units, { mustHold }), delta("free", -units)]
        })).pipe(Effect.exit)
      const takeAll = (account: string, units: bigint, mustHold: NonNullable<BalanceDelta["mustHold"]>) =>
        Effect.map(Effect.all(range(30).map((n) => take(n, account, units, mustHold)), together), endings)
      const [dollars, units, both] = [
        { units: false, usdMillis: true },
        { units: true, usdMillis: false },
        { units: true, usdMillis: true }
      ]
      assert.deepStrictEqual(yield* takeAll("owed", 1n, dollars), { stored: 6, conflicts: 24 })
      assert.deepStrictEqual(yield* takeAll("owed", 1n, units), { stored: 4, conflicts: 26 })
      assert.deepStrictEqual(yield* takeAll("wallet", -1n, both), { stored: 5, conflicts: 25 })
      const { sql } = logs[0]!
      assert.deepStrictEqual(
        yield* sql`select account, units::text as units, usd_millis from account_balances order by account`,
        [
          { account: "free", units: "-4", usd_millis: -4n },
          { account: "owed", units: "0", usd_millis: 4n },
          { account: "wallet", units: "0", usd_millis: 0n }
        ]
      )
      // Whatever conflicted stored none of its rows.
      assert.deepStrictEqual(yield* sql`select count(*) as count from things`, [{ count: 15n }])
    }).pipe(Effect.scoped))

  it.effect("is moved by commits that take what they like, whatever the others do in the same flush", () =>
    Effect.gen(function*() {
      const { append, sql } = yield* instance(yield* commitDatabase)
      const move = (units: bigint, more: Partial<BalanceDelta> = {}) =>
        Effect.map(
          Effect.exit(append(commitOf(1, { balances: [delta("a", units, more)] }))),
          (exit) => ({ exit, units })
        )
      const mustHold = { units: true, usdMillis: true }
      // A balance that has no row yet holds nothing.
      assert.deepStrictEqual(endings([(yield* move(1n, { mustHold })).exit]), { stored: 0, conflicts: 1 })
      // The second fits alone, and not together with the third.
      yield* move(-3n)
      const moves = yield* Effect.all([move(-1n), move(3n, { mustHold }), move(2n), move(1n, { mustHold })], together)
      assert.deepStrictEqual(endings([moves[0]!.exit, moves[2]!.exit]), { stored: 2, conflicts: 0 })
      const sum = moves.filter(({ exit }) => Exit.isSuccess(exit)).reduce((total, { units }) => total + units, -3n)
      assert.deepStrictEqual(yield* sql`select units::text as units from account_balances`, [{ units: String(sum) }])
    }).pipe(Effect.scoped))

  it.effect("is named once by a commit that takes from it", () =>
    Effect.gen(function*() {
      const { append } = yield* instance(yield* commitDatabase)
      const exit = yield* Effect.exit(append(commitOf(1, {
        balances: [delta("a", 1n, { mustHold: { units: true, usdMillis: true } }), delta("a", 1n)]
      })))
      assert.match(String(exit), /takes twice from the balance of a/)
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
