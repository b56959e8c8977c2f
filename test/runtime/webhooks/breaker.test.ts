/**
 * Goal: an endpoint is left in peace, probed and switched off exactly as
 * modules/docs/reference/webhooks.md#an-endpoint-that-fails says, whatever its attempts do. Method: the table by hand,
 * then any sequence of attempts against a model that reads the whole history each time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { AttemptOutcome } from "../../../runtime/webhooks/RetryPolicy.ts"
import { type AttemptStatistics, type EndpointHealth, updateHealth } from "../../../runtime/webhooks/CircuitBreaker.ts"

const day = 86_400_000
const now = 2_000_000_000_000
const fresh: EndpointHealth = {
  state: "unknown",
  consecutiveFailures: 0,
  failingSinceMillis: null,
  openUntilMillis: null,
  openings: 0,
  countedFromMillis: 0
}
const evidence = (more: Partial<AttemptStatistics>): AttemptStatistics => ({
  outcomes: ["failed"],
  attempts: 1,
  failures: 1,
  timeouts: 0,
  failedEvents: 0,
  nowMillis: now,
  ...more
})
const judged = (lane: Partial<EndpointHealth>, more: Partial<AttemptStatistics>) =>
  updateHealth({ ...fresh, ...lane }, evidence(more))

describe("a breaker", () => {
  it.each([
    [9, 9, false],
    [10, 6, false],
    [10, 7, true],
    [11, 7, false],
    [20, 13, false],
    [20, 14, true],
    [1_000, 699, false],
    [1_000, 700, true]
  ])("of %i attempts with %i failures: open is %s", (attempts, failures, open) => {
    assert.strictEqual(judged({}, { attempts, failures }).health.openUntilMillis, open ? now + 30_000 : null)
  })

  it.each([
    [["timed_out"], 4, false],
    [["timed_out"], 5, true],
    [["failed"], 5, false],
    [["succeeded"], 5, false],
    [["timed_out", "succeeded", "timed_out"], 5, false],
    [["timed_out", "timed_out", "timed_out", "timed_out", "timed_out"], 4, true]
  ] as ReadonlyArray<[ReadonlyArray<AttemptOutcome>, number, boolean]>)(
    "after %j, with %i timeouts among the newest five: open is %s",
    (outcomes, timeouts, open) => {
      const { health } = judged({}, { outcomes, attempts: 9, failures: 8, timeouts })
      assert.strictEqual(health.openUntilMillis !== null, open)
    }
  )

  it("is open for 30 s, and twice as long after each failed probe, up to 15 min", () => {
    let lane = judged({}, { attempts: 10, failures: 10 }).health
    const lasted: Array<number> = []
    for (let n = 0; n < 40; n++) {
      const nowMillis = lane.openUntilMillis!
      lane = updateHealth(lane, evidence({ nowMillis })).health
      lasted.push((lane.openUntilMillis! - nowMillis) / 1_000)
    }
    assert.deepStrictEqual(lasted, [60, 120, 240, 480, ...Array.from({ length: 36 }, () => 900)])
  })

  it("is told nothing by what ends while it is open: not closed, not opened for longer", () => {
    const open = { openUntilMillis: now + 1, openings: 3, state: "failing" } as const
    for (const outcome of ["succeeded", "failed", "timed_out"] as const) {
      const { health } = judged(open, { outcomes: [outcome], attempts: 50, failures: 50, timeouts: 5 })
      assert.deepInclude(health, { openUntilMillis: now + 1, openings: 3, countedFromMillis: 0 }, outcome)
    }
  })

  it("closes with a good probe, and is judged by what comes after it, from 30 s on again", () => {
    const open = {
      openUntilMillis: now,
      openings: 6,
      state: "failing",
      consecutiveFailures: 15,
      failingSinceMillis: now - day
    } as const
    const { health } = judged(open, { outcomes: ["succeeded"], attempts: 16, failures: 15 })
    assert.deepStrictEqual(health, {
      state: "healthy",
      consecutiveFailures: 0,
      failingSinceMillis: null,
      openUntilMillis: null,
      openings: 0,
      countedFromMillis: now
    })
    assert.strictEqual(
      updateHealth(health, evidence({ attempts: 10, failures: 7 })).health.openUntilMillis,
      now + 30_000
    )
  })
})

describe("an endpoint", () => {
  it.each([
    [5 * day, 20, ["failed"], true],
    [5 * day - 1, 20, ["failed"], false],
    [5 * day, 19, ["timed_out"], false],
    [9 * day, 20, ["succeeded"], false],
    [9 * day, 20, ["succeeded", "failed"], false],
    [9 * day, 20, ["failed", "failed"], true]
  ] as ReadonlyArray<[number, number, ReadonlyArray<AttemptOutcome>, boolean]>)(
    "that only failed for %i ms and %i events, and then %j: disabled is %s",
    (millis, failedEvents, outcomes, disable) => {
      const lane = { health: "failing", consecutiveFailures: 99, failingSinceMillis: now - millis } as const
      assert.strictEqual(judged(lane, { outcomes, failedEvents }).disable, disable)
    }
  )
})

interface Ended {
  readonly at: number
  readonly outcome: AttemptOutcome
}

/** What the database counts for a lane (see `webhook_lanes_v2`). */
const remembered = (history: ReadonlyArray<Ended>, lane: EndpointHealth, nowMillis: number): AttemptStatistics => {
  const anew = history.filter(({ at }) => at > lane.countedFromMillis)
  const recent = anew.filter(({ at }) => at > nowMillis - 300_000)
  return evidence({
    outcomes: [history.at(-1)!.outcome],
    attempts: recent.length,
    failures: recent.filter(({ outcome }) => outcome !== "succeeded").length,
    timeouts: anew.slice(-5).filter(({ outcome }) => outcome === "timed_out").length,
    nowMillis
  })
}

