/**
 * Goal: a payor opens the link of a refund, says once where it goes, and finds out what became of it: with and without
 * a script, by keyboard, on any window, in any language; and the link's token goes nowhere but into the form.
 * Method: a browser, the service, an EVM node; screens that only time brings are rendered from views.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { claimPage } from "../../modules/checkout/pages/ClaimPage.ts"
import { languages } from "../../modules/checkout/pages/Languages.ts"
import { ar } from "../../modules/checkout/pages/texts/ar.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { css } from "../../modules/checkout/pages.ts"
import { claimViews } from "../fixtures/claimViews.ts"
import { checkPage } from "./PageChecks.ts"
import { foreignRequests, openContext, openPage, visit, type Visitor } from "./Page.ts"
import { assertStatus, type PayableInvoice, PaymentPageService } from "./PaymentPageService.ts"
import { reachScreen } from "./Screens.ts"

declare const document: any
declare const getComputedStyle: any

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const otherWallet = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"

const api = Effect.fnUntraced(function*(key: string, path: string, body?: object) {
  const { service } = yield* PaymentPageService
  const headers = { "x-api-key": key, "idempotency-key": randomUUID() }
  return assertStatus(200, yield* service().call(path, body === undefined ? { headers } : { headers, body }))
})

/** A refund with the link that its answer shows. */
const linked = Effect.fnUntraced(function*(key: string, refund: { readonly id: string; readonly claim_url: string }) {
  const { service } = yield* PaymentPageService
  const token = refund.claim_url.split("#t=")[1]!
  service().guard(token)
  const { pathname, search } = new URL(refund.claim_url)
  return { id: refund.id, key, token, url: `${service().url}${pathname}${search}#t=${token}` }
})

/** A refund of what was paid, and its link. */
const refundOf = (invoice: PayableInvoice, fields: object = {}) =>
  Effect.gen(function*() {
    const { data } = yield* api(invoice.key, "/api/v1/refunds", {
      invoice_id: invoice.id,
      amount_mode: "full",
      reason: "requested_by_customer",
      fee_bearer: "merchant",
      destination: "claim",
      ...fields
    })
    return yield* linked(invoice.key, data)
  })

const waiting = Effect.flatMap(reachScreen.paid, (invoice) => refundOf(invoice))

const read = ({ id, key }: { readonly id: string; readonly key: string }) =>
  Effect.map(api(key, `/api/v1/refunds/${id}`), ({ data }) => data)

const headingOf = (texts: { readonly claimAddressTitle: string }) => ({ name: texts.claimAddressTitle })

