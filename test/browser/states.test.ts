/**
 * Goal: the payment page also holds where a merchant, a payor or a chain goes to the limits: long names, many payments,
 * every kind of address, a clock that runs out, a list that is longer than the window, large text, paper.
 * Method: pages of made views in a real browser with their script, judged by axe, by their measures, and by a camera.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { View } from "../../modules/checkout/rules.ts"
import { type Problem, problemPage } from "../../modules/checkout/pages/Page.ts"
import { isolate } from "../../modules/checkout/pages/Names.ts"
import { ar } from "../../modules/checkout/pages/texts/ar.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import {
  addressFor,
  type Details,
  detailsOf,
  manyTokenOptions,
  now,
  paymentOf,
  tokenOptionOf,
  viewOf,
  views
} from "../fixtures/paymentViews.ts"
import { assets, showDocument, showView } from "./RenderedViews.ts"
import { type Appearance, checkPage, cutWords, overflow, readQr } from "./PageChecks.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"

declare const document: any
declare const getComputedStyle: any
declare const innerHeight: any

/** With English on one and Arabic on the other, every pair of theme, width and direction has been seen. */
const looksOf = {
  en: [{ theme: "light", width: 320 }, { theme: "dark", width: 1280 }],
  ar: [{ theme: "light", width: 1280 }, { theme: "dark", width: 320 }]
} as const satisfies Record<string, ReadonlyArray<Appearance>>

/** The two languages' texts with their looks. */
const both = [[en, looksOf.en], [ar, looksOf.ar]] as const

/** The smallest logo there is. */
const onePixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA" +
  "WjR9awAAAABJRU5ErkJggg=="

/** What a merchant may write, at its longest and in the direction that is not the page's. */
const written: Partial<Details> = {
  invoice_title: `تي شيرت أزرق ABC-123 ${"مع شحن ".repeat(10)}`,
  invoice_footer: `Terms: שלום <b>no refunds</b> after ${"x".repeat(120)}`,
  branding: {
    name: `Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft متجر ${"Ltd ".repeat(12)}`,
    logo_uri: onePixel,
    accent: "#ffee00",
    support_email: "help@shop.example",
    domain: `${"long-".repeat(11)}name.${"shop.".repeat(8)}example`,
    domain_verified_at: 1_766_320_500
  },
  amount: 1_000_000_000,
  amount_decimal: "1000000.000",
  amount_remaining: 1_000_000_000,
  amount_remaining_decimal: "1000000.000"
}

/** A price in its last quarter, for an amount of 18 decimals, on a network that has trouble, with the drawer. */
const strained = viewOf({
  details: detailsOf("unpaid", 0, [], { ...written, expires_at: now + 600 }),
  address: addressFor("1234567890.123456789012345678", {
    quote_last_updated_at: now - 260,
    quote_valid_until: now + 40,
    quote_expires_in_seconds: 40
  })
}, {
  degradedNetwork: "base",
  simulator: true,
  createdAt: now - 10_000,
  token: { id: 1, symbol: "USDC", network: "base", stable: false }
})

const payeeProof = {
  address: strained.address!.temp_address,
  payee: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  salt: `0x${"0f1e2d3c4b5a6978".repeat(4)}`,
  collector: "0x7A8c3658258FE04EE067A7D8FC74CE54DA169dAC",
  init_code_hash: `0x${"d4af28e8f1a06470".repeat(4)}`
}

/** As many payments as are listed, all too late, and an address that was none. */
const lateOften = viewOf({
  details: detailsOf("expired", 0, Array.from({ length: 20 }, () => paymentOf("rejected", 25_000)), {
    ...written,
    expires_at: now - 60
  }),
  address: null
}, { refund: "refused" })

const tonAddress = "UQBLz6mVjS5wvB5Q1N0p5lGqzN3f3r8i4sYzYcYd8Cw9aUoM"
const solanaUsdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const solanaAddress = "7YWHMfk9JZe0LM0g1ZauHuiSxhI7pWmVhbBbWZzrVpNm"
const cardanoAddress = "addr_test1qz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3jcu5d8ps7zex2k2" +
  "xt3uqxgjqnnj83ws8lhrn648jjxtwq2ytjqp"

