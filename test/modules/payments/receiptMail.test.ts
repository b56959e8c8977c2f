/** Goal: a receipt says what was paid, in every language, and nothing that somebody else wrote becomes a link in it. */
import { assert, describe, it } from "@effect/vitest"
import { receiptMail } from "../../../modules/payments/rules/ReceiptMail.ts"
import { Language } from "../../../schemas/Languages.ts"

const facts = {
  merchant: "www.evil.example",
  title: "https://evil.example\r\nInvoice: 7",
  amountUsd: "20.000",
  shopAmount: null,
  payments: [{ amount: "20.500000", symbol: "USDC", network: "Base", txHash: "0xabc" }],
  paidAt: 1_766_320_496,
  invoiceId: "550e8400-e29b-41d4-a716-446655440000"
}

describe("a receipt by e-mail", () => {
  it("names shop, money, transaction, time and invoice in every language, and has no link", () => {
    const all = Language.literals.map((language) => receiptMail(language, facts))
    for (const { subject, text } of all) {
      assert.include(subject, "www. evil. example")
      for (const part of ["20.00 USD", "20.5 USDC", "Base", "0xabc", "2025-12-21 12:34 UTC", facts.invoiceId]) {
        assert.include(text, part)
      }
      assert.notMatch(`${subject}${text}`, /:\/\/|evil\.example|^Invoice: 7/m)
    }
    assert.strictEqual(new Set(all.map(({ text }) => text)).size, Language.literals.length)
  })

  it("names ten payments, and counts the others", () => {
    const payments = Array.from({ length: 13 }, (_, n) => ({ ...facts.payments[0]!, txHash: `0x${n}` }))
    const { text } = receiptMail("en", { ...facts, title: null, payments, amountUsd: "0.125" })
    assert.strictEqual(text.match(/^Transaction: /gm)?.length, 10)
    assert.include(text, "Further payments: 3")
    assert.include(text, "Received: 0.125 USD")
    assert.notInclude(text, "For:")
  })
  it("names what was received in the currency of the shop first, and dollars beside it", () => {
    for (const language of Language.literals) {
      const { text } = receiptMail(language, { ...facts, shopAmount: "18.01 EUR" })
      assert.include(text, ": 18.01 EUR (20.00 USD)\n")
    }
  })
})
