/**
 * Goal: no delivery waits longer than a second for somebody to look, and nobody asks the database in vain all the time.
 * Method: the pure schedule alone, driven by events as the deliverer makes them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type ClaimSchedule,
  type ClaimTarget,
  initialSchedule,
  maximumWanted,
  planClaim,
  scanMillis,
  type ScheduleEvent,
  step,
  wakeDelayed
} from "../../../runtime/webhooks/ClaimSchedule.ts"
import type { EndpointKey } from "../../../runtime/webhooks/DeliveryRepo.ts"

const nowMillis = 5_000_000
const after = (schedule: ClaimSchedule, ...events: ReadonlyArray<ScheduleEvent>) => events.reduce(step, schedule)
const endpoint = (n: number): EndpointKey => ({ merchantId: n, endpointId: `we_${n}` })
const merchant = (merchantId: number): ClaimTarget => ({ merchantId, endpointId: null })
const woken = (...targets: ReadonlyArray<ClaimTarget>): ScheduleEvent => ({ _tag: "TargetsWoken", targets, nowMillis })
const taken = (...targets: ReadonlyArray<ClaimTarget>): ScheduleEvent => ({ _tag: "TargetsTaken", targets })
const claimed = (endpoints: ReadonlyArray<EndpointKey>, found: ReadonlyArray<EndpointKey>): ScheduleEvent => ({
  _tag: "Claimed",
  endpoints,
  found: new Set(found.map(({ endpointId }) => endpointId)),
  usedAllSlots: false,
  nowMillis
})
const page = (endpoints: ReadonlyArray<EndpointKey>, next: EndpointKey | null, at = nowMillis): ScheduleEvent => ({
  _tag: "Looked",
  merchants: null,
  endpoints,
  next,
  nowMillis: at
})
const plan = (schedule: ClaimSchedule, at = nowMillis, slots = 64, canSend = true) =>
  planClaim(wakeDelayed(schedule, at), { nowMillis: at, slots, canSend })
const claimOf = (...endpoints: ReadonlyArray<EndpointKey>) => ({ _tag: "Claim" as const, endpoints })

/** A schedule whose last round of looks was over just now. */
const scanned = after(initialSchedule, page([], null))

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals(["wake", "merchant", "step", "retry", "free", "stop"]),
  n: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
  millis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_000 })),
  isFound: Schema.Boolean
})).check(Schema.isMaxLength(200))

/** What a step of the deliverer makes of a schedule, which finds something or not; the time it waits. */
const taking = (schedule: ClaimSchedule, now: number, isFound: boolean): readonly [ClaimSchedule, number] => {
  const due = wakeDelayed(schedule, now)
  const next = plan(due, now)
  switch (next._tag) {
    case "Wait":
      return [due, next.millis]
    case "Look": {
      const endpoints = isFound ? [endpoint(next.merchants?.[0] ?? 1)] : []
      const looked = { _tag: "Looked", merchants: next.merchants, endpoints, next: null, nowMillis: now } as const
      return [after(due, taken(...(next.merchants ?? []).map(merchant)), looked), 0]
    }
    case "Claim":
      return [
        after(due, taken(...next.endpoints), {
          ...claimed(next.endpoints, isFound ? next.endpoints : []),
          nowMillis: now
        } as ScheduleEvent),
        0
      ]
  }
}