/** A route of each kind of address and link. */
const routes = {
  ton: addressFor("7.940000000", {
    network: "ton",
    temp_address: tonAddress,
    memo: "T-4711-ABCDEF-0123456789",
    requires_memo: true,
    payment_uri: `ton://transfer/${tonAddress}?amount=7940000000&text=T-4711-ABCDEF-0123456789`
  }),
  solana: addressFor("25.000000", {
    network: "solana",
    temp_address: solanaAddress,
    payment_uri: `solana:${solanaAddress}?amount=25&spl-token=${solanaUsdc}&label=Caf%C3%A9`
  }),
  cardano: addressFor("61.300000", {
    network: "cardano",
    temp_address: cardanoAddress,
    payment_uri: `web+cardano:${cardanoAddress}?amount=61.3`
  }),
  // Without a link the address is the code.
  sui: addressFor("11.900000", { network: "sui", temp_address: `0x${"ab12".repeat(16)}`, payment_uri: null })
}

/** A list that is longer than a phone. */
const longList: View = {
  ...views.choose,
  tokens: [
    ...manyTokenOptions,
    ...manyTokenOptions.map(({ network }, index) => tokenOptionOf(20 + index, "USDC", "USD Coin", network)),
    ...["DAI", "EURC", "PYUSD"].map((symbol, index) => tokenOptionOf(10 + index, symbol, symbol, "base"))
  ],
  estimates: new Map(Array.from({ length: 30 }, (_, index) => [index, "25.000000"]))
}

const problems: ReadonlyArray<Problem> = ["session_ended", "not_found", "too_many", "unavailable", "failed"]

/** A page with room for axe, whose progress bars do not move. */
const opened = (visitor: Pick<Visitor, "width" | "height" | "theme"> = {}) =>
  Effect.gen(function*() {
    const { complaints, page } = yield* openPage(yield* openContext({ ...visitor, bypassCSP: true }))
    yield* Effect.promise(() => page.emulateMedia({ reducedMotion: "reduce" }))
    return { complaints, page }
  })

/** The colour of the first of what `selector` names, and that of a note of warning. */
const colours = (page: Page, selector: string): Promise<ReadonlyArray<string>> =>
  page.evaluate((all) => all.map((one) => getComputedStyle(document.querySelector(one)).color), [
    selector,
    ".note.warn"
  ])

