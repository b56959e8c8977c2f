/**
 * Goal: a merchant's devnet clock moves its own time and due rows, and nobody else's, on every instance.
 * Method: two instances' clocks over one database; due rows against a plain filter in memory; plans on many rows.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layer as rowsLayer, maximumAheadSeconds, MerchantClock, pollMillis } from "../../runtime/MerchantClock.ts"
import { makeMerchantDue } from "../../runtime/timers/MerchantDue.ts"
import { makeRandom } from "../fixtures/histories.ts"
import { kernel, settingsLayer } from "../support/Api.ts"
import { until } from "../support/Service.ts"

const day = 86_400

const served = kernel([], settingsLayer({ environments: ["devnet", "mainnet"] })) as Layer.Layer<
  MerchantClock | SqlClient.SqlClient
>

/** Another instance's clocks on the same database. */
const another = Effect.map(
  Layer.build(Layer.fresh(rowsLayer as unknown as Layer.Layer<MerchantClock>)),
  (context) => Context.get(context, MerchantClock)
)

describe("merchants' clocks", () => {
  it.live("one merchant's steps add up, on devnet only, for this merchant only, and never back", () =>
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      const heard: Array<number> = []
      yield* clock.onAdvance((merchantId) => Effect.sync(() => void heard.push(merchantId)))
      assert.strictEqual(yield* clock.advance(1, day), day)
      assert.strictEqual(yield* clock.advance(1, 1), day + 1)
      const now = yield* Clock.currentTimeMillis
      assert.isAtLeast((yield* clock.nowMillis(1, "devnet")) - now, (day + 1) * 1000)
      assert.isAtLeast((yield* clock.nowSeconds(1, "devnet")) * 1000 - now, day * 1000)
      assert.isAtMost((yield* clock.nowMillis(1, "mainnet")) - now, 10_000)
      assert.deepStrictEqual([clock.aheadSeconds(1, "mainnet"), clock.aheadSeconds(2, "devnet")], [0, 0])
      assert.deepStrictEqual([...clock.aheadByMerchant()], [[1, day + 1]])
      assert.deepStrictEqual(heard, [1, 1])
    }).pipe(Effect.scoped, Effect.provide(served)))

  it.live("two instances look for each other's steps each second and agree, also on steps that both make at once", () =>
    Effect.gen(function*() {
      assert.isAtMost(pollMillis, 1_000)
      const clock = yield* MerchantClock
      const other = yield* another
      yield* clock.advance(1, 60)
      yield* until(
        "the other instance knows",
        Effect.sync(() => other.aheadSeconds(1, "devnet")),
        (ahead) => ahead === 60
      )
      const reached = yield* Effect.all([clock.advance(2, 5), other.advance(2, 7)], { concurrency: 2 })
      assert.strictEqual(Math.max(...reached), 12)
      yield* Effect.all(Array.from({ length: 20 }, () => clock.advance(2, 1)), { concurrency: 20 })
      const startedLater = yield* another
      assert.strictEqual(startedLater.aheadSeconds(2, "devnet"), 32)
    }).pipe(Effect.scoped, Effect.provide(served)))

  it.live("a clock is 10 years ahead at most, however it came there, and stays as it was when it is asked for more", () =>
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      assert.strictEqual(yield* clock.advance(1, maximumAheadSeconds - 1), maximumAheadSeconds - 1)
      const refused = yield* Effect.flip(clock.advance(1, 2))
      assert.deepInclude(refused as object, { code: "VALIDATION_ERROR", param: "seconds" })
      assert.strictEqual(clock.aheadSeconds(1, "devnet"), maximumAheadSeconds - 1)
      assert.strictEqual(yield* clock.advance(1, 1), maximumAheadSeconds)
    }).pipe(Effect.provide(served)))

  it.live("what waits to be delivered again of its devnet events is due as much earlier, and nothing else is", () =>
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      const sql = yield* SqlClient.SqlClient
      const cases = [
        ["waits", 1, "devnet", 3_600],
        ["mainnet", 1, "mainnet", 3_600],
        ["other", 2, "devnet", 3_600],
        ["due", 1, "devnet", -10],
        ["over", 1, "devnet", null]
      ] as const
      for (const [seq, [name, merchant, environment, due]] of cases.entries()) {
        yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
          VALUES (${merchant}, 1, ${seq}, ${environment}, 'test.ping', false, 1, '{}')`
        yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at)
          VALUES (${merchant}, ${name}, 1, ${seq}, now() + ${due}::integer * interval '1 second')`
      }
      yield* clock.advance(1, 3_000)
      const rows = yield* sql<{ readonly endpoint_id: string; readonly due: string | null }>`
        SELECT endpoint_id, round(extract(epoch FROM due_at - created_at))::text AS due
        FROM webhook_deliveries ORDER BY event_seq`
      assert.deepStrictEqual(rows.map(({ due, endpoint_id }) => [endpoint_id, due]), [
        ["waits", "600"],
        ["mainnet", "3600"],
        ["other", "3600"],
        ["due", "-10"],
        ["over", null]
      ])
    }).pipe(Effect.provide(served)))
})

