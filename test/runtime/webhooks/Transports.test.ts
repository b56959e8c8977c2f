/** What a transport does that no transport may ends its own attempt, as a fault of ours, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeTransports, overrunMillis } from "../../../runtime/webhooks/Transports.ts"
import { type DeliveryRequest, type Transport, TransportFailed } from "../../../runtime/Webhooks.ts"

const request: DeliveryRequest = {
  deliveryId: "whd_1",
  eventId: "evt_1-1",
  attempt: 1,
  merchantId: 1,
  environment: "devnet",
  url: "queue://orders",
  headers: {},
  body: "{}",
  timeoutMillis: 10_000
}

const transportsWith = (send: Transport["send"]) => {
  const transports = makeTransports()
  transports.add({ name: "queue", schemes: ["queue:"], check: () => Effect.void, send })
  return transports
}

describe("transports", () => {
  it.effect("give one that never answers a little more than the attempt has, and call it a fault of ours", () =>
    Effect.gen(function*() {
      const sending = yield* Effect.forkChild(transportsWith(() => Effect.never).send(request), {
        startImmediately: true
      })
      yield* TestClock.adjust(request.timeoutMillis)
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust(overrunMillis)
      const error = yield* Effect.flip(Fiber.join(sending))
      assert.deepInclude(error, { isOurFault: true, timedOut: false })
      assert.include(error.reason, "\"queue\"")
    }))

  it.effect("take an answer without a status for the bug that it is, and never for the receiver's", () =>
    Effect.gen(function*() {
      for (const answer of [undefined, null, "200", {}, { status: "200" }]) {
        const exit = yield* Effect.exit(transportsWith(() => Effect.succeed(answer as never)).send(request))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause), JSON.stringify(answer))
      }
    }))

  it.effect("take a failure of another kind, and a throw, for the bug that it is", () =>
    Effect.gen(function*() {
      const failing = transportsWith(() => Effect.fail("no connection" as never))
      const throwing = transportsWith(() => {
        throw new Error("no connection")
      })
      for (const transports of [failing, throwing]) {
        const exit = yield* Effect.exit(transports.send(request))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
    }))

  it.effect("pass on what a transport says of its receiver", () =>
    Effect.gen(function*() {
      const answer = { status: 503, retryAfter: "7", body: "" }
      assert.deepStrictEqual(yield* transportsWith(() => Effect.succeed(answer)).send(request), answer)
      const failure = new TransportFailed({ reason: "refused", isOurFault: false, timedOut: true })
      const error = yield* Effect.flip(transportsWith(() => Effect.fail(failure)).send(request))
      assert.strictEqual(error, failure)
    }))
})
