/** Goal: however many payors look, a network is asked for its gas price once, and no list waits long for it. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeNetworkFees } from "../../../modules/payments/service/NetworkFees.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { readRate } from "../../../schemas/Money.ts"
import { catalogOf, etherListing, token, usdc } from "../../fixtures/tokens.ts"

const ether = token(2, etherListing)
const gwei = 1_000_000_000n

/** The fees of a network that answers by `gasPrice`, and how often it was asked. */
const feesOf = (gasPrice: Effect.Effect<bigint, string>) =>
  Effect.gen(function*() {
    // The clock of tests starts at 0, which is a minute ago of nothing.
    yield* TestClock.adjust("1 hour")
    let reads = 0
    const counted = Effect.suspend(() => {
      reads++
      return gasPrice
    })
    const start = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const fees = yield* makeNetworkFees.pipe(Effect.provide(Layer.mergeAll(
      Layer.mock(Chains, { driver: () => ({ gasPrice: counted }) } as never),
      Layer.mock(Prices, {
        latest: () => ({ rate: readRate("2000")!, text: "2000", source: "test", at: start + 3_600 })
      }),
      catalogOf(usdc, ether)
    )))
    const fee = Effect.map(fees("devnet", [usdc, ether]), (all) => all.get(ether.id) ?? null)
    return { fee, reads: () => reads }
  })

describe("the fees of a network", () => {
  it.effect("are read once for all who ask in the same moment, and each gets them", () =>
    Effect.gen(function*() {
      const { fee, reads } = yield* feesOf(Effect.delay(Effect.succeed(gwei), "200 millis"))
      const asking = yield* Effect.forkChild(Effect.all(Array.from({ length: 20 }, () => fee), { concurrency: 20 }))
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual(yield* Fiber.join(asking), Array(20).fill(0.05))
      assert.strictEqual(reads(), 1)
    }).pipe(Effect.scoped))

  it.effect("are read again after a minute, while the last one is told", () =>
    Effect.gen(function*() {
      let price = gwei
      const { fee, reads } = yield* feesOf(Effect.suspend(() => Effect.succeed(price)))
      assert.strictEqual(yield* fee, 0.05)
      price = 2n * gwei
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* fee, 0.05)
      assert.strictEqual(reads(), 1)
      yield* TestClock.adjust("1 second")
      yield* fee
      assert.strictEqual(yield* fee, 0.09)
      assert.strictEqual(reads(), 2)
    }).pipe(Effect.scoped))

  it.effect("hold up a list for 300 ms of the read at most, and one read after the other where none is answered", () =>
    Effect.gen(function*() {
      const under = { way: 0, most: 0 }
      const silent = Effect.ensuring(
        Effect.andThen(
          Effect.sync(() => under.most = Math.max(under.most, ++under.way)),
          Effect.never
        ),
        Effect.sync(() => under.way--)
      )
      const { fee, reads } = yield* feesOf(silent)
      const first = yield* Effect.forkChild(fee)
      yield* TestClock.adjust("299 millis")
      const second = yield* Effect.forkChild(fee)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [null, null])
      assert.isNull(yield* fee, "without a wait")
      for (let minute = 0; minute < 3; minute++) {
        yield* TestClock.adjust("1 minute")
        const asking = yield* Effect.forkChild(fee)
        yield* TestClock.adjust("300 millis")
        assert.isNull(yield* Fiber.join(asking))
      }
      assert.strictEqual(reads(), 4)
      assert.strictEqual(under.most, 1)
    }).pipe(Effect.scoped))
})
