import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Leases } from "../../runtime/Leases.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { type DueSource, layer as rows, Timers } from "../../runtime/Timers.ts"

const free = Layer.succeed(Leases, {
  hold: (name, _options, work) => work({ name, token: 1n }, Effect.void),
  statuses: Effect.succeed([]),
  findings: Effect.succeed([])
})
const timers = rows.pipe(Layer.provide([free, MerchantClock.system]))

/** Rows in memory: due times, and what was done when. */
const source = (batchSize: number) => {
  const due: Array<number> = []
  const done: Array<{ readonly at: number; readonly rows: number }> = []
  const made: DueSource = {
    name: "test",
    batchSize,
    nextDueMillis: Effect.sync(() => (due.length === 0 ? null : Math.min(...due))),
    run: (now, limit) =>
      Effect.sync(() => {
        due.sort((a, b) => a - b)
        const ready = due.splice(0, Math.min(limit, due.filter((at) => at <= now).length))
        if (ready.length > 0) done.push({ at: now, rows: ready.length })
        return ready.length
      })
  }
  return { made, done, add: (...times: ReadonlyArray<number>) => due.push(...times) }
}

describe("a timer", () => {
  it.effect("runs when its earliest row falls due, not before", () =>
    Effect.gen(function*() {
      const { add, done, made } = source(10)
      add(3_000, 4_500)
      yield* (yield* Timers).register(made)
      yield* TestClock.adjust(2_999)
      assert.deepStrictEqual(done, [])
      yield* TestClock.adjust(1)
      yield* TestClock.adjust(1_500)
      assert.deepStrictEqual(done, [{ at: 3_000, rows: 1 }, { at: 4_500, rows: 1 }])
    }).pipe(Effect.provide(timers)))

  it.effect("takes a backlog batch after batch without a pause", () =>
    Effect.gen(function*() {
      const { add, done, made } = source(10)
      add(...Array.from({ length: 35 }, () => 1_000))
      yield* (yield* Timers).register(made)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(done.map(({ rows }) => rows), [10, 10, 10, 5])
    }).pipe(Effect.provide(timers)))

  it.effect("that is woken looks again; one that is not looks within 5 seconds", () =>
    Effect.gen(function*() {
      const { add, done, made } = source(10)
      const { register, wake } = yield* Timers
      yield* register(made)
      yield* TestClock.adjust(1_000)
      add(1_500)
      yield* wake("test")
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(done, [{ at: 1_500, rows: 1 }])
      add(1_501)
      yield* TestClock.adjust(5_000)
      assert.strictEqual(done.length, 2)
      yield* wake("unknown")
    }).pipe(Effect.provide(timers)))

  it.effect("whose run fails or dies is tried again, with a growing pause, and never stops", () =>
    Effect.gen(function*() {
      const { add, done, made } = source(10)
      const tries: Array<number> = []
      add(0)
      yield* (yield* Timers).register({
        ...made,
        run: (now, limit) => {
          tries.push(now)
          return tries.length < 6 ? Effect.die(new Error("broken")) : made.run(now, limit)
        }
      })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(tries.slice(0, 6), [0, 200, 600, 1_400, 3_000, 6_200])
      assert.deepStrictEqual(done, [{ at: 6_200, rows: 1 }])
    }).pipe(Effect.provide(timers)))

  it.effect("that says a row is due and handles none does not spin", () =>
    Effect.gen(function*() {
      let runs = 0
      yield* (yield* Timers).register({
        name: "stuck",
        batchSize: 10,
        nextDueMillis: Effect.succeed(0),
        run: () => Effect.sync(() => (runs++, 0))
      })
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost(runs, 41)
    }).pipe(Effect.provide(timers)))
})
