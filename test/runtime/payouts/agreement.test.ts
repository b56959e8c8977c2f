/**
 * Goal: endpoints that lie, lag or are away never make a payout look unsent that somebody can see.
 * Method: the pure rule, on what each of up to five endpoints says.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  agreeOnSearch,
  type EndpointSearch,
  heightOfMost,
  majorityOf,
  type Report
} from "../../../runtime/payouts/Agreement.ts"
import type { PayoutExecution } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"

const execution = (txHash: string, height: bigint, isFinal = true, amount = 5n): PayoutExecution => ({
  txHash,
  block: { height, hash: `${height}`, time: 1_000 + Number(height) },
  isFinal,
  transfers: [{ index: 0, line: 0, destination: "alice", tokenAddress: null, amount: baseUnits(amount), from: "bank" }],
  fee: null
})

const says = (
  searchedTo: bigint,
  executions: ReadonlyArray<PayoutExecution> = [],
  isOver = false
): Report<EndpointSearch> => Result.succeed({ searchedTo, executions, isOver })
const away: Report<EndpointSearch> = Result.fail("rpc 3 of 3 does not answer")

const agree = (reports: ReadonlyArray<Report<EndpointSearch>>, from = 10n) => agreeOnSearch("solana", from, reports)
const found = (reports: ReadonlyArray<Report<EndpointSearch>>) => {
  const result = agree(reports)
  return Result.isFailure(result)
    ? result.failure.kind
    : [result.success.executions.map(({ txHash }) => txHash), result.success.searchedTo, result.success.isOver]
}

describe("what endpoints agree about a payout", () => {
  it("takes more than half of those that are configured", () => {
    assert.deepStrictEqual([1, 2, 3, 4, 5].map(majorityOf), [1, 2, 2, 3, 3])
    assert.deepStrictEqual(found([says(50n), away]), "unanswered")
    assert.deepStrictEqual(found([says(50n), says(40n), away]), [[], 40n, false])
    assert.deepStrictEqual(found([says(50n, [], true), says(40n, [], true), says(30n)]), [[], 40n, true])
    assert.deepStrictEqual(found([says(50n, [], true), says(40n), says(30n)]), [[], 40n, false])
  })

  it("names the height that more than half of them have reached, whatever one of them says", () => {
    assert.strictEqual(heightOfMost([100n, 40n, 101n], 3), 100n)
    assert.strictEqual(heightOfMost([100n, 5_000n, 99n], 3), 100n)
    assert.strictEqual(heightOfMost([100n, 40n], 3), 40n)
    assert.strictEqual(heightOfMost([7n], 1), 7n)
  })

  it("never says that a part is over while one of them shows an execution", () => {
    const shown = [execution("tx", 30n)]
    assert.deepStrictEqual(found([says(20n, [], true), says(20n, [], true), says(50n, shown)]), [[], 20n, false])
    assert.deepStrictEqual(found([says(40n, [], true), says(20n, [], true), says(50n, shown)]), "contradiction")
    assert.deepStrictEqual(found([says(40n, [], true), says(50n, shown, true)]), "contradiction")
    assert.deepStrictEqual(found([says(40n, shown, true), says(50n, shown), says(50n)]), [["tx"], 50n, false])
  })

  it("is final for most of them, and of one content: another amount is another execution", () => {
    const result = agree([
      says(50n, [execution("b", 31n, true), execution("a", 30n, true)]),
      says(20n, [execution("a", 30n, true), execution("b", 31n, false)]),
      says(20n, [execution("a", 30n, false), execution("b", 31n, false)])
    ])
    assert.deepStrictEqual(
      Result.isSuccess(result) ? result.success.executions.map(({ isFinal, txHash }) => [txHash, isFinal]) : [],
      [["a", true], ["b", false]]
    )
    const differing = [says(50n, [execution("a", 30n, true, 5n)]), says(50n, [execution("a", 30n, true, 6n)])]
    assert.deepStrictEqual(found(differing), "contradiction")
    const [transfer] = execution("a", 30n).transfers
    const otherSender = { ...execution("a", 30n), transfers: [{ ...transfer!, from: "mallory" }] }
    assert.deepStrictEqual(found([says(50n, [execution("a", 30n)]), says(50n, [otherSender])]), "contradiction")
  })

  it("goes back behind nothing that was searched before", () => {
    assert.deepStrictEqual(found([says(3n)]), [[], 9n, false])
    assert.deepStrictEqual(found([says(5n), says(60n, [execution("a", 12n)])]), [[], 9n, false])
  })
})