/** The rule told as a story: read from the first attempt on, with lists where the code has counters. */
const story = (history: ReadonlyArray<Ended>) => {
  let said: Array<Ended> = []
  let spans: Array<number> = []
  let until: number | null = null
  for (const ended of history) {
    const { at, outcome } = ended
    if (until === null || at < until) said.push(ended)
    if (until !== null && at < until) continue
    if (until !== null && outcome === "succeeded") {
      said = []
      spans = []
      until = null
      continue
    }
    const recent = said.filter((each) => at - each.at < 300_000)
    const bad = recent.filter((each) => each.outcome !== "succeeded")
    const tired = said.length >= 5 && said.slice(-5).every((each) => each.outcome === "timed_out")
    if (until === null && !tired && !(recent.length >= 10 && bad.length / recent.length >= 0.7)) continue
    spans.push(spans.length === 0 ? 30_000 : Math.min(900_000, spans.at(-1)! * 2))
    until = at + spans.at(-1)!
  }
  const sinceSuccess = history.slice(history.findLastIndex(({ outcome }) => outcome === "succeeded") + 1)
  return {
    state: sinceSuccess.length === 0 ? "healthy" : "failing",
    consecutiveFailures: sinceSuccess.length,
    failingSinceMillis: sinceSuccess[0]?.at ?? null,
    openUntilMillis: until,
    openings: spans.length
  }
}

const Moment = Schema.Struct({
  pauseMillis: Schema.Literals([1, 1_000, 15_000, 40_000, 1_000_000]),
  outcome: Schema.Literals(["succeeded", "failed", "failed", "timed_out", "timed_out", "timed_out", "timed_out"])
})

describe("any sequence of attempts", () => {
  it.prop("leaves a lane as the rules say when they are read from its beginning", [
    Schema.Array(Moment).check(Schema.isMinLength(1), Schema.isMaxLength(80))
  ], ([moments]) => {
    const history: Array<Ended> = []
    let lane = fresh
    let at = now
    for (const { outcome, pauseMillis } of moments) {
      at += pauseMillis
      history.push({ at, outcome })
      lane = updateHealth(lane, remembered(history, lane, at)).health
      const { countedFromMillis: _, ...rest } = lane
      assert.deepStrictEqual(rest, story(history) as typeof rest)
    }
  }, { arbitrary: { runs: 300, size: 80 } })
})
