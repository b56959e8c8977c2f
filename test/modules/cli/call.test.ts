/** Goal: an answer of the internal port becomes the value, or one sentence with the code that scripts decide by. */
import { assert, describe, it } from "@effect/vitest"
import { valueOf } from "../../../modules/cli/Internal.ts"

const exit = (value: unknown) => `${JSON.stringify({ _tag: "Exit", requestId: "1", exit: value })}\n`
const failed = (cause: unknown) => exit({ _tag: "Failure", cause })

const refusal = (status: number, text: string) => {
  const result = valueOf("ledger.check", status, text)
  if (result._tag === "Success") return assert.fail(`${text} is no failure`)
  const { hint, kind, reason } = result.failure
  return [kind, reason, hint ?? ""] as const
}

describe("a call of the internal port by its name", () => {
  it("has the value of the answer, also where that is nothing", () => {
    const value = { is_balanced: true }
    assert.deepStrictEqual(
      valueOf("ledger.check", 200, exit({ _tag: "Success", value })),
      valueOf("other", 200, exit({ _tag: "Success", value }))
    )
    const nothing = valueOf("ledger.check", 200, exit({ _tag: "Success" }))
    assert.isTrue(nothing._tag === "Success" && nothing.success === undefined)
  })

  it("says what the service refused and why, and tells what is not there from what failed", () => {
    const error = { _tag: "PublicError", code: "EXCEPTION_NOT_FOUND", message: "No such exception" }
    assert.deepStrictEqual(refusal(200, failed([{ _tag: "Fail", error }])), [
      "notFound",
      "No such exception (EXCEPTION_NOT_FOUND)",
      ""
    ])
    assert.strictEqual(
      refusal(200, failed([{ _tag: "Fail", error: { ...error, code: "INVALID_CURSOR" } }]))[0],
      "failed"
    )
    assert.match(refusal(200, failed([{ _tag: "Die", defect: "Unknown request tag: x" }]))[1], /no call ledger\.check/)
    assert.match(refusal(200, failed([{ _tag: "Die", defect: "boom" }]))[2], /log/)
    assert.match(refusal(401, "no token").join(), /answered 401.*no token/)
    assert.match(refusal(200, "<html>")[1], /cannot be read/)
  })
})
