/**
 * Goal: a route that hangs is refused in time, whatever it hangs on, and the next ones sooner.
 * Method: routes that never answer and cannot be interrupted, under limits of milliseconds.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as TimeLimit from "../../../runtime/http/TimeLimit.ts"

const refusal = () => HttpServerResponse.empty({ status: 503 })
const answer = Effect.succeed(HttpServerResponse.empty({ status: 200 }))
const hanging = Effect.uninterruptible(Effect.never)

describe("the limit of time", () => {
  it.live("refuses a route that never answers and never stops, and leaves one that answers alone", () =>
    Effect.gen(function*() {
      const limited = TimeLimit.make({ usualMillis: 20, suspiciousMillis: 10 })
      assert.strictEqual((yield* limited(answer, refusal)).status, 200)
      assert.strictEqual((yield* limited(hanging, refusal)).status, 503)
    }))

  it.live("takes the shorter limit after a refusal, until a route has answered again", () =>
    Effect.gen(function*() {
      const limited = TimeLimit.make({ usualMillis: 300, suspiciousMillis: 1 })
      const slow = Effect.delay(answer, 100)
      assert.strictEqual((yield* limited(slow, refusal)).status, 200)
      assert.strictEqual((yield* limited(hanging, refusal)).status, 503)
      assert.strictEqual((yield* limited(slow, refusal)).status, 503)
      assert.strictEqual((yield* limited(answer, refusal)).status, 200)
      assert.strictEqual((yield* limited(slow, refusal)).status, 200)
    }))

  it.live("passes a failure on, and interrupts the route of a caller who has gone", () =>
    Effect.gen(function*() {
      const limited = TimeLimit.make({ usualMillis: 1_000, suspiciousMillis: 1_000 })
      assert.strictEqual(yield* Effect.flip(limited(Effect.fail("no"), refusal)), "no")
      const stopped = yield* Deferred.make<void>()
      const route = Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      const caller = yield* Effect.forkChild(limited(route, refusal), { startImmediately: true })
      caller.interruptUnsafe()
      yield* Deferred.await(stopped)
    }))
})
