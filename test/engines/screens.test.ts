/**
 * Goal: every screen of the payment page is whole in Firefox and in WebKit: on a narrow phone and a desk, light and
 * dark, from left to right and from right to left.
 * Method: each screen is reached by what happens to a real invoice; the engine's layout says what is cut or outside.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Screen } from "../../modules/checkout/rules.ts"
import { reachScreen } from "../browser/Screens.ts"
import { PaymentPageService } from "../browser/PaymentPageService.ts"
import { until } from "../support/Service.ts"
import type { Tab } from "./Engine.ts"
import { choose, engines, type EngineView, openView, screenOf, waitForScreen } from "./Engines.ts"

declare const document: any
declare const getComputedStyle: any
declare const location: any
declare const matchMedia: any

const screens = Object.keys(reachScreen) as ReadonlyArray<Screen>
const languages = [["en", "ltr"], ["ar", "rtl"]] as const
/** A desk, a phone, and the narrowest that is promised. */
const widths = [1280, 390, 320] as const

/** What is wrong with how the page lies in its window; each fault names the element. */
const faults = (tab: Tab): Promise<ReadonlyArray<string>> =>
  tab.run(() => {
    const root = document.documentElement
    const found: Array<string> = []
    const tooWide = root.scrollWidth - root.clientWidth
    if (tooWide > 0) found.push(`the page is ${tooWide} px too wide`)
    /** Rounding, in pixels. */
    const slack = 1
    for (const part of document.querySelectorAll(".card, .foot")) {
      const frame = part.getBoundingClientRect()
      for (const one of part.querySelectorAll("*")) {
        const isLeftOut = one.closest(".visually-hidden, svg, option") !== null
        if (isLeftOut || !one.checkVisibility({ visibilityProperty: true })) continue
        const name = `${one.localName}.${one.className} "${one.textContent.slice(0, 40)}"`
        const rect = one.getBoundingClientRect()
        if (rect.left < frame.left - slack || rect.right > frame.right + slack) {
          found.push(`${name} is outside the card`)
        }
        let parent = one.parentElement
        while (getComputedStyle(parent).display === "contents") parent = parent.parentElement
        const around = getComputedStyle(parent)
        const edge = Number.parseFloat(around.paddingBottom) + Number.parseFloat(around.borderBottomWidth)
        const { display, fontSize, marginBottom, overflowY } = getComputedStyle(one)
        const below = rect.bottom + Math.min(0, Number.parseFloat(marginBottom)) -
          (parent.getBoundingClientRect().bottom - edge)
        if (display !== "inline" && display !== "contents" && around.display !== "inline" && below > slack) {
          found.push(`${name} hangs ${Math.round(below)} px below its box`)
        }
        // The space at the end of a line may hang out of a box.
        if (display !== "inline" && one.scrollWidth > one.clientWidth + Number.parseFloat(fontSize) / 2) {
          found.push(`${name} needs ${one.scrollWidth} px of ${one.clientWidth}`)
        }
        if (overflowY === "hidden" && one.scrollHeight > one.clientHeight + slack) found.push(`${name} is cut`)
      }
    }
    return found
  })

/** The clean address of a page in a screen. */
const openScreen = Effect.fnUntraced(function*(seen: EngineView, screen: Screen, url: string) {
  const { door, tab } = seen
  // Who listens has the price renewed in time: an ended one is seen by those who cannot listen.
  door.set({ hasSockets: screen !== "quote_ended" })
  yield* Effect.promise(() => tab.open(url))
  if (screen === "no_price") yield* choose(seen, "weth")
  yield* waitForScreen(seen, screen)
  return yield* Effect.promise(() => tab.run(() => location.href as string))
})

layer(PaymentPageService.layer, { excludeTestServices: true, timeout: "90 seconds" })("the payment page", (it) => {
  for (const engine of engines()) {
    for (const theme of ["light", "dark"] as const) {
      it.effect(`${engine.name}: no screen is cut or too wide, and none complains (${theme})`, () =>
        Effect.gen(function*() {
          const seen = yield* openView(engine, { theme })
          const { door, tab } = seen
          const wrong: Array<string> = []
          for (const screen of screens) {
            const address = new URL(yield* openScreen(seen, screen, (yield* reachScreen[screen]).url))
            for (const [language, direction] of languages) {
              address.searchParams.set("lang", language)
              yield* Effect.promise(() => tab.open(address.href))
              for (const width of widths) {
                yield* Effect.promise(() => tab.resize(width, 900))
                const where = `${screen} ${language} ${width}`
                wrong.push(...(yield* Effect.promise(() => faults(tab))).map((fault) => `${where}: ${fault}`))
                const seenAs = yield* Effect.promise(() =>
                  tab.run(() => [
                    document.documentElement.dir,
                    document.documentElement.lang,
                    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
                  ])
                )
                assert.deepStrictEqual(seenAs, [direction, language, theme], where)
                assert.strictEqual(yield* Effect.promise(() => screenOf(tab)), screen, where)
              }
            }
            wrong.push(...door.complaints.splice(0).map((complaint) => `${screen}: ${complaint}`))
          }
          assert.deepStrictEqual(wrong, [])
          assert.deepStrictEqual(door.foreign(), [])
        }).pipe(Effect.scoped))
    }

    it.effect(`${engine.name}: these checks fail where something is cut, breaks the policy, or asks another`, () =>
      Effect.gen(function*() {
        const { url } = yield* reachScreen.waiting
        const seen = yield* openView(engine)
        const { door, tab } = seen
        yield* Effect.promise(async () => {
          await tab.resize(320, 900)
          await tab.open(url)
          assert.deepStrictEqual(await faults(tab), [])
          await tab.run(() => {
            const [button, field, note] = ["main", "field", "note"].map((name) =>
              document.querySelector(`#state .${name}`)
            )
            button.style.width = "400px"
            field.style.height = "20px"
            note.style.height = "10px"
            note.style.overflow = "hidden"
            const picture = document.createElement("img")
            picture.src = "http://elsewhere.invalid/pixel.png"
            document.body.append(picture)
            document.body.setAttribute("style", "color:red")
          })
          const found = await faults(tab)
          assert.isTrue(found.some((fault) => fault.includes("is outside the card")), found.join())
          assert.isTrue(found.some((fault) => fault.includes("below its box")), found.join())
          assert.isTrue(found.some((fault) => fault.endsWith("is cut")), found.join())
        })
        for (const breach of ["img-src", "style-src"]) {
          yield* until(`${breach} is told`, Effect.sync(() => door.complaints.join()), (told) => told.includes(breach))
        }
        yield* Effect.promise(() => tab.open("http://elsewhere.invalid/").catch(() => undefined))
        assert.include(door.foreign(), "http://elsewhere.invalid/")
      }).pipe(Effect.scoped))
  }
})
