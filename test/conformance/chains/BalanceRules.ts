/** What a driver says that wallets hold: at a final block, which it names, and nothing that came later. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { ChainDriver, FinalBalances, ReceiveTarget } from "../../../runtime/Chains.ts"
import { followUntil, type Journal, watchOf } from "./Journal.ts"
import type { DefineRule } from "./Rule.ts"
import type { TestedChain } from "./TestedChain.ts"

const isOffered = ({ finalBalances }: ChainDriver): boolean => finalBalances !== null

/** Blocks after which each chain's payments are final, with room. */
const finalBlocks = 50

const tokensOf = ({ hasCoinBalances = true, token }: TestedChain) =>
  token === null ? [null] : hasCoinBalances ? [null, token] : [token]

const balancesOf = (rig: TestedChain, { address }: ReceiveTarget) =>
  Effect.map(rig.driver.finalBalances!([address], tokensOf(rig)), (found) => {
    assert.isNotNull(found)
    return found!
  })

/** Insists that the balances are what came to the target up to their block. `start`: before the first payment. */
const checkBalances = (rig: TestedChain, journal: Journal, found: FinalBalances): void => {
  const cameBy = (token: string | null) =>
    [...journal.transfers.values()]
      .filter(({ height, tokenAddress }) => tokenAddress === token && height <= found.point.height)
      .reduce((sum, { amount }) => sum + amount, 0n)
  assert.deepStrictEqual(found.balances.map(BigInt), tokensOf(rig).map(cameBy), `at ${found.point.height}`)
  assert.isAbove(found.point.time, 0)
}

/** Pays a target in the coin and in the token, and says what a follower knows then. */
const payTarget = Effect.fnUntraced(function*(rig: TestedChain, start: Journal, amount: bigint) {
  const target = rig.target(0)
  yield* rig.pay(target, null, amount)
  const last = yield* rig.pay(target, rig.token, amount)
  const journal = yield* followUntil(
    rig.driver,
    start,
    watchOf(rig, [target]),
    ({ transfers }) => [...transfers.values()].some(({ txHash }) => txHash === last.txHash)
  )
  return { journal, target, last: [...journal.transfers.values()].find(({ txHash }) => txHash === last.txHash)!.height }
})

export const balanceRules = (rule: DefineRule): void => {
  rule(
    "says what a wallet holds at a final block, and of what came later nothing",
    [],
    (rig, start) =>
      Effect.gen(function*() {
        const first = yield* payTarget(rig, start, 5n * rig.unit)
        checkBalances(rig, first.journal, yield* balancesOf(rig, first.target))
        yield* rig.mine(finalBlocks)
        const settled = yield* balancesOf(rig, first.target)
        checkBalances(rig, first.journal, settled)
        assert.isTrue(settled.point.height >= first.last, "what is final is counted")
        const second = yield* payTarget(rig, first.journal, 3n * rig.unit)
        checkBalances(rig, second.journal, yield* balancesOf(rig, first.target))
        assert.isFalse(settled.hasSent, "who was only paid has sent nothing")
      }),
    isOffered
  )

  rule("counts nothing that may still leave the chain", ["dropTransaction"], (rig, start) =>
    Effect.gen(function*() {
      const { journal, last, target } = yield* payTarget(rig, start, 5n * rig.unit)
      const found = yield* balancesOf(rig, target)
      checkBalances(rig, journal, found)
      assert.isTrue(found.point.height < last)
    }), isOffered)

  rule("says that an address holds nothing to which nothing came", [], (rig) =>
    Effect.gen(function*() {
      const { balances, hasSent } = yield* balancesOf(rig, rig.target(7))
      assert.deepStrictEqual([balances.map(BigInt), hasSent], [tokensOf(rig).map(() => 0n), false])
    }), isOffered)

  rule("names the block of what it says while nodes misbehave, or fails", [], (rig, start) =>
    Effect.gen(function*() {
      const { journal, target } = yield* payTarget(rig, start, 5n * rig.unit)
      yield* rig.mine(finalBlocks)
      for (const { begin, end } of rig.disturbances) {
        yield* begin
        const found = yield* Effect.result(balancesOf(rig, target))
        yield* end
        if (found._tag === "Success") checkBalances(rig, journal, found.success)
        else assert.strictEqual(found.failure._tag, "DriverError")
      }
      checkBalances(rig, journal, yield* balancesOf(rig, target))
    }), isOffered)

  rule("tells nothing of a coin that moves without transfers", [], (rig) =>
    Effect.gen(function*() {
      const found = yield* rig.driver.finalBalances!([rig.target(7).address], [null])
      assert.strictEqual(found === null, rig.hasCoinBalances === false)
    }), isOffered)
}
