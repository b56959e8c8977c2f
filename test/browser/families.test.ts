/**
 * Goal: on every family a payor finds on the page what a wallet of that family needs: the code is the exact link, the
 * memo is there to copy with why it is needed, and the page sees the payment.
 * Method: a real browser, the real service with its simulated chains, and an invoice paid by the simulator.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Page } from "playwright-core"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, prices, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { visit } from "./Page.ts"
import { checkPage, readQr } from "./PageChecks.ts"
import { assertStatus } from "./PaymentPageService.ts"

declare const navigator: any

class SimulatedService extends Context.Service<SimulatedService, {
  readonly service: Service
  /** Of the demo merchant. */
  readonly key: string
}>()("test/browser/SimulatedService") {
  static readonly layer = Layer.effect(
    SimulatedService,
    Effect.gen(function*() {
      const { url: database } = yield* migratedDatabase
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({ database, chains: [{ use: "simulated" }], prices: { ...prices, cardano: "0.5" } })
      })
      const { merchant_key: key } = yield* service.keys
      return SimulatedService.of({ service, key })
    })
  )
}

const newInvoice = Effect.gen(function*() {
  const { key, service } = yield* SimulatedService
  return assertStatus(
    200,
    yield* service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": crypto.randomUUID() },
      body: { amount: 5_000, description: "Zwei Bücher & ein Stift" }
    })
  )
})

/** The route, as the payor's API tells it to the same session. */
const addressOf = Effect.fnUntraced(function*(invoice: any, network: string, symbol: string) {
  const { service } = yield* SimulatedService
  const { payment_url: url } = invoice
  const parameters = new URL(url).searchParams
  const headers = {
    "x-session-token": parameters.get("session_token")!,
    "x-signature": parameters.get("signature")!
  }
  const tokens = assertStatus(200, yield* service.call("/api/v1/payments/available-tokens?mode=all", { headers }))
  const token = tokens.find((each: any) => each.network === network && each.token_symbol === symbol)
  const body = { network, token_id: token.id }
  return assertStatus(200, yield* service.call("/api/v1/payments/payment-addresses", { headers, body }))
})

const copies = (page: Page) =>
  page.locator("[data-copy]").evaluateAll((all) => all.map((one: any) => one.dataset.copy as string))

const families = [
  {
    network: "base",
    symbol: "USDC",
    link: /^ethereum:0x[0-9a-fA-F]{40}@84532\/transfer\?address=0x\w+&uint256=5000000$/
  },
  {
    network: "solana",
    symbol: "USDC",
    link:
      /^solana:\w+\?amount=5&spl-token=\w+&reference=\w+&label=Demo%20Store&message=Zwei%20B%C3%BCcher%20%26%20ein%20Stift&memo=\w+$/
  },
  {
    network: "ton",
    symbol: "USDT",
    link: /^ton:\/\/transfer\/0Q[\w-]{46}\?jetton=kQ[\w-]{46}&amount=5000000&text=\w+$/
  },
  { network: "sui", symbol: "USDC", link: /^sui:0x[0-9a-f]{64}$/ },
  { network: "cardano", symbol: "ADA", link: /^web\+cardano:addr_test1\w+\?amount=10$/ }
]

layer(SimulatedService.layer, { excludeTestServices: true })("paying", (it) => {
  for (const { link, network, symbol } of families) {
    it.effect(`on ${network}: the code is the exact link, the memo is explained, and the payment is seen`, () =>
      Effect.gen(function*() {
        const { key, service } = yield* SimulatedService
        const invoice = yield* newInvoice
        const { memo, payment_uri: uri, requires_memo, temp_address: address } = yield* addressOf(
          invoice,
          network,
          symbol
        )
        assert.match(uri, link)
        assert.strictEqual(requires_memo, memo !== null)
        const { page } = yield* visit(invoice.payment_url, { bypassCSP: true, mobile: true, width: 320 })
        yield* Effect.promise(async () => {
          await page.locator("[data-screen=waiting]").waitFor()
          assert.strictEqual(await readQr(page), uri)
          assert.strictEqual(await page.getAttribute("a.wallet", "href"), uri)
          assert.deepStrictEqual((await copies(page)).slice(1), memo === null ? [address] : [address, memo])
          await checkPage(page, network, [{ theme: "light", width: 320 }, { theme: "dark", width: 1280 }])
          if (memo !== null) {
            const button = page.locator(`[data-copy="${memo}"]`)
            const why = await page.textContent(`#${await button.getAttribute("aria-describedby")}`)
            assert.include(why, en.memoNeeded)
            assert.include(why, en.memoFromExchange)
            await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
            await button.focus()
            await page.keyboard.press("Enter")
            await page.waitForFunction(
              (text) => navigator.clipboard.readText().then((found: string) => found === text),
              memo
            )
          }
          await page.goto(`${page.url()}${page.url().includes("?") ? "&" : "?"}tab=address`)
          assert.strictEqual(await readQr(page), address)
          if (memo !== null) assert.include(await copies(page), memo, "beside a code without it, most of all")
        })
        const paid = assertStatus(
          200,
          yield* service.call(`/api/v1/devnet/invoices/${invoice.invoice_id}/simulate`, {
            headers: { "x-api-key": key },
            body: { action: "pay" }
          })
        )
        assert.include(paid.data.invoice_payment, { network, status: "confirmed" })
        yield* Effect.promise(() => page.locator("[data-screen=paid]").waitFor())
      }).pipe(Effect.scoped))
  }
})
