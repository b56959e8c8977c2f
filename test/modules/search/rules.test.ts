/** Goal: a text is read as what a person would say it is. */
import { assert, describe, it } from "@effect/vitest"
import { termsOf } from "../../../modules/search/rules.ts"

const formsOf = (text: string) => termsOf(text, "devnet").map(({ form }) => form)

describe("what somebody looks for", () => {
  it("is told by its form", () => {
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["550e8400-e29b-41d4-a716-446655440000", ["invoice"]],
      ["550E8400-E29B-41D4-A716-446655440000", ["invoice"]],
      ["re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10", ["object"]],
      ["evt_1766320496123-8841", ["object"]],
      ["#9f31c2d4", ["invoice_end", "customer"]],
      ["$49.99", ["amount", "customer"]],
      ["cust_123", ["customer"]],
      ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", ["address", "customer"]],
      ["", []],
      ["   ", []],
      ["x".repeat(256), []]
    ]
    for (const [text, forms] of cases) assert.deepStrictEqual(formsOf(text), forms, text)
    assert.include(formsOf(`0x${"4e3a".repeat(16)}`), "transaction")
  })

  it("is an exact amount, in thousandths of a dollar", () => {
    const amountOf = (text: string) =>
      termsOf(text, "devnet").flatMap((term) => term.form === "amount" ? [term.usdMillis] : [])
    assert.deepStrictEqual(amountOf("49.99"), [49_990n])
    assert.deepStrictEqual(amountOf("$5"), [5_000n])
    for (const text of ["49.9999", "-5", "1e3", "5,00", "0x5"]) assert.deepStrictEqual(amountOf(text), [], text)
  })

  it("is one address in every spelling of it", () => {
    const targetsOf = (text: string) =>
      termsOf(text, "devnet").flatMap((term) => term.form === "address" ? term.targets : [])
    const [lower] = targetsOf("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
    assert.deepStrictEqual(targetsOf("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), [lower])
    assert.deepStrictEqual(
      targetsOf("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
      [],
      "a wrong checksum is no address"
    )
  })
})
