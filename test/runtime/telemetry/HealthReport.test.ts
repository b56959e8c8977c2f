/**
 * Goal: one process of several reports what any of them found, and nothing that none of them did.
 * Method: any two sets of findings, as the processes would have them, against the report of both sets together.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CheckName, type Findings, makeReport, mergeReports } from "../../../runtime/telemetry/HealthReport.ts"

const Found = Schema.Struct({
  database: Schema.Boolean,
  isMigrated: Schema.Boolean,
  isStopping: Schema.Boolean,
  outboxLagSeconds: Schema.NullOr(Schema.Literals([0, 300, 301])),
  checkFindings: Schema.Array(Schema.Struct({
    check: CheckName,
    effect: Schema.Literals(["degraded", "unavailable"]),
    message: Schema.Literals(["one.", "another."])
  })).check(Schema.isMaxLength(4))
})

const both = (own: Findings, first: Findings): Findings => ({
  database: own.database && first.database,
  isMigrated: own.isMigrated && first.isMigrated,
  isStopping: own.isStopping || first.isStopping,
  outboxLagSeconds: first.outboxLagSeconds,
  checkFindings: [...own.checkFindings, ...first.checkFindings]
})

const sorted = (problems: ReadonlyArray<{ readonly check: string; readonly message: string }>) =>
  [...new Set(problems.map(({ check, message }) => `${check}: ${message}`))].toSorted()

describe("the report of several processes", () => {
  it.prop(
    "says of every check and problem what the findings of both say, each problem once",
    [Found, Found],
    ([own, first]) => {
      // Only the first process looks at the queue of deliveries.
      const alone = { ...own, outboxLagSeconds: null }
      const merged = mergeReports(makeReport(alone), makeReport(first))
      const expected = makeReport(both(alone, first))
      assert.strictEqual(merged.status, expected.status)
      assert.deepStrictEqual(merged.checks, expected.checks)
      for (const list of ["unavailable", "degraded"] as const) {
        assert.deepStrictEqual(sorted(merged[list]), sorted(expected[list]))
        assert.strictEqual(merged[list].length, sorted(merged[list]).length)
      }
    },
    { arbitrary: { runs: 300 } }
  )

  it.prop(
    "is never ok without an answer of the first process, and hides nothing that was found",
    [Found],
    ([own]) => {
      const report = makeReport(own)
      const merged = mergeReports(report, null)
      assert.strictEqual(merged.status, report.status === "unavailable" ? "unavailable" : "degraded")
      assert.deepStrictEqual(merged.unavailable, report.unavailable)
      assert.deepStrictEqual(merged.degraded.slice(0, -1), report.degraded)
      assert.deepStrictEqual(merged.checks, { ...report.checks, accepting: { ok: false } })
    },
    { arbitrary: { runs: 100 } }
  )
})
