/**
 * Goal: exactly what arrived is credited, whatever else a transaction does.
 * Method: transactions by hand for each trap; random ones against what each address gained.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { nativeCoinType } from "../../../../modules/chains/sui/Identifiers.ts"
import type { CheckpointedTransaction } from "../../../../modules/chains/sui/Messages.ts"
import { transfersOf } from "../../../../modules/chains/sui/Transfers.ts"

const address = (digit: string): string => `0x${digit.repeat(64)}`
const [ours, second, payor] = [address("a"), address("b"), address("c")]
const usdc = `${address("d")}::usdc::USDC`
const has = (key: string) => key === ours || key === second

const transaction = (
  balanceChanges: ReadonlyArray<readonly [address: string, coinType: string, amount: bigint]>,
  more: Partial<CheckpointedTransaction> = {}
): CheckpointedTransaction => ({
  digest: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S",
  sender: payor,
  isSuccess: true,
  checkpoint: 7n,
  time: 1_790_000_000,
  balanceChanges: balanceChanges.map(([address, coinType, amount]) => ({ address, coinType, amount })),
  ...more
})

const summary = (found: ReturnType<typeof transfersOf>) =>
  found.map(({ amount, matchKey, tokenAddress }) => [matchKey, tokenAddress, BigInt(amount)])

describe("sui transfers", () => {
  it("credits native coin and tokens to whom they came, and the payor's gas to nobody", () => {
    const found = transfersOf(
      transaction([[payor, nativeCoinType, -2_001_000n], [ours, nativeCoinType, 2_000_000n], [second, usdc, 5n]]),
      has
    )
    assert.deepStrictEqual(summary(found), [[ours, null, 2_000_000n], [second, usdc, 5n]])
    assert.deepInclude(found[0], { kind: "direct", from: payor, at: { height: 7n, hash: "7", time: 1_790_000_000 } })
  })

  it("trap 14: a failed transaction credits nothing, though balances changed", () => {
    assert.deepStrictEqual(transfersOf(transaction([[ours, nativeCoinType, 5n]], { isSuccess: false }), has), [])
  })

  it("an address that sends or spends is credited nothing: change, rebates and swaps are its owner's", () => {
    assert.deepStrictEqual(transfersOf(transaction([[ours, nativeCoinType, 900n]], { sender: ours }), has), [])
    const swap = transaction([[ours, usdc, -5n], [ours, nativeCoinType, 5n], [second, nativeCoinType, 3n]])
    assert.deepStrictEqual(summary(transfersOf(swap, has)), [[second, null, 3n]])
    const toOther = transaction([[ours, nativeCoinType, -5n], [second, nativeCoinType, 4n]], { sender: ours })
    assert.deepStrictEqual(summary(transfersOf(toOther, has)), [[second, null, 4n]])
  })

  it("several changes of one coin are one transfer of what is left of them", () => {
    const parts = transaction([[ours, usdc, 5n], [ours, usdc, 7n], [second, usdc, 2n], [second, usdc, -2n]])
    assert.deepStrictEqual(summary(transfersOf(parts, has)), [[ours, usdc, 12n]])
  })

  const Change = Schema.Tuple([
    Schema.Literals([ours, second, payor, address("e")]),
    Schema.Literals([nativeCoinType, usdc]),
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -50n, maximum: 50n }))
  ])

  it.prop(
    "a transfer has the same index in any order of the changes, and whoever else is watched",
    [Schema.Array(Change), Schema.Int],
    ([changes, seed]) => {
      const all = transfersOf(transaction(changes), () => true)
      const shuffled = changes.map((change, place) => [(place * 7 + Math.abs(seed)) % 11, change] as const)
        .sort(([one], [other]) => one - other).map(([, change]) => change)
      const found = transfersOf(transaction(shuffled), has)
      assert.deepStrictEqual(found, all.filter(({ matchKey }) => has(matchKey)))
      assert.strictEqual(new Set(all.map(({ index }) => index)).size, all.length)
      for (const { amount, matchKey, tokenAddress } of found) {
        const total = changes.filter(([to, coin]) => to === matchKey && coin === (tokenAddress ?? nativeCoinType))
          .reduce((sum, [, , each]) => sum + each, 0n)
        assert.strictEqual(BigInt(amount), total)
      }
    }
  )
})
