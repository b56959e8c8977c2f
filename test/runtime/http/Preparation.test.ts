/**
 * Goal: making a large body holds up no other request.
 * Method: the steps with a fiber beside them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { runInSlices, sliceMillis } from "../../../runtime/http/Preparation.ts"

/** Keeps the processor busy for `millis`. */
const work = (millis: number) => {
  const end = performance.now() + millis
  while (performance.now() < end) Math.sqrt(end)
}

describe("the steps of a large body", () => {
  it.live("let others run between them when they take long", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const steps = function*() {
        for (let step = 1; step <= 3; step++) {
          work(sliceMillis + 1)
          order.push(`step ${step}`)
          yield
        }
        return "done"
      }
      const request = yield* Effect.forkChild(
        Effect.gen(function*() {
          for (let count = 1; count <= 3; count++) {
            order.push("request")
            yield* Effect.yieldNow
          }
        }),
        { startImmediately: false }
      )
      assert.strictEqual(yield* runInSlices(steps()), "done")
      yield* Fiber.join(request)
      assert.isTrue(order.indexOf("request") < order.indexOf("step 2"), order.join(", "))
    }))

  it.effect("run one after the other while they are short", () =>
    Effect.gen(function*() {
      const steps = function*() {
        let sum = 0
        for (let step = 1; step <= 1_000; step++) {
          sum += step
          yield
        }
        return sum
      }
      assert.strictEqual(yield* runInSlices(steps()), 500_500)
    }))
})
