/**
 * Goal: a narrow phone cuts no word of the payment page, whatever the language.
 * Method: every screen in every language, drawn from a view, measured in a real browser 320 CSS pixels wide.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { css, page } from "../../modules/checkout/pages.ts"
import { views } from "../fixtures/paymentViews.ts"
import { openContext, openPage } from "./Page.ts"

declare const document: any

const assets = { script: "/assets/pay.js", style: { css }, languages }

/**
 * What a reader sees cut: all that is wider than its place, or ends beyond the card. The banner is brought out first.
 */
const cut = (): ReadonlyArray<string> => {
  document.getElementById("offline").hidden = false
  const card = document.querySelector(".card").getBoundingClientRect()
  return [...document.querySelectorAll(".card *, .foot *")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect()
    if (width === 0 || one.closest(".visually-hidden, select")) return false
    const isWide = one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1
    return isWide || left < card.left - 1 || right > card.right + 1
  }).map((one) => one.outerHTML.slice(0, 120))
}

describe("on a narrow phone", () => {
  it.effect("no screen in any language has a word that is cut", () =>
    Effect.gen(function*() {
      const opened = yield* openPage(yield* openContext({ width: 320, bypassCSP: true }))
      yield* Effect.promise(async () => {
        for (const texts of languages) {
          for (const [screen, view] of Object.entries(views)) {
            await opened.page.setContent(page(view, texts, assets))
            assert.deepStrictEqual(await opened.page.evaluate(cut), [], `${screen} ${texts.locale}`)
          }
        }
      })
    }).pipe(Effect.scoped))
})
