/** Goal: the page of metrics asks for the span that its address names, and for the last days where it names none. */
import { assert, describe, it } from "@effect/vitest"
import { spanOf } from "../../../modules/dashboard/pages/Metrics.ts"

const seconds = (text: string) => Date.parse(text) / 1000
const now = seconds("2026-01-31T22:15:00Z")
const asked = (query: string) => spanOf(new URLSearchParams(query), now)

describe("a span of metrics", () => {
  it("is a day by hours, a month by days, and the last months by month, UTC", () => {
    assert.deepStrictEqual(asked("day=2026-01-31"), {
      name: "day",
      interval: "hour",
      from: seconds("2026-01-31"),
      to: seconds("2026-02-01")
    })
    assert.deepStrictEqual(asked("month=2024-02"), {
      name: "month",
      interval: "day",
      from: seconds("2024-02-01"),
      to: seconds("2024-03-01")
    })
    assert.deepStrictEqual(asked("by=month"), {
      name: "lastMonths",
      interval: "month",
      from: seconds("2025-02-01"),
      to: seconds("2026-02-01")
    })
  })

  it("is the last 30 days, today among them, where the address says nothing that there is", () => {
    const last = {
      name: "lastDays",
      interval: "day",
      from: seconds("2026-01-02"),
      to: seconds("2026-02-01")
    } as const
    for (const query of ["", "day=", "day=2026-02-30", "day=31.1.2026", "month=2026-13", "month=x", "by=week"]) {
      assert.deepStrictEqual(asked(query), last, query)
    }
  })
})