describe("a payment page at its limits", () => {
  it.live("passes every check with long names, large amounts, an open drawer and text of the other direction", () =>
    Effect.gen(function*() {
      const { complaints, page } = yield* opened()
      yield* Effect.promise(async () => {
        for (const [texts, looks] of both) {
          await showView(page, strained, texts)
          await page.locator("summary").last().click()
          assert.include(await page.textContent("#state"), texts.networkDegraded(isolate(texts, "Base")))
          await checkPage(page, `strained ${texts.locale}`, looks)
        }
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))

  it.live("passes every check with the proof of the payee, whose values are whole on a narrow phone", () =>
    Effect.gen(function*() {
      const { complaints, page } = yield* opened()
      yield* Effect.promise(async () => {
        for (const [texts, looks] of both) {
          await showView(page, { ...strained, payeeProof }, texts)
          assert.isFalse(await page.locator("#payee .value").first().isVisible(), "it is folded until a payor asks")
          await page.locator("#payee summary").click()
          for (const value of [payeeProof.payee, payeeProof.salt, payeeProof.collector, payeeProof.init_code_hash]) {
            assert.include(await page.locator("#payee").innerText(), value.slice(-4))
            assert.strictEqual(await page.locator(`#payee [data-copy="${value}"]`).count(), 1)
          }
          await checkPage(page, `payee ${texts.locale}`, looks)
        }
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))

  it.live("shows one clock only, in its last quarter, and tells all other ends in words", () =>
    Effect.gen(function*() {
      const { page } = yield* opened()
      yield* Effect.promise(async () => {
        const times = page.locator(".clock time, .clock progress").filter({ visible: true })
        await showView(page, strained, en)
        assert.strictEqual(await times.count(), 2, "the price's clock and its bar: it ends before the invoice does")
        // Its seconds go on while the page is looked at.
        assert.match(
          await page.locator(".clock[data-countdown] .timer:visible").innerText(),
          /^Price held for\n0:[34]\d$/
        )
        assert.match(await page.locator(".clock:not([data-countdown]) .timer:visible").innerText(), /^Pay by\n/)
        const [colour, warning] = await colours(page, ".clock[data-countdown] time")
        assert.strictEqual(colour, warning)
        const held = { ...strained.address!, quote_last_updated_at: now, quote_valid_until: now + 300 }
        await showView(page, { ...strained, createdAt: now - 600, address: held }, en)
        assert.strictEqual(await times.count(), 0)
        assert.deepStrictEqual(
          (await page.locator(".clock .timer:visible").allInnerTexts()).map((text) => text.split("\n")[0]),
          ["The price is held and renews by itself.", "Pay by"]
        )
        await showView(page, views.waiting, en)
        assert.lengthOf(await page.locator(".clock .timer:visible").all(), 1, "nothing of a dollar coin's price")
      })
    }).pipe(Effect.scoped))

  it.live("puts the wallet and the fields before the code on a phone, and folds it; on a desk the code is open", () =>
    Effect.gen(function*() {
      for (const isPhone of [true, false]) {
        const { page } = yield* openPage(yield* openContext(isPhone ? { mobile: true, width: 390, height: 844 } : {}))
        yield* Effect.promise(async () => {
          await showView(page, views.waiting, en)
          const top = (selector: string) =>
            page.locator(selector).first().evaluate((one: any) => one.getBoundingClientRect().top as number)
          assert.strictEqual(await page.locator("#scan").evaluate((one: any) => one.open), !isPhone)
          assert.strictEqual(await page.locator(".wallet").isVisible(), isPhone)
          assert.strictEqual(await top("#scan") > await top(".fields"), isPhone)
          if (isPhone) assert.isBelow(await top(".wallet"), 320)
        })
      }
    }).pipe(Effect.scoped))

  it.live("passes every check with twenty payments and a refused refund address, which is named as wrong", () =>
    Effect.gen(function*() {
      const { page } = yield* opened()
      yield* Effect.promise(async () => {
        for (const [texts, looks] of both) {
          await showView(page, lateOften, texts)
          assert.strictEqual(await page.locator("dd a").count(), 20)
          const field = page.locator("input[name=address]")
          assert.strictEqual(await field.getAttribute("aria-invalid"), "true")
          const why = await page.textContent(`#${await field.getAttribute("aria-describedby")}`)
          assert.include(why, texts.refundWrong(isolate(texts, "Base")))
          await checkPage(page, `late ${texts.locale}`, looks)
        }
      })
    }).pipe(Effect.scoped))

  it.live("carries every network's address or link in its code, the memo as a field of its own", () =>
    Effect.gen(function*() {
      const { page } = yield* opened({ width: 320 })
      yield* Effect.promise(async () => {
        for (const [network, address] of Object.entries(routes)) {
          await showView(page, viewOf({ details: detailsOf("unpaid"), address }), en)
          assert.strictEqual(await readQr(page), address.payment_uri ?? address.temp_address, network)
          assert.strictEqual(await page.locator(".wallet").count(), address.payment_uri === null ? 0 : 1, network)
          assert.deepStrictEqual(await cutWords(page), [], network)
          const copies = await page.locator("[data-copy]").evaluateAll((all) => all.map((one: any) => one.dataset.copy))
          const { memo, temp_address } = address
          assert.deepStrictEqual(copies.slice(1), memo === null ? [temp_address] : [temp_address, memo])
        }
        await showView(page, viewOf({ details: detailsOf("unpaid"), address: routes.ton }), en)
        await checkPage(page, "memo", looksOf.en)
      })
    }).pipe(Effect.scoped))

  it.live("passes every check where a search finds nothing, and says so", () =>
    Effect.gen(function*() {
      const { page } = yield* opened()
      yield* Effect.promise(async () => {
        await showView(page, longList, en)
        await page.fill("input[type=search]", "no such coin")
        await page.locator("#live").getByText(en.nothingFound).waitFor()
        assert.strictEqual(await page.locator(".tiles a:visible").count(), 1, "what is shown stays in sight")
        await checkPage(page, "nothing found", looksOf.en)
      })
    }).pipe(Effect.scoped))

  it.live("in place of a payment passes every check, whatever the reason", () =>
    Effect.gen(function*() {
      const { page } = yield* opened()
      yield* Effect.promise(async () => {
        for (const problem of problems) {
          await showDocument(page, problemPage(problem, ar, assets, "/pay/1"))
          await checkPage(page, problem, looksOf.ar)
        }
      })
    }).pipe(Effect.scoped))
})

describe("the list of ways to pay", () => {
  for (const [width, height] of [[390, 844], [320, 480]] as const) {
    it.live(`keeps "Continue" in sight at ${width}x${height}, and never over what has the focus`, () =>
      Effect.gen(function*() {
        const { page } = yield* opened({ width, height })
        yield* Effect.promise(async () => {
          await showView(page, longList, en)
          const isInSight = () =>
            page.getByRole("button", { name: /^Continue with USDC/ }).evaluate((button: any) => {
              const { bottom, left, top } = button.getBoundingClientRect()
              return top >= 0 && bottom <= innerHeight && button.contains(document.elementFromPoint(left + 20, top + 5))
            })
          assert.isTrue(await isInSight())
          const wayIds = await page.locator("input[type=radio]:enabled").evaluateAll((all) =>
            all.map((one: any) => one.value)
          )
          await page.locator("input[type=radio]:checked").focus()
          const walked: Array<string> = []
          for (const _ of wayIds) {
            const { clear, value } = await page.evaluate(() => {
              const row = document.activeElement.closest("label").getBoundingClientRect()
              const bar = document.querySelector(".proceed").getBoundingClientRect()
              return { value: document.activeElement.value, clear: row.top >= 0 && row.bottom <= bar.top }
            })
            assert.isTrue(clear, `way ${value} is covered`)
            assert.isTrue(await isInSight())
            walked.push(value)
            await page.keyboard.press("ArrowDown")
          }
          assert.deepStrictEqual(walked, wayIds)
        })
      }).pipe(Effect.scoped))
  }
})

describe("large text", () => {
  it.live("is cut nowhere: twice the size on a phone, and a desk's window at 400 %", () =>
    Effect.gen(function*() {
      const { page } = yield* opened()
      yield* Effect.promise(async () => {
        for (const view of [longList, strained, lateOften, views.paid, views.partial]) {
          await page.setViewportSize({ width: 390, height: 844 })
          await showView(page, view, en)
          await page.addStyleTag({ content: "html{font-size:200%}" })
          assert.deepStrictEqual(await cutWords(page), [], view.screen)
          assert.isAtMost(await overflow(page), 0, view.screen)
          // 1280 x 1024 at 400 % (WCAG 1.4.10): so low a window has no room for a bar that stays.
          await page.setViewportSize({ width: 320, height: 256 })
          await showView(page, view, en)
          assert.deepStrictEqual(await cutWords(page), [], view.screen)
          assert.isAtMost(await overflow(page), 0, view.screen)
          const bars = await page.locator(".proceed").evaluateAll((all) =>
            all.map((one) => getComputedStyle(one).position)
          )
          assert.notInclude(bars, "sticky")
        }
      })
    }).pipe(Effect.scoped))

  it.live("would be found where it is cut", () =>
    Effect.gen(function*() {
      const { page } = yield* opened({ width: 390 })
      yield* Effect.promise(async () => {
        await showView(page, strained, en)
        const content = ".due{white-space:nowrap;font-size:5rem}.order{max-block-size:1rem;overflow:hidden}"
        await page.addStyleTag({ content })
        assert.includeMembers([...await cutWords(page)], ["$1,000,000.00", written.invoice_title!])
      })
    }).pipe(Effect.scoped))
})

describe("paper", () => {
  it.live("has the receipt: black on white, the whole invoice id and transaction, and nothing to press", () =>
    Effect.gen(function*() {
      const { page } = yield* opened({ theme: "dark" })
      yield* Effect.promise(async () => {
        await showView(page, { ...views.overpaid, simulator: true }, en)
        await page.emulateMedia({ media: "print" })
        const pressed = page.locator("button, select, input, summary, .button, .foot a").filter({ visible: true })
        assert.strictEqual(await pressed.count(), 0)
        const words = await page.locator("h1, .soft, dt, dd, dd a, .who b, .due").evaluateAll((all) =>
          all.map((one) => getComputedStyle(one).color)
        )
        assert.deepStrictEqual([...new Set(words)], ["rgb(0, 0, 0)"])
        const whole = await page.locator("[data-whole]").evaluateAll((all) =>
          all.map((one) => `${getComputedStyle(one).fontSize} ${getComputedStyle(one, "::after").content}`)
        )
        const { details } = views.overpaid
        assert.deepStrictEqual(
          whole,
          [details.invoice_id, details.payments[0]!.payer_tx_hash].map((text) => `0px "${text}"`)
        )
      })
    }).pipe(Effect.scoped))
})
