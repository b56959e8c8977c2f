/** Goal: the rules of several processes hold: restarts slow down, and metrics of all are one valid text. */
import { assert, describe, it } from "@effect/vitest"
import { processFindings } from "../../../runtime/boot/HttpProcesses.ts"
import { afterEnd, poolShare } from "../../../runtime/boot/ProcessRole.ts"
import { mergeMetrics } from "../../../runtime/telemetry/MergedMetrics.ts"

describe("HTTP processes", () => {
  it("that end soon after their start wait longer and longer, 30 s at most; one that ran a minute starts anew", () => {
    const delays: Array<number> = []
    let quickEnds = 0
    for (let at = 0; at < 9; at++) {
      const next = afterEnd(quickEnds, 1_000)
      quickEnds = next.quickEnds
      delays.push(next.delayMillis)
    }
    assert.deepStrictEqual(delays, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    assert.deepStrictEqual(afterEnd(quickEnds, 60_000), { quickEnds: 1, delayMillis: 250 })
  })

  it("share the connections of an embedded database", () => {
    assert.strictEqual(poolShare(10, 1, 40), 10)
    assert.strictEqual(poolShare(10, 2, 40), 10)
    assert.strictEqual(poolShare(10, 8, 40), 4)
  })

  it("that are missing degrade health, and all of them make it unavailable", () => {
    assert.deepStrictEqual(processFindings(2, 2), [])
    assert.strictEqual(processFindings(1, 2)[0]?.effect, "degraded")
    assert.strictEqual(processFindings(0, 2)[0]?.effect, "unavailable")
  })
})

describe("metrics of several processes", () => {
  it("are one text: each family once, each series with its process", () => {
    const text = (value: number) => `# HELP up Seconds\n# TYPE up gauge\nup ${value}\n`
    const calls = "# TYPE calls counter\ncalls{route=\"/a b\"} 3\n"
    assert.strictEqual(
      mergeMetrics([["0", text(1)], ["1", calls + text(2)]]),
      "# HELP up Seconds\n# TYPE up gauge\nup{process=\"0\"} 1\nup{process=\"1\"} 2\n"
        + "# TYPE calls counter\ncalls{process=\"1\",route=\"/a b\"} 3\n"
    )
  })
})
