import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Ended from "../../../runtime/http/Revocations.ts"
import { Revocations } from "../../../runtime/Http.ts"

const served = Layer.fresh(Ended.layer)

/** An owner of keys that knows which are good, counts how often it is asked, and can be made to fail or to hang. */
const owner = Effect.gen(function*() {
  const state = {
    good: new Set<string>(),
    asked: [] as Array<ReadonlyArray<string>>,
    answer: "good" as "good" | "die" | "hang"
  }
  yield* (yield* Revocations).register("key", (ids) =>
    Effect.suspend(() => {
      state.asked.push(ids)
      if (state.answer === "hang") return Effect.never
      if (state.answer === "die") return Effect.die(new Error("no database"))
      return Effect.succeed(ids.filter((id) => state.good.has(id)))
    }))
  return state
})

const watch = (id: string) =>
  Effect.flatMap(Revocations, ({ awaitEnd }) => Effect.forkChild(awaitEnd(id), { startImmediately: true }))

const isOver = (fiber: Fiber.Fiber<unknown>) => fiber.pollUnsafe() !== undefined

describe("revocations", () => {
  it.effect("end every stream of a credential that ended, within 5 s, and no other", () =>
    Effect.gen(function*() {
      const keys = yield* owner
      keys.good.add("key_a").add("key_b")
      const streams = yield* Effect.forEach(["key_a", "key_a", "key_b"], watch)
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(streams.map(isOver), [false, false, false])
      keys.good.delete("key_a")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(streams.map(isOver), [true, true, false])
      assert.strictEqual(yield* Fiber.join(streams[0]!), "ended")
      yield* Effect.forEach(streams, Fiber.interrupt)
    }).pipe(Effect.provide(served)))

  it.effect("are asked for all streams together, once a second, and not at all while there is none", () =>
    Effect.gen(function*() {
      const keys = yield* owner
      const ids = Array.from({ length: 50 }, (_, at) => `key_${at}`)
      for (const id of ids) keys.good.add(id)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(keys.asked.length, 0)
      const streams = yield* Effect.forEach([...ids, ...ids], watch)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(keys.asked.length, 10)
      assert.sameMembers([...keys.asked[0]!], ids)
      yield* Effect.forEach(streams, Fiber.interrupt)
      yield* TestClock.adjust("10 minutes")
      assert.isAtMost(keys.asked.length, 11)
      const [again] = yield* Effect.forEach(["key_1"], watch)
      keys.good.clear()
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(isOver(again!))
    }).pipe(Effect.provide(served)))

  it.effect("survive an owner that is silent for a moment, and end the stream when it stays so: nobody can tell", () =>
    Effect.gen(function*() {
      for (const answer of ["die", "hang"] as const) {
        const keys = yield* owner
        keys.good.add("key_a")
        const stream = yield* watch("key_a")
        yield* TestClock.adjust("10 seconds")
        keys.answer = answer
        yield* TestClock.adjust("2 seconds")
        assert.isFalse(isOver(stream), answer)
        keys.answer = "good"
        yield* TestClock.adjust("10 seconds")
        assert.isFalse(isOver(stream), answer)
        keys.answer = answer
        yield* TestClock.adjust("6 seconds")
        assert.isTrue(isOver(stream), answer)
        assert.strictEqual(yield* Fiber.join(stream), "unknown", answer)
      }
    }).pipe(Effect.provide(served)))

  it.effect("end what nobody owns at once: it cannot be good", () =>
    Effect.gen(function*() {
      const stream = yield* watch("ses_a")
      yield* TestClock.adjust("1 second")
      assert.isTrue(isOver(stream))
    }).pipe(Effect.provide(served)))
})
