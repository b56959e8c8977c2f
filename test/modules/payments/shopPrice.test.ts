/** Goal: what payors are told in a shop's currency is rounded in the merchant's favour. Method: pure. */
import { assert, describe, it } from "@effect/vitest"
import { inShopCurrency, shopAmountOf, type ShopPrice } from "../../../modules/payments/plugin.ts"

const euros: ShopPrice = { currency: "EUR", amount: "22.5", digits: 2, rate: { numerator: 111n, denominator: 100n } }
const yen: ShopPrice = { currency: "JPY", amount: "1000", digits: 0, rate: { numerator: 67n, denominator: 10_000n } }

describe("an amount in the currency of a shop", () => {
  it("is never more than what came, and never less than what remains", () => {
    assert.strictEqual(inShopCurrency(euros, 10_000n, "received"), "9.00")
    assert.strictEqual(inShopCurrency(euros, 10_000n, "remaining"), "9.01")
    assert.strictEqual(inShopCurrency(yen, 1n, "received"), "0")
    assert.strictEqual(inShopCurrency(yen, 1n, "remaining"), "1")
    for (const millis of [1n, 9n, 111n, 24_975n, 1_000_000_007n]) {
      const [down, up] = (["received", "remaining"] as const)
        .map((rounding) => BigInt(inShopCurrency(euros, millis, rounding).replace(".", "")))
      assert.isTrue(down! * 1_110n <= millis * 100n && up! * 1_110n >= millis * 100n && up! - down! <= 1n)
    }
  })

  it("is the shop's own where it is the whole price, whatever the rate makes of it", () => {
    assert.strictEqual(shopAmountOf(euros, 24_975n, 24_975n, "received"), "22.5")
    assert.strictEqual(shopAmountOf(yen, 6_701n, 6_701n, "remaining"), "1000")
    assert.strictEqual(shopAmountOf(euros, 24_974n, 24_975n, "received"), "22.49")
  })
})