layer(PaymentPageService.layer, { excludeTestServices: true })("the claim page", (it) => {
  it.effect("leads from the link to a fixed address, back from the second look, and shows it after a reload", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const opened = yield* visit("about:blank")
      const { complaints, page, requests } = opened
      yield* Effect.promise(async () => {
        await page.goto(one.url)
        await page.getByRole("heading", headingOf(en)).waitFor()
        const address = page.getByLabel(en.refundAddress("Base"))
        await address.fill("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed")
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByText(en.claimWrongAddress("Base")).waitFor()
        assert.isTrue(await address.evaluate((field: any) => field === document.activeElement))
        await address.fill(wallet.toLowerCase())
        await address.press("Enter")
        await page.getByRole("heading", { name: en.claimCheckTitle }).waitFor()
        assert.isTrue(await page.locator("h1").evaluate((field: any) => field === document.activeElement))
        assert.include((await page.locator(".value").allTextContents()).join(), wallet)
        // "Back" leads to the field as it was left, and not away.
        await page.goBack()
        await page.getByRole("heading", headingOf(en)).waitFor()
        assert.strictEqual(await address.inputValue(), wallet)
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("button", { name: en.claimEdit }).click()
        await page.getByRole("heading", headingOf(en)).waitFor()
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("button", { name: en.claimConfirm }).dblclick()
        await page.getByRole("heading", { name: en.claimApprovalTitle }).waitFor()
        await page.reload()
        await page.getByRole("heading", { name: en.claimApprovalTitle }).waitFor()
        await page.goBack()
        await page.getByRole("heading", { name: en.claimApprovalTitle }).waitFor()
        assert.strictEqual(await page.locator("input:not([type=hidden])").count(), 0)
        assert.include(page.url(), `#t=${one.token}`)
      })
      assert.deepStrictEqual(complaints, [])
      assert.deepStrictEqual(foreignRequests(opened, one.url), [])
      assert.deepStrictEqual(requests.filter((each) => each.split("#")[0]!.includes(one.token)), [])
      assert.deepInclude(yield* read(one), { status: "pending_approval", destination_address: wallet })
    }).pipe(Effect.scoped))

  it.effect("works without a script: the link is pasted, and every page carries on", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const { complaints, page } = yield* visit(one.url, { javaScript: false, mobile: true, width: 390, height: 844 })
      yield* Effect.promise(async () => {
        await page.getByLabel(en.claimLink).fill(one.url)
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByLabel(en.refundAddress("Base")).fill(wallet)
        await page.getByLabel(en.chooseLanguage).selectOption("ar")
        await page.getByRole("button", { name: en.change }).click()
        await page.getByLabel(ar.refundAddress("\u2068Base\u2069")).fill(wallet)
        await page.getByRole("button", { name: ar.proceed }).click()
        await page.getByRole("heading", { name: ar.claimCheckTitle }).waitFor()
        await page.getByRole("button", { name: ar.claimConfirm }).click()
        await page.getByRole("heading", { name: ar.claimApprovalTitle }).waitFor()
        // The form is sent once more, and finds that all is said.
        await page.reload()
        await page.getByRole("heading", { name: ar.claimApprovalTitle }).waitFor()
        assert.notInclude(page.url(), one.token)
      })
      assert.deepStrictEqual(complaints, [])
      assert.deepInclude(yield* read(one), { status: "pending_approval", destination_address: wallet })
    }).pipe(Effect.scoped))

  it.effect("takes a pasted link also where a script runs, and keeps it in the address", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const { page } = yield* visit(one.url.split("#")[0]!)
      yield* Effect.promise(async () => {
        await page.getByLabel(en.claimLink).fill("not a link")
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("heading", { name: en.claimEndedTitle }).waitFor()
        await page.getByLabel(en.claimLink).fill(` ${one.url} `)
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("heading", headingOf(en)).waitFor()
        assert.isTrue(page.url().endsWith(`#t=${one.token}`))
        await page.getByLabel(en.chooseLanguage).selectOption("de")
        await page.getByRole("button", { name: en.change }).click()
        await page.getByRole("heading", { name: "Wohin soll Ihre Erstattung gehen?" }).waitFor()
        assert.isTrue(page.url().endsWith(`?lang=de#t=${one.token}`))
      })
    }).pipe(Effect.scoped))

  it.effect("is used by keyboard alone, from the first field to the fixed address", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const { page } = yield* visit(one.url)
      yield* Effect.promise(async () => {
        await page.getByRole("heading", headingOf(en)).waitFor()
        const reach = async (role: string, name: string) => {
          for (let steps = 0; steps < 20; steps++) {
            await page.keyboard.press("Tab")
            const label = await page.evaluate(() => {
              const { innerText, labels, tagName } = document.activeElement
              return `${tagName} ${labels?.[0]?.innerText ?? innerText}`
            })
            if (label.startsWith(role) && label.includes(name)) return
          }
          assert.fail(`${name} is not reached by Tab`)
        }
        await reach("INPUT", en.refundAddress("Base"))
        await page.keyboard.type(otherWallet)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: en.claimCheckTitle }).waitFor()
        await reach("BUTTON", en.claimConfirm)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: en.claimApprovalTitle }).waitFor()
      })
      assert.deepInclude(yield* read(one), { destination_address: otherWallet })
    }).pipe(Effect.scoped))

  it.effect("keeps what was typed where the connection is lost or the server is in trouble, and goes on", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const { page } = yield* visit(one.url)
      yield* Effect.promise(async () => {
        await page.getByLabel(en.refundAddress("Base")).fill(wallet)
        await page.route("**/state?*", (route) => route.abort())
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByText(en.claimNoAnswer).waitFor()
        await page.unroute("**/state?*")
        await page.route("**/state?*", (route) => route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>" }))
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByText(en.claimNoAnswer).waitFor()
        await page.unroute("**/state?*")
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("heading", { name: en.claimCheckTitle }).waitFor()
        assert.isFalse(await page.locator("#trouble").isVisible())
      })
    }).pipe(Effect.scoped))

  it.effect("wears the merchant's colour and name once the token has opened it", () =>
    Effect.gen(function*() {
      const { choose, details, merchant, pay, payableInvoice } = yield* PaymentPageService
      const invoice = yield* payableInvoice({}, yield* merchant({ branding: { accent: "#b3261e" } }))
      yield* pay((yield* choose(invoice)).temp_address, 25_000_000n)
      yield* details(invoice, ({ invoice_status }) => invoice_status === "paid")
      const one = yield* refundOf(invoice)
      for (const javaScript of [true, false]) {
        const { page } = yield* visit(one.url, { javaScript })
        yield* Effect.promise(async () => {
          if (!javaScript) {
            await page.getByLabel(en.claimLink).fill(one.url)
            await page.getByRole("button", { name: en.proceed }).click()
          }
          await page.getByRole("heading", headingOf(en)).waitFor()
          assert.include(await page.locator("header").textContent() ?? "", "Blue Bottle Store")
          if (javaScript) {
            const colour = await page.locator("button.main").evaluate((one: any) =>
              getComputedStyle(one).backgroundColor
            )
            assert.strictEqual(colour, "rgb(179, 38, 30)")
          }
        })
      }
    }).pipe(Effect.scoped))

  it.effect("makes true what a late payor is told: the shop can accept the payment, and can return it", () =>
    Effect.gen(function*() {
      const invoice = yield* reachScreen.late
      const { page } = yield* visit(invoice.url)
      yield* Effect.promise(() => page.getByText("can accept or return it").waitFor())
      const { data: [exception] } = (yield* api(invoice.key, `/api/v1/exceptions?invoice_id=${invoice.id}`)).data
      assert.include(exception.allowed_actions, "accept")
      const { data: decided } = yield* api(invoice.key, `/api/v1/exceptions/${exception.id}/resolve`, {
        action: "refund",
        refund: { destination: "claim", fee_bearer: "merchant" }
      })
      const refundId = decided.resolution.refund_id
      const { data } = yield* api(invoice.key, `/api/v1/refunds/${refundId}/claim-link`, {})
      const one = yield* linked(invoice.key, data)
      yield* Effect.promise(async () => {
        await page.goto(one.url)
        await page.getByText(en.claimLate).waitFor()
        await page.getByLabel(en.refundAddress("Base")).fill(wallet)
        await page.getByRole("button", { name: en.proceed }).click()
        await page.getByRole("button", { name: en.claimConfirm }).click()
        await page.getByRole("heading", { name: en.claimApprovalTitle }).waitFor()
      })
      assert.deepInclude(yield* read(one), { status: "pending_approval", destination_address: wallet })
    }).pipe(Effect.scoped))

  it.effect("loads within 14 KB and four requests, the token in none of their addresses", () =>
    Effect.gen(function*() {
      const one = yield* waiting
      const opened = yield* openPage(yield* openContext())
      const session = yield* Effect.promise(() => opened.context.newCDPSession(opened.page))
      let wire = 0
      session.on("Network.loadingFinished", ({ encodedDataLength }) => {
        wire += encodedDataLength
      })
      yield* Effect.promise(async () => {
        await session.send("Network.enable")
        await opened.page.goto(one.url)
        await opened.page.getByRole("heading", headingOf(en)).waitFor()
        await opened.page.waitForLoadState("networkidle")
      })
      const made = opened.requests.filter((each) => !each.startsWith("data:"))
      console.log(`claim page: ${wire} bytes and ${made.length} requests`)
      assert.isAtMost(wire, 14 * 1024)
      assert.isAtMost(made.length, 3, made.join())
    }).pipe(Effect.scoped))
})

