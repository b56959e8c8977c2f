import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { Actors, layer, mailboxCapacity } from "../../runtime/Actors.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)

describe("a mailbox", () => {
  it.effect("runs the work of a key one at a time, in the order it was sent", () =>
    Effect.gen(function*() {
      const { send } = yield* Actors
      const order: Array<number> = []
      let inside = 0
      yield* Effect.forEach(range(200), (n) =>
        send(
          "invoice",
          "a",
          Effect.gen(function*() {
            assert.strictEqual(++inside, 1)
            for (let pause = n % 3; pause > 0; pause--) yield* Effect.yieldNow
            order.push(n)
            inside--
          })
        ), { concurrency: "unbounded" })
      assert.deepStrictEqual(order, range(200))
    }).pipe(Effect.provide(layer)))

  it.effect("does not hold up another key, nor another kind with the same key", () =>
    Effect.gen(function*() {
      const { send } = yield* Actors
      const gate = yield* Deferred.make<void>()
      const held = yield* Effect.forkChild(send("invoice", "a", Deferred.await(gate)), { startImmediately: true })
      assert.strictEqual(yield* send("invoice", "b", Effect.succeed(1)), 1)
      assert.strictEqual(yield* send("order", "a", Effect.succeed(2)), 2)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(held)
    }).pipe(Effect.provide(layer)))

  it.effect("passes on failures and defects, and serves the next", () =>
    Effect.gen(function*() {
      const { send } = yield* Actors
      assert.strictEqual(yield* Effect.flip(send("invoice", "a", Effect.fail("no"))), "no")
      assert.isTrue(Exit.hasDies(yield* Effect.exit(send("invoice", "a", Effect.die("bug")))))
      assert.strictEqual(yield* send("invoice", "a", Effect.succeed(3)), 3)
    }).pipe(Effect.provide(layer)))

  it.effect("refuses what is beyond its capacity, and takes more when there is room", () =>
    Effect.gen(function*() {
      const { send } = yield* Actors
      const gate = yield* Deferred.make<void>()
      const inside = yield* Effect.forEach(range(mailboxCapacity), () =>
        Effect.forkChild(send("invoice", "a", Deferred.await(gate)), { startImmediately: true }))
      const refused = yield* Effect.flip(send("invoice", "a", Effect.void))
      assert.strictEqual(refused.code, "SERVICE_UNAVAILABLE")
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(inside, Fiber.join)
      yield* send("invoice", "a", Effect.void)
    }).pipe(Effect.provide(layer)))

  it.effect("withdraws the work of a caller interrupted before its turn, and finishes the work of one after", () =>
    Effect.gen(function*() {
      const { send } = yield* Actors
      const gate = yield* Deferred.make<void>()
      const done: Array<string> = []
      const work = (name: string) => Effect.andThen(Deferred.await(gate), Effect.sync(() => done.push(name)))
      const first = yield* Effect.forkChild(send("invoice", "a", work("first")), { startImmediately: true })
      const second = yield* Effect.forkChild(send("invoice", "a", work("second")), { startImmediately: true })
      yield* Fiber.interrupt(second)
      const leaving = yield* Effect.forkChild(Fiber.interrupt(first), { startImmediately: true })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(leaving)
      yield* send("invoice", "a", work("third"))
      assert.deepStrictEqual(done, ["first", "third"])
    }).pipe(Effect.provide(layer)))
})
