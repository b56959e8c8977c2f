/**
 * Goal: every screen of the payment page can be read and used by anyone: light and dark, on a narrow phone and a desk,
 * from left to right and from right to left.
 * Method: each screen is reached by what happens to a real invoice, and judged by axe in a real browser.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { Screen } from "../../modules/checkout/rules.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { axeViolations, checkPage, overflow, smallTargets } from "./PageChecks.ts"
import { foreignRequests, openContext, openPage, proceedWith, visit, type Visitor } from "./Page.ts"
import { reachScreen } from "./Screens.ts"
import { PaymentPageService } from "./PaymentPageService.ts"

declare const document: any

const languages = [["en", "ltr"], ["ar", "rtl"]] as const

/** Axe names missing labels by what lacks them. */
const labelRules = ["label", "button-name", "link-name", "select-name", "role-img-alt", "svg-img-alt"]

/** A visitor's context. Who listens has the price renewed in time: an ended one is seen by those who cannot listen. */
const watched = (screen: Screen, visitor: Visitor = {}) =>
  Effect.tap(
    openContext(visitor),
    (context) =>
      screen === "quote_ended" ? Effect.promise(() => context.routeWebSocket(/payment/, () => undefined)) : Effect.void
  )

/** Holds a page against axe, its width and the size of its controls: in each language's direction, theme and width. */
const judgeAll = async (page: Page, url: string, what: string): Promise<void> => {
  for (const [language, direction] of languages) {
    const address = new URL(url)
    address.searchParams.set("lang", language)
    await page.goto(address.href)
    assert.strictEqual(await page.getAttribute("html", "dir"), direction)
    assert.strictEqual(await page.getAttribute("html", "lang"), language)
    // The banner of a lost connection belongs to every page that is followed.
    await page.evaluate(() => document.getElementById("offline")?.removeAttribute("hidden"))
    await checkPage(page, `${what} ${language}`)
  }
}

layer(PaymentPageService.layer, { excludeTestServices: true })("the payment page", (it) => {
  for (const screen of Object.keys(reachScreen) as ReadonlyArray<Screen>) {
    it.effect(`${screen}: has nothing that axe, a narrow phone or a thumb complains of, in any theme and direction`, () =>
      Effect.gen(function*() {
        const { url } = yield* reachScreen[screen]
        const plain = yield* openPage(yield* watched(screen))
        yield* Effect.promise(async () => {
          await plain.page.goto(url)
          if (screen === "no_price") {
            await proceedWith(plain.page, "WETH", "Base")
          }
          await plain.page.waitForLoadState("networkidle")
        })
        assert.strictEqual(yield* Effect.promise(() => plain.page.getAttribute("[data-screen]", "data-screen")), screen)
        assert.deepStrictEqual(plain.complaints, [])
        assert.deepStrictEqual(foreignRequests(plain, url), [])
        const { page } = yield* openPage(yield* watched(screen, { bypassCSP: true }))
        yield* Effect.promise(async () => {
          await page.emulateMedia({ reducedMotion: "reduce" })
          await page.goto(url)
          await judgeAll(page, plain.page.url(), screen)
        })
      }).pipe(Effect.scoped))
  }

  it.effect("what is no screen passes the same checks: a link that opens nothing, and the answers to a refund address", () =>
    Effect.gen(function*() {
      const { url } = yield* reachScreen.overpaid
      const { page } = yield* visit(url, { bypassCSP: true })
      yield* Effect.promise(async () => {
        await page.emulateMedia({ reducedMotion: "reduce" })
        const clean = page.url()
        for (const [answer, words] of [["saved", en.refundSaved], ["refused", en.refundWrong("Base")]] as const) {
          const address = new URL(clean)
          address.search = `?${new URLSearchParams({ refund: answer, lang: "en" })}`
          await page.goto(address.href)
          assert.include(await page.textContent("#state"), words)
          await judgeAll(page, address.href, `refund ${answer}`)
        }
        await judgeAll(page, clean.replace(/[^/]*$/, "01a200ff-5eb4-7000-b933-71b37bf57ac5"), "no session")
        assert.include(["session_ended", "ended"], await page.getAttribute("[data-screen]", "data-screen"))
      })
    }).pipe(Effect.scoped))

  it.effect("these checks fail where labels are gone, contrast is weak, lines are long and buttons are small", () =>
    Effect.gen(function*() {
      const { url } = yield* reachScreen.waiting
      const { page } = yield* visit(url, { bypassCSP: true })
      yield* Effect.promise(async () => {
        await page.evaluate(() => {
          for (const name of ["aria-label", "aria-labelledby"]) {
            for (const one of document.querySelectorAll(`[${name}]`)) one.removeAttribute(name)
          }
          for (const one of document.querySelectorAll("label")) one.replaceWith(...one.children)
          const style = document.createElement("style")
          style.textContent =
            "* { color: #aaa !important; background: #bbb !important } button { block-size: 12px !important;" +
            " min-block-size: 0 !important } body { min-inline-size: 2000px }"
          document.head.append(style)
        })
        const found = (await axeViolations(page)).map((each) => each.split(":")[0])
        assert.include(found, "color-contrast")
        assert.isTrue(found.some((id) => labelRules.includes(id ?? "")), found.join())
        assert.isAbove(await overflow(page), 0)
        assert.notDeepEqual(await smallTargets(page), [])
      })
    }).pipe(Effect.scoped))
})