describe("claims of deliveries", () => {
  it.prop("are planned for each endpoint within a second of its wake-up, whatever happens, but during a stop", [
    Moves
  ], ([moves]) => {
    let schedule = scanned
    let now = nowMillis
    for (const { isFound, kind, millis, n } of moves) {
      if (kind === "wake") schedule = after(schedule, { ...woken(endpoint(n)), nowMillis: now } as ScheduleEvent)
      else if (kind === "merchant") {
        schedule = after(schedule, { ...woken(merchant(n)), nowMillis: now } as ScheduleEvent)
      } else if (kind === "free") schedule = after(schedule, { _tag: "TargetsFreed", targets: [endpoint(n)] })
      else if (kind === "retry") {
        schedule = after(schedule, { _tag: "TargetDelayed", target: endpoint(n), atMillis: now + millis })
      } else if (kind === "stop") {
        schedule = after(schedule, { _tag: "StopStarted" })
        assert.strictEqual(plan(schedule, now + scanMillis)._tag, "Wait")
        schedule = after(schedule, { _tag: "StopEnded" })
      } else {
        const [next, wait] = taking(schedule, now, isFound)
        schedule = next
        now += Math.min(wait, millis)
      }
      // Whoever is woken now, and the round of looks, has its turn within a second, a few steps at most.
      let probe = after(schedule, { ...woken(endpoint(9)), nowMillis: now } as ScheduleEvent)
      const seen = new Set<string>()
      for (let steps = 0, at = now + scanMillis + 50; steps < 20; steps++) {
        const next = plan(probe, at)
        if (next._tag === "Claim") { for (const { endpointId } of next.endpoints) seen.add(endpointId) }
        if (next._tag === "Look" && next.merchants === null) seen.add("page")
        probe = taking(probe, at, false)[0]
      }
      assert.includeMembers([...seen], ["we_9", "page"])
    }
  })

  it("are of the endpoints that commits queued something for, at once, and of each of them once", () => {
    const schedule = after(scanned, woken(endpoint(7)), woken(endpoint(8), endpoint(7)))
    const next = plan(schedule)
    assert.sameDeepMembers(next._tag === "Claim" ? [...next.endpoints] : [], [endpoint(7), endpoint(8)])
    assert.strictEqual(plan(after(schedule, taken(endpoint(7), endpoint(8))))._tag, "Wait")
  })

  it("follow a look at the merchants whose events another instance committed", () => {
    const schedule = after(scanned, woken(merchant(7)), woken(endpoint(8)))
    assert.deepStrictEqual(plan(schedule), { _tag: "Look", merchants: [7] })
    const looked = after(schedule, taken(merchant(7)), {
      _tag: "Looked",
      merchants: [7],
      endpoints: [{ merchantId: 7, endpointId: "we_x" }],
      next: null,
      nowMillis
    })
    const next = plan(looked)
    assert.sameDeepMembers(next._tag === "Claim" ? [...next.endpoints] : [], [
      endpoint(8),
      { merchantId: 7, endpointId: "we_x" }
    ])
  })

  it("are of an endpoint as soon as a retry of it is due, and not before", () => {
    const schedule = after(scanned, { _tag: "TargetDelayed", target: endpoint(3), atMillis: nowMillis + 40 })
    assert.deepStrictEqual(plan(schedule), { _tag: "Wait", millis: 40 })
    assert.deepStrictEqual(plan(schedule, nowMillis + 40), claimOf(endpoint(3)))
  })

  it("are followed by a look at everyone where one took all the room, because nobody wakes the others again", () => {
    const full = after(scanned, woken(endpoint(7)), taken(endpoint(7)), {
      ...claimed([endpoint(7)], [endpoint(7)]),
      usedAllSlots: true
    } as ScheduleEvent)
    assert.deepStrictEqual(plan(full), { _tag: "Look", merchants: null })
  })

  it("wait for results where there is no room, and for a transport where there is none", () => {
    const schedule = after(scanned, woken(endpoint(7)))
    assert.strictEqual(plan(schedule, nowMillis, 0)._tag, "Wait")
    assert.strictEqual(plan(schedule, nowMillis, 64, false)._tag, "Wait")
  })

  it("are of so many endpoints at once and no more", () => {
    const many = Array.from({ length: maximumWanted + 1 }, (_, n) => endpoint(n))
    const next = plan(after(scanned, woken(...many)))
    assert.strictEqual(next._tag === "Claim" ? next.endpoints.length : 0, maximumWanted)
  })

  it("pause after finding nothing of an endpoint, longer each time, up to a second; of others they do not", () => {
    const empty = (times: number) =>
      after(
        after(scanned, ...Array.from({ length: times }, () => claimed([endpoint(7)], []))),
        woken(endpoint(7))
      )
    const waits = [1, 2, 3, 4, 20].map((times) => {
      const next = plan(empty(times))
      return next._tag === "Wait" ? next.millis : 0
    })
    assert.deepStrictEqual(waits, [0, 4, 8, 16, 1_000])
    assert.deepStrictEqual(plan(empty(4), nowMillis + 16), claimOf(endpoint(7)))
    assert.deepStrictEqual(plan(after(empty(20), woken(endpoint(8)))), claimOf(endpoint(8)))
  })

  it("of an endpoint that rows were found of, or a result made room in, do not pause", () => {
    const paused = after(scanned, ...Array.from({ length: 20 }, () => claimed([endpoint(7)], [])))
    const found = after(paused, claimed([endpoint(7)], [endpoint(7)]), woken(endpoint(7)))
    assert.deepStrictEqual(plan(found), claimOf(endpoint(7)))
    const freed = after(paused, { _tag: "TargetsFreed", targets: [endpoint(7)] })
    assert.deepStrictEqual(plan(freed), claimOf(endpoint(7)))
    assert.deepStrictEqual(plan(after(paused, page([endpoint(7)], null))), claimOf(endpoint(7)))
  })
})

describe("the round of looks", () => {
  it("begins at once at the start, goes on without a pause to its end, and begins again after a second", () => {
    const first = plan(initialSchedule)
    assert.deepStrictEqual(first, { _tag: "Look", merchants: null })
    const second = after(initialSchedule, page([], endpoint(1)))
    assert.deepStrictEqual(second.scan.after, endpoint(1))
    assert.deepStrictEqual(plan(second), { _tag: "Look", merchants: null })
    const ended = after(second, page([], null))
    assert.deepStrictEqual([plan(ended), ended.scan.after], [{ _tag: "Wait", millis: scanMillis }, null])
  })

  it("takes a page a second while pages find nothing, and the next one at once after one that did", () => {
    const idle = after(scanned, page([], endpoint(1), nowMillis + scanMillis))
    assert.deepStrictEqual(plan(idle, nowMillis + scanMillis), { _tag: "Wait", millis: scanMillis })
    const found = after(scanned, page([endpoint(5)], endpoint(1), nowMillis + scanMillis))
    assert.deepStrictEqual(plan(found, nowMillis + scanMillis), claimOf(endpoint(5)))
    assert.deepStrictEqual(plan(after(found, taken(endpoint(5))), nowMillis + scanMillis), {
      _tag: "Look",
      merchants: null
    })
  })

  it("lets claims go first, but not for long", () => {
    const busy = after(initialSchedule, page([], endpoint(1)), woken(endpoint(5)))
    assert.strictEqual(plan(busy)._tag, "Claim")
    assert.strictEqual(plan(busy, nowMillis + 50)._tag, "Look")
  })
})
