/**
 * Goal: the steps that the simulator offers for an order are those of the reference's table, and no others.
 * Method: every status with every substatus of it, against the table written down anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { SimulateRequest } from "../../../modules/simulator/api.ts"
import {
  allowedTransitions,
  confirmedEntry,
  depthFor,
  entryAtDepth,
  networkNotAccepted,
  orderTransitions,
  payoutTxHash,
  quoteOfRest,
  simulatedUnits,
  unitsFor
} from "../../../modules/simulator/rules.ts"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits, usdMillis } from "../../../schemas/Money.ts"
import type { Quote } from "../../../schemas/Quote.ts"
import { type OrderStatus, type OrderSubstatus, orderSubstatuses } from "../../../schemas/Order.ts"

/**
 * `<status>` or `<status>/<substatus>` that each step is allowed from; `owed`: only while something is to be given
 * back.
 */
const table: Readonly<Record<(typeof orderTransitions)[number], ReadonlyArray<string>>> = {
  payment_confirmed: ["pending_payment"],
  payment_settled: ["processing/AWAITING_SETTLEMENT"],
  placed: ["processing/PROVIDER_PLACEMENT_SUBMITTED"],
  shipped: ["placed"],
  delivery_confirmed: ["shipped"],
  failed: ["processing"],
  cancelled: ["placed"],
  cancellation_rejected: ["placed/CANCELLATION_REQUESTED"],
  refunded: ["cancelled owed", "failed owed"]
}

const guide = readFileSync(new URL("../../../modules/docs/guides/simulator.md", import.meta.url), "utf8")

/** The rows of the guide's table whose first column is this, cells without their backticks. */
const rowsOf = (first: string): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = guide.split("\n")
  const start = lines.findIndex((line) => line.startsWith(`| ${first} |`))
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"))
  return lines.slice(start + 2, end).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.replaceAll("`", "").trim())
  )
}

describe("steps of an order", () => {
  it("are allowed from where the table says", () => {
    const places = Object.entries(orderSubstatuses).flatMap(([status, all]) =>
      all.map((substatus) => [status as OrderStatus, substatus as OrderSubstatus] as const)
    )
    assert.lengthOf(places, 20)
    for (const [status, substatus] of places) {
      for (const isOwed of [false, true]) {
        const names = [status, `${status}/${substatus}`, ...(isOwed ? [`${status} owed`] : [])]
        assert.sameMembers(
          [...allowedTransitions({
            status,
            substatus,
            received: usdMillis(5n),
            refunded: usdMillis(isOwed ? 4n : 5n)
          })],
          orderTransitions.filter((each) => table[each].some((from) => names.includes(from))),
          `${status}/${substatus}, ${isOwed ? "something" : "nothing"} owed`
        )
      }
    }
  })

  it("are in the guide, from where they are allowed", () => {
    const rows = rowsOf("`transition_to`")
    assert.sameMembers(rows.map(([name]) => name!), [...orderTransitions])
    for (const [name, from] of rows) {
      const allowed = table[name as keyof typeof table].map((each) => each.replace(" owed", "").replace("/", ", "))
      assert.strictEqual(from, allowed.join(", "), name)
    }
  })

  it("and every action on an invoice is in the guide too", () => {
    assert.sameMembers(rowsOf("Action").map(([name]) => name!), [...SimulateRequest.fields.action.literals])
  })

  it("and transfers carry a part, too much, or what is asked, in whole base units", () => {
    assert.strictEqual(simulatedUnits("partial", baseUnits(1n)), 1n)
    assert.strictEqual(simulatedUnits("partial", baseUnits(7n)), 4n)
    assert.strictEqual(simulatedUnits("overpay", baseUnits(1n)), 2n)
    assert.strictEqual(simulatedUnits("overpay", baseUnits(100n)), 110n)
    assert.strictEqual(simulatedUnits("pay", baseUnits(100n)), 100n)
  })

  it("name transactions of their own", () => {
    assert.match(payoutTxHash("0f8fad5b-d9cb-469f-a165-70867728950e"), /^0x[0-9a-f]{64}$/)
    assert.match(payoutTxHash("re_0f8fad5b-d9cb-469f-a165-70867728950e"), /^0x[0-9a-f]{64}$/)
  })
})

describe("a simulated transfer", () => {
  const quote = { exchange_rate: "2000.000000", estimated_token_amount_remaining: "0.05" } as Quote

  it("carries the caller's own amount at the quote, else what the action makes of the quoted amount", () => {
    assert.strictEqual(unitsFor(quote, 6, { action: "pay" }), baseUnits(50_000n))
    assert.strictEqual(unitsFor(quote, 6, { action: "partial" }), baseUnits(25_000n))
    assert.strictEqual(unitsFor(quote, 6, { action: "partial", amount: 10_000 }), baseUnits(5_000n))
    assert.isTrue(isPublicError(unitsFor({ ...quote, exchange_rate: null } as Quote, 6, { action: "pay" })))
  })

  it("carries what remains by now where the quote that was shown is of before a part was paid", () => {
    const rest = quoteOfRest(quote, usdMillis(33_333n), 6)
    // $33.333 at $2,000 are 16,666.5 base units: rounded up, so that they pay the invoice.
    assert.strictEqual(unitsFor(rest, 6, { action: "pay" }), baseUnits(16_667n))
    assert.strictEqual(quoteOfRest({ ...quote, exchange_rate: null } as Quote, usdMillis(1n), 6).exchange_rate, null)
  })

  it("is as deep as is asked for; else deep enough at once, but for a network that lags", () => {
    assert.strictEqual(depthFor(3, 12, "ok"), 3)
    assert.strictEqual(depthFor(undefined, 12, "ok"), 12)
    assert.strictEqual(depthFor(undefined, 12, "lagging"), 0)
    const entry = { status: "seen", confirmations: 0 } as JournalEntry
    assert.strictEqual(entryAtDepth(entry, 11, 12), entry)
    assert.deepStrictEqual(entryAtDepth(entry, 12, 12), confirmedEntry(entry, 12))
  })

  it("goes wrong on a network of the address's family that the invoice does not take", () => {
    const all = ["solana", "base", "ethereum", "arbitrum"] as const
    assert.strictEqual(networkNotAccepted(all, ["base"], "base", undefined), "ethereum")
    assert.strictEqual(networkNotAccepted(all, ["base"], "base", "arbitrum"), "arbitrum")
    assert.isUndefined(networkNotAccepted(all, ["base"], "base", "solana"))
    assert.isUndefined(networkNotAccepted(all, all, "base", undefined))
  })
})
