/**
 * Goal: what engines do differently takes nothing from a payor: where a browser lacks a header, a cookie, a clipboard
 * or an interface, the page still leads to the payment.
 * Method: Firefox and WebKit as they are, and made older by a proxy that takes headers away.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { reachScreen } from "../browser/Screens.ts"
import { assertStatus, type PayableInvoice, PaymentPageService } from "../browser/PaymentPageService.ts"
import { until } from "../support/Service.ts"
import { choose, engines, openView, screenOf, waitForScreen, waitForSocket } from "./Engines.ts"

declare const AbortSignal: any
declare const CSS: any
declare const document: any
declare const location: any
declare const matchMedia: any
declare const navigator: any
declare const addEventListener: any
declare const window: any

/** Every header that tells what a request is for (Fetch Metadata): Safari before 16.4 sends none. */
const fetchMetadata = /^sec-fetch-/

/** An invoice that can be paid in one way only. */
const oneWay = Effect.gen(function*() {
  const { payableInvoice, merchant, service } = yield* PaymentPageService
  const key = yield* merchant({})
  const headers = { "x-api-key": key }
  const policy = { method: "PUT", headers, body: { acceptance_policy: "selective" } }
  assertStatus(200, yield* service().call("/api/v1/merchant/tokens/policy", policy))
  const made: PayableInvoice = yield* payableInvoice({ accepted_networks: ["base"] }, key)
  const offered = "/api/v1/payments/available-tokens?mode=network&network=base"
  const tokens = assertStatus(200, yield* service().call(offered, { headers: made.session }))
  for (const { id, token_symbol } of tokens) {
    if (token_symbol === "USDC") continue
    assertStatus(
      200,
      yield* service().call(`/api/v1/merchant/tokens/${id}/block`, { headers, body: { blocked: true } })
    )
  }
  return yield* payableInvoice({ accepted_networks: ["base"] }, key)
})

