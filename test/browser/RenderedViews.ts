/** Pages of made views, drawn by the page itself and shown by a browser with their script, without a service. */
import type { Page } from "playwright-core"
import type { View } from "../../modules/checkout/rules.ts"
import { css, page as draw, type Texts } from "../../modules/checkout/pages.ts"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { buildIsland } from "../../modules/checkout/build.ts"

const script = buildIsland()

/** What a page is sent with. */
export const assets = { script: "/assets/pay.js", style: { css }, languages }

/** No request leaves the browser: the test answers them all. */
const origin = "https://pay.example"

/** Shows a document. Its state is never news. */
export const showDocument = async (page: Page, markup: string): Promise<void> => {
  await page.unrouteAll()
  await page.route(`${origin}/**`, (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname === assets.script) return route.fulfill({ contentType: "text/javascript", body: script })
    return pathname.endsWith("/state")
      ? route.fulfill({ status: 304, headers: { date: new Date().toUTCString() } })
      : route.fulfill({ contentType: "text/html; charset=utf-8", body: markup })
  })
  await page.goto(`${origin}/pay/1`)
}

/** Shows the page of a view that follows nothing. */
export const showView = (page: Page, view: View, texts: Texts): Promise<void> =>
  showDocument(page, draw({ ...view, socketUrl: null }, texts, assets))
