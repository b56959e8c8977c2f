/**
 * From a commit to the changed screen: a real browser has the payment page open, parts of the invoice are paid, and
 * what is timed is from the millisecond in the event's id to the page's first DOM with the new amount. One machine, one
 * clock.
 */
import { Effect, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { type Browser, chromium, type Page } from "playwright-core"
import { findBrowser, launch } from "../support/Browser.ts"
import type { Service } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { paint } from "./paint.ts"
import { quantile, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

/** Payments that warm up the service and the page, and payments that are timed. */
const warmUps = 10
const measured = 50
/** Dollars of each payment, and of the invoice that they never pay in full. */
const part = 10
const whole = 1_000

/** Milliseconds from the commit to the changed screen (our budget for a screen that follows). */
const goalMillis = 300

/** How long a page may take to show what is waited for. */
const patienceMillis = 20_000

declare const window: any
declare const document: any
declare const MutationObserver: any

const openBrowser = (path: string): Effect.Effect<Browser, never, Scope.Scope> =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => launch(path)),
      (server) => Effect.promise(() => server.close())
    )
    return yield* Effect.promise(() => chromium.connect(server.wsEndpoint()))
  })

/** Notes from now on, in the page, the millisecond in which an amount to copy first stood there. */
const watch = (page: Page): Effect.Effect<void> =>
  Effect.promise(() =>
    page.evaluate(() => {
      window.shownAt = new Map()
      new MutationObserver(() => {
        const now = Date.now()
        for (const button of document.querySelectorAll("#state [data-copy]")) {
          const amount = Number(button.getAttribute("data-copy"))
          if (!window.shownAt.has(amount)) window.shownAt.set(amount, now)
        }
      }).observe(document.querySelector("#state"), { childList: true, subtree: true })
    })
  )

const shownAt = (page: Page, amount: number): Effect.Effect<number> =>
  Effect.promise(async () => {
    const shown = await page.waitForFunction((wanted) => window.shownAt.get(wanted), amount, {
      timeout: patienceMillis
    })
    return await shown.jsonValue() as number
  })

interface Bill {
  readonly id: string
  /** `payment_url`. */
  readonly url: string
  /** The payor chooses USDC on base, by the payor's API. */
  readonly choose: Effect.Effect<void>
}

const newBill = Effect.fnUntraced(function*(service: Service, key: string) {
  const { json: made } = yield* service.call("/api/v1/invoices", {
    headers: { "x-api-key": key, "idempotency-key": randomUUID() },
    body: { amount_usd: whole }
  })
  const headers = made.payment_session_headers
  const choose = Effect.gen(function*() {
    const { json: tokens } = yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", {
      headers
    })
    const token = tokens.find((each: { readonly token_symbol: string }) => each.token_symbol === "USDC")
    yield* service.call("/api/v1/payments/payment-addresses", {
      headers,
      body: { network: "base", token_id: token.id }
    })
  })
  const bill: Bill = { id: made.invoice_id, url: made.payment_url, choose }
  return bill
})

/** Opens the page of a new invoice with its route, and waits until it follows its socket. */
const openInvoice = Effect.fnUntraced(function*(service: Service, key: string, page: Page) {
  const { choose, id, url } = yield* newBill(service, key)
  yield* choose
  yield* Effect.promise(async () => {
    const greeted = new Promise((resolve) => page.once("websocket", (socket) => socket.once("framereceived", resolve)))
    await page.goto(url)
    await greeted
  })
  return id
})

/** Milliseconds from the commit of each payment to the screen that shows what is left after it. */
const time = (service: Service, key: string, page: Page) =>
  Effect.gen(function*() {
    const id = yield* openInvoice(service, key, page)
    yield* watch(page)
    const waits: Array<number> = []
    for (let paid = 1; paid <= warmUps + measured; paid++) {
      const { json } = yield* service.call(`/api/v1/devnet/invoices/${id}/simulate`, {
        headers: { "x-api-key": key },
        body: { action: "pay", amount: part * 1_000 }
      })
      const last = String(json.data.event_ids.at(-1))
      const committed = Number(/^evt_(\d+)-/.exec(last)![1])
      const shown = yield* shownAt(page, whole - paid * part)
      if (paid > warmUps) waits.push(shown - committed)
    }
    return waits
  })

export const screen = ({ progress, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const path = findBrowser()
    if (path === undefined) return [{ section: "page", skipped: "no Chromium on this machine" }]
    const deployment = yield* Tillwire.deploy(server, "screen_till")
    const service = yield* Tillwire.start(deployment)
    const { merchant_key: key } = yield* service.keys
    const browser = yield* openBrowser(path)
    const page = yield* Effect.promise(() => browser.newPage())
    const waits = yield* time(service, key, page)
    const p50 = quantile(waits, 0.5)
    const p99 = quantile(waits, 0.99)
    progress(`screen: commit to changed screen p50 ${p50} ms, p99 ${p99} ms`)
    yield* Effect.promise(() => page.close())
    const paints = yield* paint(browser, newBill(service, key))
    return [
      { section: "page", what: "commit to changed screen in Chromium, p50", value: p50, unit: "ms" },
      {
        section: "page",
        what: "the same, p99",
        value: p99,
        unit: "ms",
        goal: { atMost: goalMillis },
        note: `${measured} events`
      },
      ...paints
    ]
  }))
