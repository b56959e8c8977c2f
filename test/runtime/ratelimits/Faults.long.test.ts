/**
 * Goal: a fault of the database gives nobody more calls than the limit.
 * Method: one caller floods an instance whose line to a real PostgreSQL is cut, held and opened again at random.
 */
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { RateLimits } from "../../../runtime/RateLimits.ts"
import * as LeasesOfDatabase from "../../../runtime/leases/Database.ts"
import * as Database from "../../../runtime/ratelimits/Database.ts"
import { LocalWindows } from "../../../runtime/ratelimits/LocalWindows.ts"
import { mostInOneWindow, span } from "../../conformance/rateLimits.ts"
import { freshDatabase } from "../../support/Database.ts"
import { makeDatabaseProxy } from "../../support/DatabaseProxy.ts"
import { makeRandom } from "../../fixtures/histories.ts"

const limit = 20

const faulty = Effect.fnUntraced(function*(instances: number, seed: number) {
  const database = yield* freshDatabase
  const lines = yield* Effect.forEach(Array.from({ length: instances }), () => makeDatabaseProxy(database))
  const limits = yield* Effect.forEach(lines, ({ url }) =>
    Effect.map(
      Layer.build(Layer.fresh(
        Database.layerWith({ span, timeoutMillis: 60 }).pipe(
          Layer.provide(LeasesOfDatabase.layer),
          Layer.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 4 }))
        )
      )),
      Context.get(RateLimits)
    ))
  const end = performance.now() + 12 * span
  const calls: Array<Parameters<typeof mostInOneWindow>[0][number]> = []
  const flood = (store: RateLimits["Service"]) =>
    Effect.gen(function*() {
      while (performance.now() < end) {
        const before = performance.now()
        const verdict = yield* store.take("key", "flood", limit)
        calls.push({ verdict, before, after: performance.now() })
        yield* Effect.sleep(4)
      }
    })
  const roll = makeRandom(seed)
  const faults = Effect.gen(function*() {
    while (performance.now() < end) {
      yield* Effect.sleep(roll(200))
      yield* lines[roll(lines.length)]!.set((["through", "through", "held", "cut"] as const)[roll(4)]!)
    }
    for (const line of lines) yield* line.set("through")
  })
  yield* Effect.all([faults, ...limits.flatMap((store) => [flood(store), flood(store), flood(store)])], {
    concurrency: "unbounded"
  })
  return { most: mostInOneWindow(calls), accepted: calls.filter(({ verdict }) => verdict.accepted).length }
})

describe("limits while the database fails now and then", () => {
  it.live(
    "one instance accepts no more than the limit in any window, and goes on accepting",
    () =>
      Effect.gen(function*() {
        const { accepted, most } = yield* faulty(1, 7)
        assert.isAtMost(most, limit)
        assert.isAtLeast(accepted, 2 * limit)
      }).pipe(Effect.scoped)
  )

  it.live("two instances accept no more than twice the limit", () =>
    Effect.gen(function*() {
      assert.isAtMost((yield* faulty(2, 11)).most, 2 * limit)
    }).pipe(Effect.scoped))

  it("what the database knew, what is being asked and what it was not told of all count", () => {
    const windows = new LocalWindows(100)
    const take = (now: number) => windows.take("k", 3, now).accepted
    windows.recordAnswer("k", 1, 0)
    windows.beginCall("k")
    assert.deepStrictEqual([take(10), take(11)], [true, false])
    windows.endCall("k")
    assert.deepStrictEqual([take(12), take(13)], [true, false])
    assert.deepStrictEqual(windows.unrecordedCalls("k", 13), [10, 12])
    assert.deepStrictEqual([take(101), take(102)], [true, false], "what the database knew of has left the window")
    windows.markRecorded("k", [10, 12], 103)
    assert.deepStrictEqual(windows.unrecordedCalls("k", 103), [101])
    assert.isFalse(take(104))
    assert.isTrue(windows.take("other", 3, 104).accepted)
  })

  it("a window that was forgotten for want of room counts as full until it is certainly empty", () => {
    const windows = new LocalWindows(100, 2)
    for (const key of ["a", "b", "c"]) windows.recordAnswer(key, 1, 0)
    assert.deepInclude(windows.take("a", 3, 50), { accepted: false, resetMillis: 50 })
    assert.isTrue(windows.take("a", 3, 101).accepted)
  })
})
