/**
 * Goal: a series is cut where the merchant's own calendar turns, and a median told from bins is as near as it says.
 * Method: the calendar of Intl and sorted lists as oracles that share no code with what they judge.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  binOf,
  computeMetrics,
  type Interval,
  maximumPoints,
  paidInvoices,
  readMetricsRange,
  secondsOf,
  splitSpan,
  sumsOf,
  zoneOf
} from "../../../modules/metrics/rules.ts"
import type { Span } from "../../../runtime/Rollups.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { makeRandom } from "../../fixtures/histories.ts"

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const quarter = 900
const now = 1_766_320_496

/** Whole and broken hours off UTC, clocks that change by an hour or a half, at night or at midnight, and a lost day. */
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Cairo",
  "America/Sao_Paulo",
  "Pacific/Chatham",
  "America/St_Johns",
  "Africa/Casablanca"
]

/** Names the interval that holds a second, in words that differ from one interval to the next. */
const namer = (zone: string, interval: Interval) => {
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    timeZoneName: "longOffset"
  })
  return (at: number): string => {
    const parts = Object.fromEntries(format.formatToParts(at * 1000).map(({ type, value }) => [type, value]))
    const day = `${parts.year}-${parts.month}-${parts.day}`
    if (interval === "month") return day.slice(0, 7)
    if (interval === "hour") return `${day} ${parts.hour} ${parts.timeZoneName}`
    if (interval === "day") return day
    const days = Date.parse(day) / 86_400_000
    // 1 January 1970 was a Thursday: Mondays are 4 days past a multiple of 7.
    return String(Math.floor((days - 4) / 7))
  }
}

const lengths: Readonly<Record<Interval, number>> = { hour: 3_600, day: 86_400, week: 604_800, month: 2_600_000 }

describe("a series", () => {
  it("is cut exactly where hours, days, weeks and months begin on the clocks of any zone, changes of the clock included", () => {
    const roll = makeRandom(7)
    for (const zone of zones) {
      for (const interval of ["hour", "day", "week", "month"] as const) {
        const name = namer(zone, interval)
        for (const _ of range(12)) {
          // Around each change of the clocks of 2021 to 2026, and anywhere.
          const from = 1_609_459_200 + roll(6 * 365 * 96) * quarter
          const span: Span = { from, to: from + (1 + roll(40 * lengths[interval] / quarter)) * quarter }
          const points = splitSpan(span, interval, zoneOf(zone)!)!
          assert.deepStrictEqual([points[0]!.from, points.at(-1)!.to], [span.from, span.to])
          points.forEach((point, at) => {
            const told = `${zone} ${interval} ${JSON.stringify(span)} ${at}`
            if (at > 0) {
              assert.strictEqual(point.from, points[at - 1]!.to, told)
              assert.notStrictEqual(name(point.from), name(point.from - 1), told)
            }
            for (const inside of [point.to - 1, point.from + roll(point.to - point.from)]) {
              assert.strictEqual(name(inside), name(point.from), told)
            }
          })
        }
      }
    }
  })

  it("has at most 400 points, and 30 of them up to now where nothing is said", () => {
    const of = (query: Parameters<typeof readMetricsRange>[0]) => readMetricsRange(query, now)
    const asked = of({})
    assert.isNotTrue(asked instanceof PublicError)
    if (asked instanceof PublicError) return
    assert.strictEqual(asked.points.length, 30)
    assert.deepStrictEqual([asked.from % 86_400, asked.to - now > 0, asked.to - now <= quarter], [0, true, true])
    const hours = (count: number) =>
      of({ from: "1766318400", to: String(1_766_318_400 + count * 3_600), interval: "hour" })
    const most = hours(maximumPoints)
    assert.strictEqual(most instanceof PublicError ? most.code : most.points.length, maximumPoints)
    const more = hours(maximumPoints + 1)
    assert.deepStrictEqual(more instanceof PublicError && [more.code, more.param], ["VALIDATION_ERROR", "interval"])
    const endless = of({ from: "0", to: "999999999999", interval: "hour" })
    assert.isTrue(endless instanceof PublicError)
  })

  it("reads epoch seconds and ISO times, widens them to quarters, and says what is wrong with a bound", () => {
    const wrong = (query: Parameters<typeof readMetricsRange>[0]) => {
      const read = readMetricsRange(query, now)
      return read instanceof PublicError ? `${read.code} ${read.param}` : "right"
    }
    const read = readMetricsRange({ from: "2025-12-01T00:07:00+01:00", to: "1764633601" }, now)
    assert.deepStrictEqual(read instanceof PublicError ? read : [read.from, read.to], [1_764_543_600, 1_764_634_500])
    assert.strictEqual(wrong({ from: "yesterday" }), "VALIDATION_ERROR from")
    assert.strictEqual(wrong({ to: "-1" }), "VALIDATION_ERROR to")
    assert.strictEqual(wrong({ from: "2000", to: "1000" }), "VALIDATION_ERROR from")
    assert.strictEqual(wrong({ timezone: "Mars/Olympus" }), "VALIDATION_ERROR timezone")
    assert.strictEqual(wrong({ timezone: "" }), "VALIDATION_ERROR timezone")
  })
})

describe("a time to pay", () => {
  it("in a bin is at most 6.25 % off, and bins are in order", () => {
    let last = 0
    for (let seconds = 0; seconds < 3_000_000; seconds += 1 + Math.floor(seconds / 97)) {
      const bin = binOf(seconds)
      assert.isAtLeast(bin, last)
      last = bin
      assert.isAtMost(Math.abs(secondsOf(bin) - seconds), seconds * 0.0625, String(seconds))
      assert.strictEqual(binOf(secondsOf(bin)), bin)
    }
    assert.strictEqual(binOf(-5), 0)
    assert.isAtMost(binOf(Number.MAX_SAFE_INTEGER), 300)
  })

  it("has the median of its list, as near as its bin", () => {
    const roll = makeRandom(11)
    for (const size of [1, 2, 3, 10, 101]) {
      const times = range(size).map(() => roll(10 ** (1 + roll(6)))).toSorted((a, b) => a - b)
      const sums = times.map((seconds) => ({
        point: 0,
        sum: paidInvoices.sum,
        key: `standard:paid:${binOf(seconds)}`,
        count: 1,
        amount: 0n,
        amountPaid: 0n
      }))
      const { medianSecondsToPay } = computeMetrics(1, sums, sumsOf("a", "b"), undefined)
      const median = times[Math.ceil(size / 2) - 1]!
      assert.isAtMost(Math.abs(medianSecondsToPay! - median), median * 0.0625)
    }
    assert.isNull(computeMetrics(1, [], sumsOf("a", "b"), undefined).medianSecondsToPay)
  })
})
