/** Goal: what a shop turned off stays off until somebody turns it on. */
import { assert, describe, it } from "@effect/vitest"
import { acceptanceOf, changesOf } from "../../../modules/dashboard/rules/Acceptance.ts"

const saved = { policy: "selective", blocked: new Set([7, 8]) } as const

describe("the form of accepted tokens", () => {
  it("leaves a token as it is that cannot be offered at this moment, and so is not listed", () => {
    const after = acceptanceOf("selective", ["1", "8"], [1, 2, 8], saved)
    assert.deepStrictEqual([...after.blocked].toSorted(), [2, 7])
    assert.deepStrictEqual(changesOf(saved, after), [{ blocked: true, ids: [2] }, { blocked: false, ids: [8] }])
  })

  it("takes no tick of a token that it did not list", () => {
    assert.deepStrictEqual([...acceptanceOf("selective", ["7"], [1], saved).blocked].toSorted(), [1, 7, 8])
  })
})
