/** What a page is judged by: axe, its width, the size of what is pressed, and the QR code as a camera reads it. */
import { source } from "axe-core"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import { PNG } from "pngjs"

/** Its default export is the module itself, whatever its types say. */
const jsQR: typeof import("jsqr").default = createRequire(import.meta.url)("jsqr")

declare const axe: any
declare const document: any
declare const getComputedStyle: any

/** The smallest side of a target, in CSS pixels (WCAG 2.2, 2.5.8). */
const smallestTarget = 24

/** Axe's violations, and what it could not decide, as `<rule>: <elements>`. The page's policy must be bypassed. */
export const axeFinds = async (page: Page): Promise<ReadonlyArray<string>> => {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(source)
  return page.evaluate(async () => {
    const { incomplete, violations } = await axe.run(document, {
      resultTypes: ["violations", "incomplete"],
      rules: { "target-size": { enabled: true } }
    })
    return [...violations, ...incomplete].map(({ id, nodes }: any) =>
      `${id}: ${nodes.map(({ any, html }: any) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`)
  })
}

/** How many CSS pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Visible controls and links that are too small to press. A choice is pressed by its label. */
export const smallTargets = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate((least) =>
    [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
      .filter((one) => one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .map((one) => (one.type === "radio" || one.type === "checkbox" ? one.closest("label") : null) ?? one)
      .filter((one) => {
        const { height, width } = one.getBoundingClientRect()
        return getComputedStyle(one).clipPath === "none" && (height < least || width < least)
      })
      .map((one) => one.outerHTML.slice(0, 160)), smallestTarget)

/** What a camera reads from the page's QR code; null where it reads nothing. */
export const readQr = async (page: Page): Promise<string | null> => {
  const shot = PNG.sync.read(await page.locator("#state svg[role=img]").screenshot())
  return jsQR(new Uint8ClampedArray(shot.data), shot.width, shot.height)?.data ?? null
}
