/**
 * Goal: whoever mistakes the unit of an amount reads which one it is, what was understood, and what to send instead.
 */
import { assert, describe, it } from "@effect/vitest"
import { amountError } from "../../schemas/AmountError.ts"
import { readInvoiceAmount } from "../../schemas/Money.ts"

const refusalOf = (input: { readonly amount?: unknown; readonly amount_usd?: unknown }) => {
  const fault = readInvoiceAmount(input)
  assert.isString(fault)
  return amountError(fault as "format" | "range", input)
}

const unit = "amount is in usd_millis (thousandths of a dollar), an integer from 10 to 1,000,000,000"
const example = "For $5 send amount 5000 or amount_usd 5."
const inDollars = "amount_usd is in dollars, a number or text with at most 3 decimals, 0.01 to 1,000,000"

describe("a refused amount", () => {
  it("says what was understood, and what to send for the dollars that were meant", () => {
    for (
      const [input, message, param] of [
        [{ amount: 5 }, `${unit}: 5 is $0.005. For $5 send amount 5000 or amount_usd 5.`, "amount"],
        [{ amount: 1.5 }, `${unit}: it cannot be 1.5. For $1.5 send amount 1500 or amount_usd 1.5.`, "amount"],
        [{ amount: 0 }, `${unit}: 0 is $0. ${example}`, "amount"],
        [{ amount: -5 }, `${unit}: -5 is -$0.005. ${example}`, "amount"],
        [{ amount: Infinity }, `${unit}: a number of that size cannot be read. ${example}`, "amount"],
        [{ amount: 1_000_000_001 }, `${unit}: 1000000001 is $1,000,000.001. ${example}`, "amount"],
        [{ amount: "5000" }, `${unit}, sent as a number without quotes. ${example}`, "amount"],
        [{ amount_usd: 0.001 }, `${inDollars}: it cannot be 0.001. ${example}`, "amount_usd"],
        [{ amount_usd: 0 }, `${inDollars}: it cannot be 0. ${example}`, "amount_usd"],
        [{ amount_usd: "5 dollars" }, `${inDollars}. ${example}`, "amount_usd"],
        [{}, `The amount is missing: send one of the two. ${unit}; ${inDollars}. ${example}`, null],
        [
          { amount: 5000, amount_usd: 5 },
          `amount and amount_usd were both sent: send one of the two. ${unit}; ${inDollars}. ${example}`,
          null
        ]
      ] as const
    ) {
      const refusal = refusalOf(input)
      assert.deepStrictEqual([refusal.message, refusal.param], [message, param])
    }
  })

  it("has the code of its fault", () => {
    assert.strictEqual(refusalOf({ amount: 5 }).code, "INVALID_AMOUNT_RANGE")
    assert.strictEqual(refusalOf({ amount: "5" }).code, "INVALID_AMOUNT_FORMAT")
  })
})
