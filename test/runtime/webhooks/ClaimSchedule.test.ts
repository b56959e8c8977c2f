/**
 * Goal: no delivery waits longer than a second for somebody to look, and nobody asks the database in vain all the time.
 * Method: the pure schedule alone, driven by events as the deliverer makes them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type ClaimSchedule,
  initialSchedule,
  pauseMillis,
  planClaim,
  scanMillis,
  type ScheduleEvent,
  step
} from "../../../runtime/webhooks/ClaimSchedule.ts"

const nowMillis = 5_000_000
const after = (schedule: ClaimSchedule, ...events: ReadonlyArray<ScheduleEvent>) => events.reduce(step, schedule)
const woken = (...merchantIds: ReadonlyArray<number>): ScheduleEvent => ({ _tag: "MerchantsWoken", merchantIds })
const startedMillis = (merchants: ReadonlyArray<number> | null): ScheduleEvent => ({
  _tag: "ClaimStarted",
  merchants,
  nowMillis
})
const delivery = (found: number, isScan = false): ScheduleEvent => ({ _tag: "RowsClaimed", found, slots: 64, isScan })
const written = (...merchantIds: ReadonlyArray<number>): ScheduleEvent => ({
  _tag: "ResultsWritten",
  written: merchantIds,
  needsRefill: []
})
const plan = (schedule: ClaimSchedule, at = nowMillis, slots = 64, canSend = true) =>
  planClaim(schedule, { nowMillis: at, slots, canSend })

/** A schedule whose last claim for everyone was just now. */
const scanned = after(initialSchedule, startedMillis(null), delivery(0, true), { _tag: "ClaimEnded" })

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals(["wake", "claim", "retry", "writing", "written", "stop"]),
  merchantId: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
  millis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_000 }))
})).check(Schema.isMaxLength(200))

describe("claims of deliveries", () => {
  it.prop("are for everyone within a second of the last one that was, whatever happens, but during a stop", [
    Moves
  ], ([moves]) => {
    let schedule = scanned
    let now = nowMillis
    for (const { kind, merchantId, millis } of moves) {
      if (kind === "wake") schedule = after(schedule, woken(merchantId))
      else if (kind === "retry") schedule = after(schedule, { _tag: "RetryScheduled", atMillis: now + millis })
      else if (kind === "writing") schedule = after(schedule, { _tag: "WritingStarted" })
      else if (kind === "written") schedule = after(schedule, written(merchantId))
      else if (kind === "stop") {
        schedule = after(schedule, { _tag: "StopStarted" })
        assert.strictEqual(plan(schedule, now + scanMillis)._tag, "Wait")
        schedule = after(schedule, { _tag: "StopEnded" })
      } else {
        const next = plan(schedule, now)
        if (next._tag === "Wait") now += Math.min(next.millis, millis)
        else {
          schedule = after(schedule, { _tag: "ClaimStarted", merchants: next.merchants, nowMillis: now }, {
            _tag: "ClaimEnded"
          })
        }
      }
      assert.deepStrictEqual(plan(schedule, now + scanMillis), { _tag: "Claim", merchants: null })
    }
  })

  it("are for the merchants whose commits woke this instance, at once, and for each of them once", () => {
    const schedule = after(scanned, woken(7), woken(8, 7))
    assert.deepStrictEqual(plan(schedule), { _tag: "Claim", merchants: [7, 8] })
    assert.strictEqual(plan(after(schedule, startedMillis([7, 8])))._tag, "Wait")
  })

  it("are for everyone as soon as a retry is due, and not before", () => {
    const schedule = after(scanned, { _tag: "RetryScheduled", atMillis: nowMillis + 40 })
    assert.deepStrictEqual(plan(schedule), { _tag: "Wait", millis: 40 })
    assert.deepStrictEqual(plan(schedule, nowMillis + 40), { _tag: "Claim", merchants: null })
  })

  it("are for everyone again where one took all the room, because nobody wakes the others a second time", () => {
    const full = after(scanned, woken(7), startedMillis([7]), delivery(64), { _tag: "ClaimEnded" })
    assert.deepStrictEqual(plan(full), { _tag: "Claim", merchants: null })
  })

  it("wait for results where there is no room, and for a transport where there is none", () => {
    const schedule = after(scanned, woken(7))
    assert.strictEqual(plan(schedule, nowMillis, 0)._tag, "Wait")
    assert.strictEqual(plan(schedule, nowMillis, 64, false)._tag, "Wait")
  })

  it("look again at a merchant whose rows were being written while a claim passed over them", () => {
    const during = after(scanned, { _tag: "WritingStarted" }, woken(7), startedMillis([7]), { _tag: "ClaimEnded" })
    assert.deepStrictEqual([...after(during, written(7, 8)).woken], [7])
    const under = after(scanned, woken(7), startedMillis([7]), { _tag: "WritingStarted" }, { _tag: "ClaimEnded" })
    assert.deepStrictEqual([...after(under, written(7, 8)).woken], [7])
    const everyone = after(during, startedMillis(null), { _tag: "ClaimEnded" })
    assert.deepStrictEqual([...after(everyone, written(7, 8)).woken], [7, 8])
  })

  it("do not look again at a merchant whose last claim was over before the writing began", () => {
    const before = after(scanned, woken(7), startedMillis([7]), { _tag: "ClaimEnded" }, { _tag: "WritingStarted" })
    assert.deepStrictEqual([...after(before, written(7)).woken], [])
  })

  it("that find nothing are paused longer each time, 20 ms at most, and not at all after one that found something", () => {
    const empty = (times: number) => after(scanned, ...Array.from({ length: times }, () => delivery(0)))
    assert.deepStrictEqual([1, 2, 3, 4, 5, 9].map((times) => pauseMillis(empty(times))), [0, 4, 8, 16, 20, 20])
    assert.strictEqual(pauseMillis(after(empty(9), delivery(1))), 0)
  })
})