/** A table of a feature with due rows, as `makeMerchantDue` wants it. */
const makeTable = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE promises (merchant_id integer, id integer, environment text, due_at bigint)`
  yield* sql`CREATE INDEX promises_due ON promises (due_at) WHERE due_at IS NOT NULL`
  // As the lists of a feature have it.
  yield* sql`CREATE INDEX promises_newest ON promises (merchant_id, environment, id)`
  yield* sql`CREATE INDEX promises_due_by_merchant ON promises ((merchant_id::bigint), due_at)
    WHERE due_at IS NOT NULL AND environment = 'devnet'`
  return sql
})

describe("due rows by merchants' clocks", () => {
  it.live("are those that are due by the time of their merchant, for any rows and clocks", () =>
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      const sql = yield* makeTable
      const { dueRows, nextDueAt } = yield* makeMerchantDue("promises")
      const now = 1_000
      let moved = 0
      const roll = makeRandom(7)
      for (let round = 0; round < 40; round++) {
        if (round % 10 === 1) moved = yield* clock.advance(1 + Math.floor(round / 10), 40 + round)
        const table = Array.from({ length: 1 + roll(40) }, (_, id) => ({
          id,
          merchant_id: 1 + roll(4),
          environment: roll(3) === 0 ? "mainnet" as const : "devnet" as const,
          due_at: roll(6) === 0 ? null : now - 50 + roll(350)
        }))
        yield* sql`DELETE FROM promises`
        yield* sql`INSERT INTO promises SELECT * FROM json_populate_recordset(null::promises, ${
          JSON.stringify(table)
        }::json)`
        const sooner = ({ environment, merchant_id }: (typeof table)[number]) =>
          clock.aheadSeconds(merchant_id, environment)
        const waiting = table.filter(({ due_at }) => due_at !== null)
        const expected = waiting.filter((row) => row.due_at! <= now + sooner(row)).map(({ id }) => id)
        const found = yield* sql<{ readonly id: number }>`SELECT id FROM ${dueRows(now, 100)} p ORDER BY id`
        assert.deepStrictEqual(found.map(({ id }) => id), expected)
        const few = yield* sql<{ readonly id: number }>`SELECT id FROM ${dueRows(now, 3)} p`
        assert.strictEqual(few.length, Math.min(3, expected.length))
        const earliest = Math.min(...waiting.map((row) => row.due_at! - sooner(row)))
        assert.strictEqual(yield* nextDueAt, waiting.length === 0 ? null : earliest)
      }
      assert.isAbove(moved, 0)
    }).pipe(Effect.provide(served)))

  it.live("are found by an index however many rows wait, with anybody ahead or nobody", () =>
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      const sql = yield* makeTable
      yield* sql`INSERT INTO promises SELECT n % 100, n, CASE WHEN n % 3 = 0 THEN 'mainnet' ELSE 'devnet' END, 100000 + n
        FROM generate_series(1, 30000) n`
      const { dueRows } = yield* makeMerchantDue("promises")
      const plan = Effect.suspend(() =>
        Effect.map(
          sql<Record<string, string>>`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM ${dueRows(50, 100)} p`,
          (rows) => rows.map((row) => Object.values(row)[0]).join("\n")
        )
      )
      const alone = yield* plan
      assert.include(alone, "promises_due ")
      assert.notInclude(alone, "promises_due_by_merchant")
      yield* clock.advance(5, day)
      for (const analyzed of [false, true]) {
        if (analyzed) yield* sql`ANALYZE promises`
        const ahead = yield* plan
        assert.include(ahead, "promises_due_by_merchant")
        assert.notMatch(ahead, /Seq Scan|Rows Removed by Filter: [1-9]/)
      }
    }).pipe(Effect.provide(served)))
})
