/** Goal: payors compare networks by figures that are near the truth, and by none where the truth is not known. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { expectedSeconds, networkFeeOf } from "../../../modules/payments/rules.ts"
import { descriptorOf, networks } from "../../../schemas/Network.ts"

const dollars = (text: string) => ({ numerator: BigInt(Math.round(Number(text) * 1000)), denominator: 1000n })

describe("the fee of a transfer", () => {
  const gwei = 1_000_000_000n
  const table = [
    ["a token on Ethereum at 1.5 gwei, ether at 3,500", 65_000n * 3n * gwei / 2n, "3500", 18, 0.4],
    ["ether at 1 gwei", 21_000n * gwei, "3500", 18, 0.08],
    ["a token on a rollup at a thousandth of a gwei", 65_000n * gwei / 1000n, "3500", 18, 0.0003],
    ["a signature on Solana at 150", 5_000n, "150", 9, 0.0008],
    ["exactly one digit", 100_000_000_000_000n, "3000", 18, 0.3],
    ["a gas price of nothing", 0n, "3500", 18, 0],
    ["next to nothing", 1n, "3500", 18, 0.00001]
  ] as const
  for (const [what, units, price, decimals, expected] of table) {
    it(`of ${what} is ${expected}`, () => assert.strictEqual(networkFeeOf(units, dollars(price), decimals), expected))
  }

  it.prop(
    "has one significant digit, and is never below what is paid, nor twice as much",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1e12 }))],
    ([units]) => {
      const fee = networkFeeOf(BigInt(units) * 1_000_000n, dollars("1000"), 18)
      const exact = units * 1e-9
      assert.isAtLeast(fee * (1 + 1e-9), exact)
      assert.isBelow(fee, Math.max(2 * exact, 0.000011))
      assert.match(fee.toExponential(), /^\de[+-]\d+$/)
    }
  )

  it("is known of every network: by its gas, or in its coin", () => {
    for (const network of networks) {
      const { blockMillis, transferFee } = descriptorOf(network)
      assert.isAbove(blockMillis, 0)
      assert.isTrue(transferFee.coin > 0n && transferFee.token >= transferFee.coin, network)
    }
  })
})

describe("the time of a payment", () => {
  const invoice = { amount: 500_000n, environment: "mainnet", policy: { confirmations: "standard" } } as never
  const table = [["base", 21], ["ethereum", 147], ["solana", 3]] as const
  for (const [network, expected] of table) {
    it(`on ${network} is that of its blocks, and of the look that finds it: ${expected} s`, () =>
      assert.strictEqual(expectedSeconds(invoice, network), expected))
  }
})
