import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { RateLimits, windowMillis } from "../../../runtime/RateLimits.ts"
import * as Memory from "../../../runtime/ratelimits/Memory.ts"
import { rateLimitsSuite } from "../../conformance/rateLimits.ts"

describe("windows in memory", () => {
  rateLimitsSuite("memory", Memory.layerWith)

  /** Milliseconds between calls: bursts, and gaps around the length of a window. */
  const Gap = Schema.Union([
    Schema.Literals([0, 0, 0, 1, windowMillis - 1, windowMillis, windowMillis + 1]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000 }))
  ])
  const Gaps = Schema.Array(Gap).check(Schema.isMaxLength(600))

  it.effect.prop(
    "never hold more than 100 in any 60 s, and refuse only when they would, whenever calls come",
    [Gaps],
    ([gaps]) =>
      Effect.gen(function*() {
        const limits = yield* RateLimits
        const accepted: Array<number> = []
        let now = 0
        for (const gap of gaps) {
          yield* TestClock.adjust(gap)
          now += gap
          const inWindow = accepted.filter((at) => now - at <= windowMillis).length
          const verdict = yield* limits.take("key", "k", 100)
          assert.strictEqual(verdict.accepted, inWindow < 100)
          if (verdict.accepted) accepted.push(now)
          assert.strictEqual(verdict.remaining, 100 - Math.min(100, inWindow + 1))
        }
        for (let index = 100; index < accepted.length; index++) {
          assert.isAbove(accepted[index]! - accepted[index - 100]!, windowMillis)
        }
      }).pipe(Effect.provide(Memory.layer, { local: true }))
  )

  it.effect("tell a refused caller the very moment from which it is accepted", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      yield* limits.take("key", "k", 2)
      yield* TestClock.adjust(10_000)
      yield* limits.take("key", "k", 2)
      const refused = yield* limits.take("key", "k", 2)
      assert.deepStrictEqual(refused, { accepted: false, remaining: 0, resetMillis: 50_000 })
      yield* TestClock.adjust(refused.resetMillis)
      assert.isFalse((yield* limits.take("key", "k", 2)).accepted)
      yield* TestClock.adjust(1)
      assert.isTrue((yield* limits.take("key", "k", 2)).accepted)
    }).pipe(Effect.provide(Memory.layer)))

  it.effect("never name a moment beyond the window, at whatever fraction of a millisecond the call comes", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      for (let index = 0; index < 2_000; index++) {
        yield* TestClock.adjust(Duration.nanos(BigInt(7_919 * index + 123_457)))
        const verdict = yield* limits.take("key", `k${index}`, 5)
        assert.isAtMost(verdict.resetMillis, windowMillis)
      }
    }).pipe(Effect.provide(Memory.layer)))

  it.effect("are bounded: idle ones are forgotten, then a newcomer takes over the emptiest, with the calls in it", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      const take = (who: string) => Effect.map(limits.take("anonymous", who, 3), ({ accepted }) => accepted)
      const takes = (...names: ReadonlyArray<string>) => Effect.forEach(names, take)
      assert.deepStrictEqual(yield* takes("a", "a", "b", "b", "c"), [true, true, true, true, true])
      // Full of live windows: "d" takes over that of "c" and its call; who has a window keeps it.
      assert.deepStrictEqual(yield* takes("d", "d", "d"), [true, true, false])
      assert.deepStrictEqual(yield* takes("a", "a"), [true, false])
      yield* TestClock.adjust(windowMillis / 2)
      assert.isTrue(yield* take("b"))
      yield* TestClock.adjust(windowMillis / 2 + 1)
      // Those of "d" and "a" are idle and make room; that of "b" is not, and is still counted.
      assert.deepStrictEqual(yield* takes("g", "g", "g", "g", "h"), [true, true, true, false, true])
      assert.deepStrictEqual(yield* takes("b", "b", "b"), [true, true, false])
    }).pipe(Effect.provide(Memory.layerWith({ capacity: 3 }))))

  it.effect("leave a stranger nearly its whole limit while a flood from more addresses than there are windows goes on", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      const [capacity, limit] = [100, 10]
      let calls = 0
      const flood = (count: number) =>
        Effect.gen(function*() {
          for (let index = 0; index < count; index++) yield* limits.take("anonymous", `flood ${calls++ % 1_000}`, limit)
        })
      yield* flood(2 * capacity)
      for (const stranger of ["one", "two", "three"]) {
        let accepted = 0
        for (let index = 0; index < limit; index++) {
          if ((yield* limits.take("anonymous", stranger, limit)).accepted) accepted += 1
          yield* flood(1)
        }
        assert.isAtLeast(accepted, limit - Math.ceil(calls / capacity), stranger)
        assert.isAtLeast(accepted, limit - 4, stranger)
      }
    }).pipe(Effect.provide(Memory.layerWith({ capacity: 100 }))))

  /** Who calls, and how long after the one before. */
  const Calls = Schema.Array(Schema.Tuple([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
    Schema.Literals([0, 0, 0, 1, 500, 20_000, windowMillis, windowMillis + 1])
  ])).check(Schema.isMaxLength(300))

  it.effect.prop(
    "never give anybody more than the limit, and take from nobody more than others' calls by the capacity",
    [Calls],
    ([calls]) =>
      Effect.gen(function*() {
        const limits = yield* RateLimits
        const [capacity, limit] = [4, 5]
        const accepted: Array<{ readonly who: string; readonly at: number }> = []
        let now = 0
        for (const [caller, gap] of calls) {
          yield* TestClock.adjust(gap)
          now += gap
          const who = `caller ${caller}`
          const own = accepted.filter((call) => call.who === who && now - call.at <= windowMillis).length
          const lately = accepted.filter(({ at }) => now - at <= 2 * windowMillis).length
          const verdict = yield* limits.take("anonymous", who, limit)
          if (verdict.accepted) {
            assert.isBelow(own, limit)
            accepted.push({ who, at: now })
          } else {
            assert.isAtLeast(own + lately / capacity, limit)
          }
        }
      }).pipe(Effect.provide(Memory.layerWith({ capacity: 4 }), { local: true }))
  )

  it.effect("cost no more after 100,000 calls than after 1,000", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      const calls = (who: string, count: number) =>
        Effect.gen(function*() {
          const start = performance.now()
          for (let index = 0; index < count; index++) yield* limits.take("key", who, 10_000_000)
          return performance.now() - start
        })
      yield* calls("many", 100_000)
      let [few, many] = [Infinity, Infinity]
      for (let turn = 0; turn < 5; turn++) {
        few = Math.min(few, yield* calls(`few ${turn}`, 1_000))
        many = Math.min(many, yield* calls("many", 1_000))
      }
      // A scan of the log would make it a hundred.
      assert.isBelow(many / few, 20)
    }).pipe(Effect.provide(Memory.layer)))
})
