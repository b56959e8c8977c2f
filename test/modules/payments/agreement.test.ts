/**
 * Goal: no single node is believed about a large payment, however it is cut or priced.
 * Method: the rule itself, at its edges.
 */
import { assert, describe, it } from "@effect/vitest"
import { needsAgreement } from "../../../modules/payments/rules.ts"
import { usdMillis } from "../../../schemas/Money.ts"

const thousand = usdMillis(1_000_000n)
const cents = (amount: bigint) => usdMillis(amount * 10n)

describe("agreement of two endpoints", () => {
  it("is needed from the threshold on, by the payment's value or its invoice's", () => {
    assert.isFalse(needsAgreement(thousand, cents(99_999n), cents(99_999n)))
    assert.isTrue(needsAgreement(thousand, cents(100n), cents(100_000n)))
    assert.isTrue(needsAgreement(thousand, cents(100_000n), cents(1n)))
  })

  it("is needed by a payment whose value is not known, and by none where no threshold is set", () => {
    assert.isTrue(needsAgreement(thousand, cents(100n), null))
    assert.isFalse(needsAgreement(null, cents(100_000_000n), null))
  })
})
