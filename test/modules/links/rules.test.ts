/** Goal: a payment link takes the amounts it says, as often as it says, and its address is nobody's guess. */
import { assert, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { linkTextsOf } from "../../../modules/links/pages/Texts.ts"
import {
  boundsFault,
  codeLength,
  codeOf,
  countsByLink,
  isCode,
  linkInvoices,
  type LinkState,
  maximumOpenInvoices,
  noCounts,
  obstacleTo,
  payableAmount,
  readTypedAmount,
  readVisit,
  statusOf
} from "../../../modules/links/rules.ts"
import { usdMillis } from "../../../schemas/Money.ts"

const now = 1_766_320_000

const link = (more: Partial<LinkState> = {}): LinkState => ({
  id: "plink_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  merchantId: 1,
  environment: "devnet",
  version: 1,
  code: "7x2mq9kd4rhw0b5t",
  title: "Workshop",
  description: null,
  amount: { kind: "open", minimum: usdMillis(1_000n), maximum: usdMillis(500_000n) },
  maximumPayments: null,
  expiresAt: null,
  isActive: true,
  createdAt: now,
  updatedAt: now,
  ...more
})

describe("an amount that a payor types", () => {
  it("is dollars and whole cents, with a point or a comma", () => {
    const cases: ReadonlyArray<readonly [string, bigint | null]> = [
      ["12", 12_000n],
      ["12.5", 12_500n],
      [" 12,50 ", 12_500n],
      ["$12.50", 12_500n],
      ["0.01", 10n],
      ["١٢٫٥٠", 12_500n],
      ["1000000", 1_000_000_000n],
      // A thousand to one reader, one to another.
      ["1,000", null],
      ["1.000", null],
      ["12.505", null],
      ["1e3", null],
      ["-5", null],
      ["0x10", null],
      ["12.", null],
      ["NaN", null],
      ["", null],
      ["99999999", null],
      ["12.5O", null]
    ]
    for (const [text, millis] of cases) assert.strictEqual(readTypedAmount(text), millis, text)
  })

  it("lies within the bounds of the link, and never changes a fixed one", () => {
    const cases: ReadonlyArray<readonly [string, bigint | null]> = [["1", 1_000n], ["500", 500_000n], ["0.99", null], [
      "500.01",
      null
    ]]
    for (const [text, millis] of cases) {
      assert.strictEqual(payableAmount(link(), text), millis, text)
    }
    const fixed = link({ amount: { kind: "fixed", amount: usdMillis(49_990n) } })
    for (const text of ["", "0.01", "49.99", "junk"]) assert.strictEqual(payableAmount(fixed, text), 49_990n)
  })

  it("can reach both bounds, because bounds are whole cents", () => {
    assert.isNull(boundsFault(10n, 1_000_000_000n))
    assert.strictEqual(boundsFault(15n, 1_000n)?.param, "minimum_amount")
    assert.strictEqual(boundsFault(10n, 1_005n)?.param, "maximum_amount")
    assert.strictEqual(boundsFault(0n, 1_000n)?.param, "minimum_amount")
    assert.strictEqual(boundsFault(10n, 1_000_000_010n)?.param, "maximum_amount")
    assert.strictEqual(boundsFault(2_000n, 1_000n)?.param, "minimum_amount")
  })
})

describe("a link", () => {
  const paid = (count: number, open = 0) => ({ ...noCounts, paid: count, open })

  it("can be paid while it is on, in time, and has a place", () => {
    assert.isNull(obstacleTo(link(), paid(1_000_000), now))
    assert.strictEqual(obstacleTo(link({ isActive: false }), noCounts, now), "inactive")
    assert.strictEqual(obstacleTo(link({ expiresAt: now }), noCounts, now), "expired")
    assert.isNull(obstacleTo(link({ expiresAt: now + 1 }), noCounts, now))
    const twice = link({ maximumPayments: 2 })
    assert.isNull(obstacleTo(twice, paid(1), now))
    assert.isNull(obstacleTo(twice, paid(0, 1), now))
    assert.strictEqual(obstacleTo(twice, paid(1, 1), now), "taken")
    assert.strictEqual(obstacleTo(twice, paid(2), now), "completed")
    assert.strictEqual(obstacleTo(link(), paid(0, maximumOpenInvoices), now), "taken")
  })

  it("is active to its merchant while open invoices keep its places", () => {
    assert.strictEqual(statusOf(link({ maximumPayments: 1 }), paid(0, 1), now), "active")
    assert.strictEqual(statusOf(link({ maximumPayments: 1 }), paid(1), now), "completed")
  })

  it("counts the invoices whose metadata names it, by their status, and nothing that only looks like it", () => {
    const invoice = (status: string, more: object = {}) => ({
      object: "invoice",
      id: "550e8400-e29b-41d4-a716-446655440000",
      invoice_type: "standard",
      status,
      amount: 5_000,
      amount_paid: status === "paid" ? 5_000 : 0,
      created_at: now,
      metadata: { payment_link: link().id },
      ...more
    })
    const rows = ["paid", "paid", "unpaid", "underpaid", "expired", "canceled"].flatMap((status) =>
      linkInvoices.contributions(invoice(status)).map(({ amountPaid, count, key }) => ({ amountPaid, count, key }))
    )
    assert.deepStrictEqual(countsByLink(rows).get(link().id), { paid: 2, open: 2, amountPaid: usdMillis(10_000n) })
    for (
      const more of [
        { metadata: {} },
        { metadata: { payment_link: "plink_1" } },
        { metadata: { payment_link: 7 } },
        { metadata: { payment_link: `${link().id}:paid` } },
        { invoice_type: "commerce" }
      ]
    ) assert.deepStrictEqual(linkInvoices.contributions(invoice("paid", more)), [])
  })
})

describe("a code", () => {
  it("has 80 random bits, and letters that nobody takes for one another", () => {
    const codes = Array.from({ length: 2_000 }, () => codeOf(randomBytes(codeLength)))
    assert.strictEqual(new Set(codes).size, codes.length)
    for (const code of codes) assert.isTrue(isCode(code), code)
    assert.strictEqual(new Set(codes.join("")).size, 32, "every letter of the alphabet appears")
    for (const text of ["", "short", `${codes[0]}0`, codes[0]!.toUpperCase().replace(/\d/g, "A"), "iiiiiiiiiiiiiiii"]) {
      assert.isFalse(isCode(text), text)
    }
  })

  it("is no more than a name of a browser, which is checked by its form", () => {
    assert.strictEqual(readVisit("AAAAAAAAAAAAAAAAAAAAAA"), "AAAAAAAAAAAAAAAAAAAAAA")
    for (const text of [null, undefined, "", "short", "A".repeat(23), "AAAAAAAAAAAAAAAAAAAAA;"]) {
      assert.isNull(readVisit(text))
    }
  })
})

describe("the words", () => {
  it("are there in every language of the payment page, each its own", () => {
    const all = languages.map(linkTextsOf)
    assert.strictEqual(new Set(all).size, languages.length)
    for (const [name, word] of Object.entries(all[0]!)) {
      if (typeof word !== "string") continue
      const inAll = all.map((texts) => texts[name as "pay"])
      assert.strictEqual(new Set(inAll).size, inAll.length, name)
    }
  })
})
