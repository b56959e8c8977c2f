/**
 * Goal: a payor pays by a payment link on any window, in any language, without a script; the first view is small; and
 * a camera reads the poster. Method: a browser and the service.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { brotliCompressSync } from "node:zlib"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { linkTextsOf } from "../../modules/links/pages/Texts.ts"
import { checkPage, decodeQr } from "./PageChecks.ts"
import { foreignRequests, visit } from "./Page.ts"
import { assertStatus, PaymentPageService } from "./PaymentPageService.ts"

const en = linkTextsOf({ locale: "en" })

/** What a whole first view may take over the wire, and this page has no script and no picture. */
const mostBytes = 14_336

/** A link of a new merchant: its page at the service. */
const makeLink = Effect.fnUntraced(function*(fields: object = {}) {
  const { merchant, service } = yield* PaymentPageService
  const key = yield* merchant({ branding: { name: "Blue Bottle Store", support_email: "help@shop.example" } })
  const call = (path: string, body: object, method = "POST") =>
    Effect.map(
      service().call(path, { method, headers: { "x-api-key": key, "idempotency-key": randomUUID() }, body }),
      (answer) => assertStatus(200, answer)
    )
  const { data } = yield* call("/api/v1/payment-links", { title: "Workshop", ...fields })
  const turnOff = call(`/api/v1/payment-links/${data.id}`, { active: false }, "PATCH")
  return { published: data.url, url: `${service().url}${new URL(data.url).pathname}`, turnOff }
})

layer(PaymentPageService.layer, { excludeTestServices: true })("a payment link", (it) => {
  it.effect("leads from its page to the payment page, without a script and in a small first view", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ amount_usd: 25, description: "Two hours, tea included" })
      const opened = yield* visit(link.url, { javaScript: false })
      const { complaints, page, requests } = opened
      yield* Effect.promise(async () => {
        assert.isBelow(brotliCompressSync(await page.content()).length, mostBytes)
        assert.lengthOf(requests.filter((url) => url.startsWith("http")), 1)
        await page.getByRole("heading", { name: "Workshop" }).waitFor()
        await page.getByRole("button", { name: en.pay }).click()
        await page.getByText("$25.00").first().waitFor()
        assert.match(page.url(), /\/pay\/[0-9a-f-]{36}/)
      })
      assert.deepStrictEqual(foreignRequests(opened, link.url), [])
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))

  it.effect("reads well on every window, in light and dark, in each language and state", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ minimum_amount: 1_000, maximum_amount: 500_000, expires_at: 4_102_444_800 })
      const { page } = yield* visit(link.url, { bypassCSP: true })
      yield* Effect.promise(async () => {
        for (const { locale } of languages) {
          await page.goto(`${link.url}?lang=${locale}`)
          await checkPage(page, `open ${locale}`)
        }
        await page.goto(`${link.url}?lang=de`)
        await page.getByRole("textbox").fill("1.000")
        await page.getByRole("button", { name: linkTextsOf({ locale: "de" }).pay }).click()
        await page.locator("[aria-invalid]").waitFor()
        await checkPage(page, "wrong amount")
      })
      yield* link.turnOff
      yield* Effect.promise(async () => {
        for (const locale of ["en", "ar"]) {
          await page.goto(`${link.url}?lang=${locale}`)
          await checkPage(page, `closed ${locale}`)
        }
        await page.goto(`${link.url.slice(0, -16)}${"0".repeat(16)}`)
        await checkPage(page, "no link")
      })
    }).pipe(Effect.scoped), 300_000)

  it.effect("has a poster that a camera reads, on paper of two sizes", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ amount_usd: 25 })
      const { complaints, page } = yield* visit(`${link.url}/poster`)
      yield* Effect.promise(async () => {
        assert.strictEqual(decodeQr(await page.locator("svg.qr").screenshot()), link.published)
        for (const size of ["a4", "a6"]) {
          await page.goto(`${link.url}/poster?size=${size}`)
          const paper = await page.pdf({ preferCSSPageSize: true })
          assert.lengthOf(paper.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [], 1, `one sheet of ${size}`)
        }
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))
})