layer(PaymentPageService.layer, { excludeTestServices: true, timeout: "90 seconds" })(
  "an engine of its own kind",
  (it) => {
    for (const engine of engines()) {
      it.effect(`${engine.name}: has what the page leans on`, () =>
        Effect.gen(function*() {
          const { url } = yield* reachScreen.waiting
          const { tab } = yield* openView(engine)
          yield* Effect.promise(() => tab.open(url))
          const has = yield* Effect.promise(() =>
            tab.run(() => ({
              "@media (scripting)": matchMedia("(scripting: enabled)").matches,
              ":has()": CSS.supports("selector(:has(a))") as boolean,
              "AbortSignal.timeout": "timeout" in AbortSignal,
              "navigator.clipboard": "clipboard" in navigator,
              "text-wrap: balance": CSS.supports("text-wrap", "balance") as boolean,
              "Trusted Types": "trustedTypes" in window
            }))
          )
          console.log(`${engine.name} ${tab.version}: ${JSON.stringify(has)}`)
          assert.isTrue(has["AbortSignal.timeout"] && has[":has()"])
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: skips the list of one, or goes on from it where it does not say what it asks for`, () =>
        Effect.gen(function*() {
          const { url } = yield* oneWay
          const old = yield* openView(engine)
          old.door.set({ without: fetchMetadata })
          yield* Effect.promise(() => old.tab.open(url))
          yield* waitForScreen(old, "choose")
          yield* Effect.promise(() => old.tab.click(".ways button.main"))
          yield* waitForScreen(old, "waiting")
          const other = yield* oneWay
          const { door, tab } = yield* openView(engine)
          yield* Effect.promise(() => tab.open(other.url))
          assert.strictEqual(yield* Effect.promise(() => screenOf(tab)), "waiting")
          assert.isTrue(door.asked.some(({ headers }) => headers["sec-fetch-mode"] === "navigate"))
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: sends forms as a page without a referrer does, also where it names no site`, () =>
        Effect.gen(function*() {
          const { payableInvoice } = yield* PaymentPageService
          for (const without of [/^$/, fetchMetadata, /^(?:origin|sec-fetch-.*)$/]) {
            const seen = yield* openView(engine)
            seen.door.set({ without })
            const { url } = yield* payableInvoice()
            yield* Effect.promise(() => seen.tab.open(url))
            yield* choose(seen, "usdc")
            yield* waitForScreen(seen, "waiting")
            const form = seen.door.asked.find(({ method }) => method === "POST")
            assert.deepInclude(form?.headers, { origin: "null", "sec-fetch-site": "same-origin" })
            assert.isUndefined(form?.headers.referer)
          }
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: follows the payment where there are no Trusted Types`, () =>
        Effect.gen(function*() {
          const { choose: chosen, pay } = yield* PaymentPageService
          const made = yield* reachScreen.waiting
          const seen = yield* openView(engine)
          seen.door.set({ hasTrustedTypes: false })
          yield* Effect.promise(() => seen.tab.open(made.url))
          assert.isFalse(yield* Effect.promise(() => seen.tab.run(() => "trustedTypes" in window)))
          yield* waitForSocket(seen)
          yield* pay((yield* chosen(made)).temp_address, 25_000_000n)
          yield* waitForScreen(seen, "paid")
          assert.deepStrictEqual(seen.door.complaints, [])
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: pays where cookies do not come back`, () =>
        Effect.gen(function*() {
          const { payableInvoice, choose: chosen, pay } = yield* PaymentPageService
          const made = yield* payableInvoice()
          const seen = yield* openView(engine)
          seen.door.set({ without: /^cookie$/ })
          yield* Effect.promise(() => seen.tab.open(made.url))
          assert.include(yield* Effect.promise(() => seen.tab.run(() => location.search)), "session_token=")
          yield* choose(seen, "usdc")
          yield* waitForScreen(seen, "waiting")
          yield* waitForSocket(seen)
          yield* pay((yield* chosen(made)).temp_address, 25_000_000n)
          yield* waitForScreen(seen, "paid")
          assert.deepStrictEqual(seen.door.complaints, [])
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: copies, with a clipboard and without one`, () =>
        Effect.gen(function*() {
          const { url } = yield* reachScreen.waiting
          const { door, tab } = yield* openView(engine)
          const label = Effect.promise(() => tab.run(() => document.querySelector("[data-copy]").innerText))
          yield* Effect.promise(async () => {
            await tab.open(url)
            await tab.run(() => {
              window.wrote = []
              const write = navigator.clipboard.writeText.bind(navigator.clipboard)
              navigator.clipboard.writeText = (text: string) => {
                window.wrote.push(text)
                return write(text)
              }
            })
            await tab.click("[data-copy]")
          })
          yield* until("it says copied", label, (text) => text === "Copied")
          yield* until("it says copy again", label, (text) => text === "Copy")
          yield* Effect.promise(async () => {
            await tab.run(() => {
              Object.defineProperty(navigator, "clipboard", { value: undefined })
              document.addEventListener(
                "copy",
                ({ target }: any) => window.wrote.push(target.value.slice(target.selectionStart, target.selectionEnd))
              )
            })
            await tab.click("[data-copy]")
          })
          yield* until("it says copied", label, (text) => text === "Copied")
          assert.deepStrictEqual(yield* Effect.promise(() => tab.run(() => window.wrote)), ["25.00", "25.00"])
          assert.deepStrictEqual(door.complaints, [])
        }).pipe(Effect.scoped))

      it.effect(`${engine.name}: who goes on and comes back by the history sees what became of the payment`, () =>
        Effect.gen(function*() {
          const { choose: chosen, details, pay } = yield* PaymentPageService
          const made = yield* reachScreen.waiting
          const seen = yield* openView(engine)
          const { door, tab } = seen
          yield* Effect.promise(() => tab.open(made.url))
          yield* waitForSocket(seen)
          yield* Effect.promise(async () => {
            await tab.run(() => addEventListener("pageshow", ({ persisted }: any) => window.isKept = persisted))
            await tab.open("about:blank")
          })
          yield* until("the page left its socket", Effect.sync(() => door.sockets()), (open) => open === 0)
          yield* pay((yield* chosen(made)).temp_address, 10_000_000n)
          yield* details(made, ({ invoice_status }) => invoice_status === "underpaid")
          yield* Effect.promise(() => tab.back())
          yield* waitForScreen(seen, "partial")
          yield* waitForSocket(seen)
          const isKept = yield* Effect.promise(() => tab.run(() => window.isKept === true))
          console.log(`${engine.name}: the page was ${isKept ? "" : "not "}kept in the back and forward cache`)
          yield* pay((yield* chosen(made)).temp_address, 15_000_000n)
          yield* waitForScreen(seen, "paid")
          assert.deepStrictEqual(door.complaints, [])
        }).pipe(Effect.scoped))
    }
  }
)
