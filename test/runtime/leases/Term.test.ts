/**
 * Goal: an instance that was frozen, or had no database for a while, says of work that others do neither that nobody
 * does it nor that it is stuck. Method: the rules alone, with times given.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { monotonicMillis } from "../../../runtime/Clock.ts"
import { leaseFindings } from "../../../runtime/leases/Health.ts"
import {
  longestLookGapMillis,
  newRecord,
  noteLook,
  runTerm,
  statusesOf,
  type WorkRecord
} from "../../../runtime/leases/Term.ts"

const everyMillis = 2_000
const options = { role: "worker", ttlMillis: 6_000, passMillis: 10_000 } as const

const findings = (record: WorkRecord) => Effect.map(statusesOf([record]), leaseFindings)

/** A look at work that another instance was just seen to do. */
const lookAtLivingWork = (record: WorkRecord) =>
  Effect.map(monotonicMillis, (now) => {
    noteLook(record, everyMillis, now)
    record.renewedAtMillis = now
    record.progressedAtMillis = now
  })

const lookAtDeadWork = (record: WorkRecord) => Effect.map(monotonicMillis, (now) => noteLook(record, everyMillis, now))

const started = Effect.map(monotonicMillis, (now) => newRecord("chain:base", options, now))

describe("the health of leases", () => {
  it.effect("of an instance that was frozen is silent until it has looked for three terms", () =>
    Effect.gen(function*() {
      const record = yield* started
      yield* lookAtLivingWork(record)
      yield* TestClock.adjust(45_000)
      assert.deepStrictEqual(yield* findings(record), [], "before the first look")
      yield* lookAtDeadWork(record)
      assert.deepStrictEqual(yield* findings(record), [], "at the first look")
      for (let look = 0; look < 10; look++) {
        yield* TestClock.adjust(everyMillis)
        yield* lookAtDeadWork(record)
      }
      assert.include((yield* findings(record))[0]?.message, "No instance was seen to do \"chain:base\" for 20 s")
    }))

  it.effect("of an instance that cannot look for a minute speaks", () =>
    Effect.gen(function*() {
      const record = yield* started
      yield* lookAtLivingWork(record)
      yield* TestClock.adjust(longestLookGapMillis + 1)
      assert.lengthOf(yield* findings(record), 1)
    }))
})

describe("a term", () => {
  it.live("whose process was frozen is not ended as stalled", () =>
    Effect.gen(function*() {
      // Several times what the work needs, for a machine that is late by itself.
      const passMillis = 1_000
      const record = newRecord("chain:base", { ...options, passMillis }, yield* monotonicMillis)
      const term = yield* Effect.forkChild(
        runTerm(
          record,
          { name: record.name, token: 1n },
          (_, progress) =>
            Effect.forever(progress.pipe(Effect.andThen(Effect.sleep(200)), Effect.andThen(Effect.sleep(50)))),
          Effect.never
        )
      )
      yield* Effect.sleep(100)
      // As after SIGCONT: all timers are late, and the work has one more to wait for when that of the stall is up.
      const end = performance.now() + passMillis + 1_200
      while (performance.now() < end);
      yield* Effect.sleep(150)
      assert.isUndefined(term.pollUnsafe())
      yield* Fiber.interrupt(term)
    }))
})
