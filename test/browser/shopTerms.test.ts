/**
 * Goal: a payor of a shop reads its price at every width and in both directions, and is led back by a page that waits
 * for who stops it. Method: pages of made views in a browser with their script, and a clock of the test.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { View } from "../../modules/checkout/rules.ts"
import { ar } from "../../modules/checkout/pages/texts/ar.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { page as draw } from "../../modules/checkout/pages.ts"
import { views } from "../fixtures/paymentViews.ts"
import { assets, showDocument, showView } from "./RenderedViews.ts"
import { checkPage } from "./PageChecks.ts"
import { openContext, openPage } from "./Page.ts"

declare const document: any

/** With English on one and Arabic on the other, every pair of theme, width and direction has been seen. */
const both = [
  [en, [{ theme: "light", width: 320 }, { theme: "dark", width: 1280 }]],
  [ar, [{ theme: "light", width: 1280 }, { theme: "dark", width: 320 }]]
] as const

const shop = "https://shop.example/done?invoice_id=1&status=paid"

const returning: View = { ...views.paid, returnUrl: shop, returnsAutomatically: true }

/** The page of what was paid a moment ago, and a shop beside it. */
const openPaid = Effect.gen(function*() {
  const { page } = yield* openPage(yield* openContext({ width: 390, mobile: true }))
  yield* Effect.promise(async () => {
    await page.clock.install()
    // From now on only the test lets time pass.
    await page.clock.pauseAt(Date.now() + 1_000)
    await showView(page, returning, en)
    await page.route(
      "https://shop.example/**",
      (route) => route.fulfill({ contentType: "text/html", body: "<title>thanks</title>" })
    )
  })
  return page
})

const clockOf = (page: Page) => page.locator("[data-return] time").textContent()

describe("the page of a shop's payor", () => {
  it.live("leads back to the shop by itself after twenty seconds, and once only", () =>
    Effect.gen(function*() {
      const page = yield* openPaid
      yield* Effect.promise(async () => {
        await page.clock.runFor(100)
        assert.strictEqual(
          await page.locator("#live").textContent(),
          "You return to Blue Bottle Store in 20 seconds. To stay, press: Stay on this page."
        )
        await page.clock.runFor(5_000)
        assert.strictEqual(await clockOf(page), "0:15")
        const left = page.waitForURL(shop)
        await page.clock.runFor(15_000)
        await left
        await showView(page, returning, en)
        assert.isFalse(await page.locator("[data-return]").isVisible())
        await page.clock.runFor(60_000)
        assert.notInclude(page.url(), "shop.example")
      })
    }).pipe(Effect.scoped))

  it.live("stays for who presses so, with the focus on what was read, and lets the link lead back", () =>
    Effect.gen(function*() {
      const page = yield* openPaid
      yield* Effect.promise(async () => {
        await page.clock.runFor(3_000)
        await page.getByRole("button", { name: "Stay on this page" }).press("Enter")
        assert.isFalse(await page.locator("[data-return]").isVisible())
        assert.strictEqual(await page.evaluate(() => document.activeElement.tagName), "H1")
        await page.clock.runFor(60_000)
        assert.notInclude(page.url(), "shop.example")
        await page.getByRole("link", { name: "Return to Blue Bottle Store" }).click()
        await page.waitForURL(shop)
      })
    }).pipe(Effect.scoped))

  it.live("has room for both prices and the clock, and every contrast, name and target that people need", () =>
    Effect.gen(function*() {
      const shopPrice = {
        currency: "EUR",
        amount: "922337.5",
        digits: 2,
        rate: { numerator: 111n, denominator: 100n }
      }
      const { page } = yield* openPage(yield* openContext({ bypassCSP: true }))
      yield* Effect.promise(async () => {
        await page.emulateMedia({ reducedMotion: "reduce" })
        for (const [texts, ways] of both) {
          for (const view of [views.partial, returning]) {
            const drawn = draw({ ...view, shopPrice, socketUrl: null }, texts, assets)
            // Axe may take longer than the page waits.
            await showDocument(page, drawn.replace("data-return=\"20\"", "data-return=\"9999\""))
            await checkPage(page, `${texts.locale} ${view.screen}`, ways)
          }
        }
      })
    }).pipe(Effect.scoped))
})
