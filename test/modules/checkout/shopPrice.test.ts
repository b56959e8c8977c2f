/**
 * Goal: a payor of a shop with another currency reads the shop's price first and dollars beside it, and never takes
 * either for what is to be sent. Method: the pages of the fixtures as text, in every language.
 */
import { assert, describe, it } from "@effect/vitest"
import { isReturnDue, type ReceiptView, type View } from "../../../modules/checkout/rules.ts"
import { fragment, page, type Texts } from "../../../modules/checkout/pages.ts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { stateTag } from "../../../modules/checkout/pages/PageRequest.ts"
import { receiptPage } from "../../../modules/checkout/pages/ReceiptPage.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { currencyAmount } from "../../../runtime/pages/Amounts.ts"
import { addressFor, detailsOf, paymentOf, viewOf, views } from "../../fixtures/paymentViews.ts"

const assets = { script: "/assets/pay.js", style: { css: "" }, languages }

/** 25 dollars. */
const euros: NonNullable<View["shopPrice"]> = {
  currency: "EUR",
  amount: "22.5",
  digits: 2,
  rate: { numerator: 111n, denominator: 100n }
}

const textOf = (markup: string) =>
  markup.replaceAll(/<style>.*?<\/style>/gs, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/&#39;/g, "'")
    .replaceAll(/[\u2068\u2069]/g, "").replaceAll(/\s+/g, " ")

const screenText = (view: View, texts: Texts = en) => textOf(fragment(view, texts))
const priced = (view: View): View => ({ ...view, shopPrice: euros })

describe("a price in the currency of a shop", () => {
  it("comes first in every language, with dollars beside it and words for who cannot see that", () => {
    for (const texts of languages) {
      const shop = currencyAmount(texts.locale, "EUR", "22.5", 2)
      const drawn = page(priced(views.waiting), texts, assets)
      assert.include(drawn, `<bdi>${shop}</bdi>`)
      const due = textOf(/<p class="due">.*?<\/p>/s.exec(drawn)![0])
      assert.isTrue(due.indexOf(texts.inDollars) > due.indexOf("22"), due)
      assert.match(due.slice(due.indexOf(texts.inDollars)), /25[.,]00/)
      assert.notInclude(page(views.waiting, texts, assets), texts.inDollars)
    }
  })

  it("is never beside what is to be sent: that is an amount of the token alone", () => {
    for (const screen of ["waiting", "partial"] as const) {
      const fields = /<div class="fields">.*?<\/div>/s.exec(fragment(priced(views[screen]), en))![0]
      assert.include(fields, "USDC")
      assert.notInclude(fields, "€")
      assert.notInclude(/<h1.*?<\/h1>/s.exec(fragment(priced(views[screen]), en))![0], "€")
    }
  })

  it("of a part payment is told down for what came, and up for what is left", () => {
    const details = detailsOf("underpaid", 10_000, [paymentOf("underpaid", 10_000)])
    const choosing = priced(viewOf({ details, address: null }))
    assert.include(screenText(choosing), "We received €9.00 ($10.00). Send the remaining €13.52 ($15.00)")
    const sending = priced(viewOf({ details, address: addressFor("15.000000") }))
    assert.include(
      screenText(sending),
      "We received €9.00 ($10.00). Send the remaining 15.00 USDC to the same address."
    )
  })

  it("stands on the end of a payment: the whole as the shop asked for it, what was too much rounded down", () => {
    const paid = screenText(priced(views.paid))
    assert.include(paid, "Total €22.50 ($25.00)")
    assert.include(paid, "Received €22.50 ($25.00)")
    const { details } = views.overpaid
    const extra = ((details.amount_paid - details.amount) / 1_000).toFixed(2)
    assert.match(screenText(priced(views.overpaid)), new RegExp(`Paid, with €[0-9.]+ \\(\\$${extra}\\) extra`))
    assert.include(screenText(priced(views.late)), "We received €22.50 ($25.00) after the deadline")
  })

  it("stands on the receipt, beside each payment and as its total", () => {
    const details = detailsOf("paid", 25_000, [paymentOf("confirmed", 15_000), paymentOf("underpaid", 10_000)])
    const view: ReceiptView = {
      details,
      shopPrice: euros,
      decisions: [],
      lines: details.payments.map((payment) => ({ payment, symbol: "USDC", address: null }))
    }
    const text = textOf(receiptPage(view, en, { path: "/pay/1/receipt", token: "t" }, assets))
    assert.include(text, "15.00 USDC (€13.51 ($15.00))")
    assert.include(text, "Total €22.50 ($25.00)")
  })

  it("is written with the digits of its currency, and with every digit that the shop asked for", () => {
    assert.strictEqual(currencyAmount("en", "JPY", "1000", 0), "¥1,000")
    assert.strictEqual(currencyAmount("en", "KWD", "7.5", 3), "KWD\u00A07.500")
    assert.strictEqual(currencyAmount("de", "EUR", "1234.5", 2), "1.234,50\u00A0€")
    assert.strictEqual(currencyAmount("en", "EUR", "0.0001", 2), "€0.0001")
  })

  it("changes the name of a fragment, which has a rate without a number of JSON", () => {
    assert.notStrictEqual(stateTag(priced(views.paid), "en"), stateTag(views.paid, "en"))
  })
})

describe("the payor of a shop", () => {
  it("reads which way is closed where none of the currencies that the shop offers can be used", () => {
    const none: View = { ...views.choose, tokens: [] }
    assert.include(screenText(none), "There is no way to pay right now. Please")
    assert.include(screenText({ ...none, isOfferLimited: true }), "none of the currencies that this shop takes")
  })

  it("is asked for no refund address where the session may not say it, and reads whom to ask", () => {
    for (const screen of ["overpaid", "late", "expired_partial", "rejected"] as const) {
      assert.include(fragment(views[screen], en), "name=\"address\"", screen)
      const viewing: View = { ...views[screen], canSetRefundAddress: false }
      assert.notInclude(fragment(viewing, en), "name=\"address\"", screen)
      assert.match(screenText(viewing), /Ask Blue Bottle Store|Contact Blue Bottle Store/, screen)
    }
  })

  const returning: View = {
    ...views.paid,
    returnUrl: "https://shop.example/done?invoice_id=1&status=paid",
    returnsAutomatically: true
  }

  it("is led back with a clock, a button that stops it, and the same in words that are spoken", () => {
    for (const texts of languages) {
      const drawn = fragment(returning, texts)
      assert.match(drawn, /data-return="20"[^>]* hidden>/)
      assert.include(drawn, `<button type="button">${texts.stayHere}</button>`)
      const spoken = /data-say="([^"]*)"/.exec(drawn)![1]!
      assert.include(spoken, "20")
      assert.include(spoken.replaceAll(/&#39;/g, "'"), texts.stayHere)
    }
    assert.notInclude(fragment({ ...returning, returnsAutomatically: false }, en), "data-return")
    assert.notInclude(fragment({ ...returning, returnUrl: null }, en), "data-return")
  })

  it("is led back only from what is paid, in the ten minutes after, where the shop asked for it", () => {
    assert.isTrue(isReturnDue("paid", { paidAt: 100 }, true, 699))
    assert.isFalse(isReturnDue("paid", { paidAt: 100 }, true, 700))
    assert.isFalse(isReturnDue("paid", { paidAt: 100 }, false, 100))
    assert.isFalse(isReturnDue("overpaid", { paidAt: 100 }, true, 100))
    assert.isFalse(isReturnDue("paid", { paidAt: null }, true, 100))
  })
})
