/** Goal: what the README shows and says of the payment page is what a reader finds. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { pick, visit } from "./Page.ts"
import { reachScreen } from "./Screens.ts"
import { PaymentPageService } from "./PaymentPageService.ts"

/** The README's picture. `WRITE_PICTURE=1 npm run test:browser -- readme` takes it anew. */
const picture = new URL("../../.readme/page.webp", import.meta.url).pathname

const mostBytes = 40 * 1_024

layer(PaymentPageService.layer, { excludeTestServices: true })("the README", (it) => {
  it.effect("shows the page as it is, small", () =>
    Effect.gen(function*() {
      const { url } = yield* reachScreen.waiting
      const { page } = yield* visit(url, { mobile: true, width: 390 })
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        const { height, width, x, y } = (await page.locator(".card").boundingBox())!
        const session = await page.context().newCDPSession(page)
        const clip = { x, y, width, height, scale: 1 }
        const { data } = await session.send("Page.captureScreenshot", {
          format: "webp",
          quality: 70,
          clip,
          captureBeyondViewport: true
        })
        if (process.env["WRITE_PICTURE"] !== undefined) writeFileSync(picture, data, "base64")
      })
      assert.isTrue(existsSync(picture))
      assert.isAtMost(statSync(picture).size, mostBytes)
    }).pipe(Effect.scoped))

  it.effect("says what to press", () =>
    Effect.gen(function*() {
      const { payableInvoice } = yield* PaymentPageService
      const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ")
      const pressed = [...(/Or be the customer:(.*?)!\[/.exec(text)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map((
        [, name]
      ) => name!)
      assert.deepStrictEqual(pressed, [en.proceedWith("USDC", "Base"), "Simulate payment", "Pay", "Payment complete"])
      const [proceed, drawer, pay, complete] = pressed as [string, string, string, string]
      const { page } = yield* visit((yield* payableInvoice()).url)
      yield* Effect.promise(async () => {
        await pick(page, "USDC", "Optimism")
        // Base is a network of its own here, which nobody simulates.
        await page.getByRole("button", { name: proceed.replace("Base", "Optimism"), exact: true }).click()
        await page.getByText(drawer).click()
        await page.getByRole("button", { name: pay, exact: true }).click()
        await page.getByRole("heading", { name: complete }).waitFor()
      })
    }).pipe(Effect.scoped))
})
