/** What a page is judged by: axe, its width, the size of what is pressed, and the QR code as a camera reads it. */
import { assert } from "@effect/vitest"
import { source } from "axe-core"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import { PNG } from "pngjs"

/** Its default export is the module itself, whatever its types say. */
const jsQR: typeof import("jsqr").default = createRequire(import.meta.url)("jsqr")

declare const axe: any
declare const document: any
declare const getComputedStyle: any
declare const innerWidth: any
declare const scrollTo: any
declare const NodeFilter: any
declare const MutationObserver: any

/** The smallest side of a target, in CSS pixels (WCAG 2.2, 2.5.8). */
const smallestTarget = 24

/** Axe's violations, and what it could not decide, as `<rule>: <elements>`. The page's policy must be bypassed. */
export const axeViolations = async (page: Page): Promise<ReadonlyArray<string>> => {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(source)
  return page.evaluate(async () => {
    // A screen that news replaced while axe read it is read again.
    let replaced = false
    const state = document.getElementById("state")
    const observer = new MutationObserver(() => {
      replaced = true
    })
    if (state !== null) observer.observe(state, { childList: true })
    let found
    do {
      replaced = false
      // It cannot tell what is behind a badge's letters; their contrast is tested where badges are made.
      found = await axe.run({ include: [document], exclude: [".coin"] }, {
        resultTypes: ["violations", "incomplete"],
        rules: { "target-size": { enabled: true } }
      })
    } while (replaced)
    observer.disconnect()
    const { incomplete, violations } = found
    return [...violations, ...incomplete].map(({ id, nodes }: any) =>
      `${id}: ${nodes.map(({ any, html }: any) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`
    )
  })
}

/** How many CSS pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Visible controls and links that are too small to press. A choice is pressed by its label. */
export const smallTargets = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate((least) =>
    [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
      .filter((one) =>
        one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      )
      .map((one) => (one.type === "radio" || one.type === "checkbox" ? one.closest("label") : null) ?? one)
      .filter((one) => {
        const { height, width } = one.getBoundingClientRect()
        return getComputedStyle(one).clipPath === "none" && (height < least || width < least)
      })
      .map((one) => one.outerHTML.slice(0, 160)), smallestTarget)

/** Words of the page that are cut off: by the window's sides, or by a box that hides what does not fit. */
export const cutWords = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const found: Array<string> = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
      const parent = text.parentElement
      if (text.data.trim() === "" || !parent.checkVisibility()) continue
      if (parent.closest("option, noscript, .visually-hidden")) continue
      const range = document.createRange()
      range.selectNodeContents(text)
      const box = range.getBoundingClientRect()
      const isCut = (left: number, right: number) => box.left < left - 1 || box.right > right + 1
      for (let around = parent; around !== null; around = around.parentElement) {
        const { bottom, left, right, top } = around.getBoundingClientRect()
        // What hangs over the window itself can be scrolled to, but for its sides.
        const hides = getComputedStyle(around).overflow !== "visible" && !around.matches("html, body")
        if (hides && (isCut(left, right) || box.top < top - 1 || box.bottom > bottom + 1)) found.push(text.data)
      }
      if (isCut(0, innerWidth)) found.push(text.data)
    }
    return found
  })

/** How a page is looked at. */
export interface Appearance {
  readonly theme: "light" | "dark"
  /** CSS pixels. */
  readonly width: number
}

/** Every pair of a theme and a width. */
export const appearances: ReadonlyArray<Appearance> = [1280, 320].flatMap((width) =>
  (["light", "dark"] as const).map((theme) => ({ theme, width }))
)

/** Holds an open page against axe, its width and the size of its controls; `what` names it in a failure. */
export const checkPage = async (
  page: Page,
  what: string,
  ways: ReadonlyArray<Appearance> = appearances
): Promise<void> => {
  for (const { theme, width } of ways) {
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 900 })
    // On the way down, "Continue" lies above the list: axe would tell nothing of what is under it.
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    const where = `${what} ${theme} ${width}`
    assert.deepStrictEqual(await axeViolations(page), [], where)
    assert.isAtMost(await overflow(page), 0, `${where} scrolls sideways`)
    assert.deepStrictEqual(await smallTargets(page), [], where)
    assert.deepStrictEqual(await cutWords(page), [], `${where} cuts words off`)
  }
}

/** What a camera reads from a picture, a PNG, with a QR code in it; null where it reads nothing. */
export const decodeQr = (picture: Buffer): string | null => {
  const { data, height, width } = PNG.sync.read(picture)
  return jsQR(new Uint8ClampedArray(data), width, height)?.data ?? null
}

/** What a camera reads from the page's QR code; null where it reads nothing. */
export const readQr = async (page: Page): Promise<string | null> => {
  const code = page.locator("#state svg[role=img]")
  // A phone has it folded.
  if (!await code.isVisible()) await page.locator("#scan summary").click()
  return decodeQr(await code.screenshot())
}