const assets = { script: "/assets/claim.js", style: { css }, languages }
const path = "/claim/re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"

const rendered = (visitor: Visitor) => Effect.flatMap(openContext({ ...visitor, bypassCSP: true }), openPage)

layer(PaymentPageService.layer, { excludeTestServices: true })("every claim screen", (it) => {
  for (const name of Object.keys(claimViews)) {
    it.effect(`${name}: has nothing that axe, a narrow phone or a thumb complains of, from either side`, () =>
      Effect.gen(function*() {
        const { page } = yield* rendered({})
        yield* Effect.promise(async () => {
          await page.emulateMedia({ reducedMotion: "reduce" })
          for (const texts of [en, ar]) {
            await page.setContent(claimPage(claimViews[name]!, texts, path, "t".repeat(43), assets))
            await checkPage(page, `${name} ${texts.locale}`)
          }
        })
      }).pipe(Effect.scoped))
  }

  it.effect("cuts no word on a narrow phone, in any language, and at 200 % on a small desk", () =>
    Effect.gen(function*() {
      // Zoom halves the CSS pixels that a window has: 640 of them are 320.
      const { page } = yield* rendered({ width: 320, height: 450 })
      yield* Effect.promise(async () => {
        for (const texts of languages) {
          for (const [name, view] of Object.entries(claimViews)) {
            await page.setContent(claimPage(view, texts, path, "t".repeat(43), assets))
            await page.evaluate(() => document.getElementById("trouble").hidden = false)
            const wide = await page.evaluate(() =>
              [...document.querySelectorAll(".card *, .foot *")].filter((one: any) =>
                one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 &&
                !one.closest(".visually-hidden, select, input")
              ).map((one: any) => one.outerHTML.slice(0, 120))
            )
            assert.deepStrictEqual(wide, [], `${name} ${texts.locale}`)
          }
        }
      })
    }).pipe(Effect.scoped))
})
