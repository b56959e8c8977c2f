/**
 * Goal: a payor pays on the page in Firefox and in WebKit as in Chromium: with a mouse, with a keyboard alone, without
 * JavaScript; sees the payment arrive by itself, and nothing is complained of and nobody else is asked.
 * Method: the engines as they are installed, through a proxy that keeps what they ask for and tell; the real service
 * and an EVM node.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { decodeQr } from "../browser/PageChecks.ts"
import { type PayableInvoice, PaymentPageService } from "../browser/PaymentPageService.ts"
import { until } from "../support/Service.ts"
import { keys, type Tab } from "./Engine.ts"
import {
  choose,
  engines,
  type EngineView,
  openView,
  screenOf,
  waitForElement,
  waitForScreen,
  waitForSocket
} from "./Engines.ts"

declare const document: any
declare const location: any
declare const window: any

/** A phone on which the whole of the waiting screen is in sight. */
const phone = [390, 1400] as const

/** What the payor's API tells of the chosen route. */
const addressOf = (bill: PayableInvoice) => Effect.flatMap(PaymentPageService, ({ choose: again }) => again(bill))

const pathOf = (tab: Tab) => tab.run(() => location.pathname + location.search)

/** When the service committed the newest event of an invoice, in epoch milliseconds. */
const committed = (bill: PayableInvoice) =>
  Effect.gen(function*() {
    const { sql } = yield* PaymentPageService
    const [newest] = yield* Effect.orDie(sql`SELECT max(ms) AS ms FROM events WHERE invoice_id = ${bill.id}`)
    return Number(newest!["ms"])
  })

/** The page has told of nothing, and asked nobody else. */
const isQuiet = ({ door }: EngineView) => {
  assert.deepStrictEqual(door.complaints, [])
  assert.deepStrictEqual(door.foreign(), [])
}

/** Presses Tab until the focus is on what a selector names; fails after more than any page has. */
const tabTo = async (tab: Tab, selector: string) => {
  for (let pressed = 0; pressed < 60; pressed++) {
    if (await tab.run((wanted) => document.activeElement.matches(wanted), selector)) return
    await tab.press(keys.tab)
  }
  assert.fail(`no Tab leads to ${selector}`)
}

/** A property of what has the focus. */
const focused = (tab: Tab, property: string) =>
  Effect.promise(() => tab.run((name) => document.activeElement[name] as unknown, property))

layer(PaymentPageService.layer, { excludeTestServices: true, timeout: "90 seconds" })("paying on the page", (it) => {
  for (const engine of engines()) {
    it.effect(`${engine.name}: opens, chooses, scans, pays, and sees it arrive`, () =>
      Effect.gen(function*() {
        const { payableInvoice, pay } = yield* PaymentPageService
        const made = yield* payableInvoice({ payment_return_url: "https://shop.example/done" })
        const seen = yield* openView(engine)
        const { door, tab } = seen
        const path = `/pay/${made.id}`
        yield* Effect.promise(async () => {
          await tab.resize(...phone)
          await tab.open(made.url)
          assert.strictEqual(await pathOf(tab), path)
        })
        const opening = door.asked.slice(0, 3).map((
          { headers: { cookie }, url }
        ) => [url.includes("session_token=") ? "token" : "", cookie === undefined ? "" : "cookie"])
        assert.deepStrictEqual(opening, [["token", ""], ["token", "cookie"], ["", "cookie"]])
        yield* choose(seen, "usdc")
        yield* waitForScreen(seen, "waiting")
        yield* waitForSocket(seen)
        const { payment_uri, temp_address } = yield* addressOf(made)
        assert.strictEqual(decodeQr(yield* Effect.promise(() => tab.picture())), payment_uri)
        yield* pay(temp_address, 25_000_000n)
        yield* waitForScreen(seen, "paid")
        const came = yield* Effect.promise(() => tab.run(() => window.came.paid as number))
        const took = came - (yield* committed(made))
        console.log(`${engine.name} ${tab.version}: ${Math.round(took)} ms from the commit to the screen`)
        assert.isAbove(took, 0)
        const link = yield* Effect.promise(() => tab.run(() => document.querySelector("a.button.main").href))
        assert.strictEqual(link, `https://shop.example/done?invoice_id=${made.id}&status=paid`)
        isQuiet(seen)
      }).pipe(Effect.scoped))

    it.effect(`${engine.name}: takes a keyboard alone`, () =>
      Effect.gen(function*() {
        const { payableInvoice } = yield* PaymentPageService
        const made = yield* payableInvoice()
        const seen = yield* openView(engine)
        const { tab } = seen
        yield* Effect.promise(async () => {
          await tab.open(made.url)
          await tabTo(tab, "[type=radio]")
        })
        assert.strictEqual(yield* focused(tab, "type"), "radio")
        yield* Effect.promise(() => tab.press(keys.space, keys.enter))
        yield* waitForScreen(seen, "waiting")
        yield* until("the heading has the focus", focused(tab, "tagName"), (tag) => tag === "H1")
        yield* Effect.promise(async () => {
          await tabTo(tab, "[data-copy]")
          await tab.press(keys.enter)
        })
        yield* until("it says copied", focused(tab, "innerText"), (text) => text === "Copied")
        isQuiet(seen)
      }).pipe(Effect.scoped))

    it.effect(`${engine.name}: works without JavaScript`, () =>
      Effect.gen(function*() {
        const { payableInvoice, pay } = yield* PaymentPageService
        const made = yield* payableInvoice()
        const seen = yield* openView(engine, { javaScript: false })
        const { tab } = seen
        yield* Effect.promise(async () => {
          await tab.resize(...phone)
          await tab.open(made.url)
        })
        yield* choose(seen, "usdc")
        yield* waitForScreen(seen, "waiting")
        const { payment_uri, temp_address } = yield* addressOf(made)
        assert.strictEqual(decodeQr(yield* Effect.promise(() => tab.picture())), payment_uri)
        yield* pay(temp_address, 25_000_000n)
        yield* until(
          "the payment is shown",
          Effect.promise(async () => {
            await tab.click("noscript button").catch(() => undefined)
            return screenOf(tab)
          }),
          (screen) => screen === "paid",
          30_000
        )
        isQuiet(seen)
      }).pipe(Effect.scoped))

    it.effect(`${engine.name}: says that it is offline, and goes on when the line is back, without sockets too`, () =>
      Effect.gen(function*() {
        const { payableInvoice, choose: chosen, pay } = yield* PaymentPageService
        const made = yield* payableInvoice()
        const { temp_address } = yield* chosen(made)
        const seen = yield* openView(engine)
        yield* Effect.promise(() => seen.tab.open(made.url))
        yield* waitForSocket(seen)
        seen.door.set({ isShut: true })
        yield* waitForElement(seen, "#offline")
        yield* waitForScreen(seen, "waiting")
        seen.door.set({ isShut: false, hasSockets: false })
        yield* waitForElement(seen, "#offline", false)
        yield* pay(temp_address, 10_000_000n)
        yield* waitForScreen(seen, "partial")
        seen.door.set({ hasSockets: true })
        yield* waitForSocket(seen)
        yield* pay(temp_address, 15_000_000n)
        yield* waitForScreen(seen, "paid")
        assert.deepStrictEqual(seen.door.foreign(), [])
      }).pipe(Effect.scoped))
  }
})
