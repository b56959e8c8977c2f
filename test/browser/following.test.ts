/**
 * Goal: who looks at a page sees what has happened, without a press: a shop in its dashboard, its customer on the
 * payment page.
 * Method: the dashboard and a payment page over a real EVM node, each in a browser of its own.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { openInvoice } from "../journeys/Town.ts"
import { assertStatus, readInvoice } from "../journeys/Shop.ts"
import { until } from "../support/Service.ts"
import { DashboardTown } from "./DashboardTown.ts"
import { ownMillis, visit } from "./Page.ts"
import { axeViolations } from "./PageChecks.ts"

/** Milliseconds in which an open page says what was decided. */
const noticeMillis = 1_000

layer(DashboardTown.layer, { excludeTestServices: true })("an open page", (it) => {
  it.effect("of a customer says within a second that a late payment, found by its hash, was accepted", () =>
    Effect.gen(function*() {
      const town = yield* DashboardTown
      const { node, service, shop, signIn, sql } = town
      const headers = { "x-api-key": shop.key }
      const body = { late_window_seconds: 0 }
      assertStatus(200, yield* service.call("/api/v1/merchant/settings", { method: "PATCH", headers, body }))
      const fields = { amount_usd: 49, expires_in: 60_000 }
      const { invoice, shown } = yield* openInvoice(town, "base", "USDC", fields)
      const { page: customer } = yield* visit(invoice.created.payment_url)
      yield* Effect.orDie(sql`UPDATE invoices SET expires_at = created_at - 5, due_at = created_at - 5
        WHERE id = ${invoice.id}`)
      yield* until("it expires", readInvoice(shop, invoice.id), ({ status }) => status === "expired")
      const hash: string = yield* node.token("transfer", [shown.temp_address, 49_000_000n])
      const { complaints, page } = yield* signIn()
      let took = 0
      yield* Effect.promise(async () => {
        await customer.getByRole("heading", { name: "late" }).waitFor()
        await page.keyboard.press("/")
        await page.keyboard.type(hash)
        await page.keyboard.press("Enter")
        await page.locator(".head .chip").getByText("Arrived late").waitFor()
        await page.getByRole("link", { name: "To do" }).click()
        await page.locator("input[name=decision][value=accept]").check()
        const shownPaid = customer.getByRole("heading", { name: "Payment complete" })
        await page.getByRole("button", { name: "Decide" }).click()
        await page.getByText("Decided. Your customer's page says so now.").waitFor()
        const decided = performance.now()
        await shownPaid.waitFor()
        took = performance.now() - decided
        assert.deepStrictEqual(complaints, [])
      })
      assert.isAtMost(took - (yield* ownMillis(customer)), noticeMillis)
    }).pipe(Effect.scoped))

  it.effect("of the shop follows an invoice to its end, and needs no script for it", () =>
    Effect.gen(function*() {
      const town = yield* DashboardTown
      const { home, node, signIn } = town
      const { invoice, shown } = yield* openInvoice(town, "base", "USDC", { amount_usd: 5 })
      const { complaints, page } = yield* signIn(undefined, { bypassCSP: true })
      const { page: overview } = yield* signIn()
      const { page: plain } = yield* signIn(undefined, { javaScript: false })
      yield* Effect.promise(async () => {
        await page.goto(`${home}/payments/${invoice.id}`)
        await plain.goto(`${home}/payments/${invoice.id}`)
        await page.locator(".head .chip").getByText("Open").waitFor()
      })
      yield* node.token("transfer", [shown.temp_address, 5_000_000n])
      yield* Effect.promise(async () => {
        await page.locator(".head .chip").getByText("Paid", { exact: true }).waitFor()
        await page.locator("#live").filter({ hasText: "Paid" }).waitFor({ state: "attached" })
        assert.deepStrictEqual(await axeViolations(page), [])
        await overview.getByRole("row", { name: new RegExp(invoice.id.slice(-8)) }).getByText("Paid").waitFor()
        assert.strictEqual(await plain.locator(".head .chip").textContent(), "Open")
        await plain.reload()
        assert.strictEqual(await plain.locator(".head .chip").textContent(), "Paid")
        assert.deepStrictEqual(complaints, [])
      })
    }).pipe(Effect.scoped))
})
