import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
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

  it.effect.prop("never hold more than 100 in any 60 s, and refuse only when they would, whenever calls come", [Gaps], ([gaps]) =>
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
    }).pipe(Effect.provide(Memory.layer, { local: true })))

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

  it.effect("are bounded: only idle ones are forgotten, and whoever finds no place shares one", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      const take = (who: string) => Effect.map(limits.take("anonymous", who, 2), ({ accepted }) => accepted)
      for (const who of ["a", "b", "c"]) assert.isTrue(yield* take(who))
      // Full of live windows: newcomers share two calls, and those who have a window keep theirs.
      assert.deepStrictEqual(yield* Effect.forEach(["d", "e", "f"], take), [true, true, false])
      assert.deepStrictEqual(yield* Effect.forEach(["a", "a"], take), [true, false])
      yield* TestClock.adjust(windowMillis / 2)
      assert.isTrue(yield* take("b"))
      yield* TestClock.adjust(windowMillis / 2 + 1)
      // "c" and "a" are idle and make room; "b" is not, and is still counted.
      assert.deepStrictEqual(yield* Effect.forEach(["g", "g", "g", "h", "b", "b"], take), [true, true, false, true, true, false])
      assert.deepStrictEqual(yield* Effect.forEach(["i", "j", "k"], take), [true, true, false])
    }).pipe(Effect.provide(Memory.layerWith({ capacity: 3 }))))

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
