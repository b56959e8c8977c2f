/**
 * Goal: pages of the dashboard that try things out are read by anyone, are small, and work without a script.
 * Method: Chromium and axe over the service as it is started.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { brotliCompressSync } from "node:zlib"
import { loginLink } from "../journeys/LoginLink.ts"
import { migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"
import { axeViolations, overflow, smallTargets } from "./PageChecks.ts"

/** Bytes of a page, compressed, at most. */
const mostBytes = 8_192

class Dashboard extends Context.Service<Dashboard, {
  readonly home: string
  readonly signIn: (visitor: Visitor) => ReturnType<typeof openPage>
}>()("test/browser/dashboardScreens/Dashboard") {
  static readonly layer = Layer.effect(
    Dashboard,
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const ports = { http: yield* freePort, rpc: yield* freePort }
      const url = `http://localhost:${ports.http}`
      const config = configOf({
        database: (yield* migratedDatabase).url,
        chains: [{ use: "simulated" }],
        http: { publicUrl: url }
      })
      const service = yield* startService({ directory, config, ports })
      const { merchant_id: merchant } = yield* service.keys
      return Dashboard.of({
        home: `${url}/dashboard/${merchant}/devnet`,
        signIn: (visitor) =>
          Effect.gen(function*() {
            const link = yield* loginLink({ service, merchant })
            const opened = yield* openPage(yield* openContext(visitor))
            yield* Effect.promise(async () => {
              await opened.page.goto(link)
              if (visitor.javaScript === false) {
                await opened.page.getByLabel("Token of the link").fill(new URL(link).hash.slice("#t=".length))
              }
              await opened.page.getByRole("button", { name: "Continue" }).click()
              await opened.page.getByRole("heading", { name: "Overview" }).waitFor()
            })
            return opened
          })
      })
    })
  )
}

layer(Dashboard.layer, { excludeTestServices: true })("the dashboard", (it) => {
  it.effect("pays a first invoice by one press of the empty overview, without a script, and all pages pass axe", () =>
    Effect.gen(function*() {
      const { home, signIn } = yield* Dashboard
      const { complaints, page } = yield* signIn({ javaScript: false, width: 1280 })
      const paths = yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "Simulate a payment" }).click()
        await page.getByText("Simulated. Webhooks").waitFor()
        assert.strictEqual(await page.locator("h1 + .chip").textContent(), "Paid")
        await page.getByRole("button", { name: "Pay twice" }).click()
        await page.getByText("Paid twice").first().waitFor()
        return [new URL(page.url()).pathname.slice(new URL(home).pathname.length), "/simulator"]
      })
      assert.deepStrictEqual(complaints, [])
      const shown = [
        `${paths[0]}?simulate=open`,
        paths[1]!,
        "/branding?state=waiting&device=desktop",
        "/tokens?policy=selective&accepted=1",
        "/wallets"
      ]
      for (const visitor of [{ theme: "light", width: 1280 }, { theme: "dark", width: 390 }] as const) {
        const { page } = yield* signIn({ ...visitor, bypassCSP: true })
        for (const path of shown) {
          const text = yield* Effect.promise(async () => (await (await page.goto(`${home}${path}`))!.text()))
          assert.isAtMost(brotliCompressSync(text).length, mostBytes, path)
          yield* Effect.promise(async () => {
            assert.isAtMost(await page.locator("button.main, a.button.main").count(), 1, `${path}: one accent`)
            // On a phone axe cannot see what a table has scrolled away, and it runs in no sandboxed frame: on the desk
            // it sees the tables, and what is in the frames is judged in screens.test.ts.
            const found = (await axeViolations(page)).filter((one) =>
              !one.startsWith("frame-tested") && (visitor.width > 390 || !one.includes("partially obscured"))
            )
            assert.deepStrictEqual(found, [], path)
            assert.strictEqual(await overflow(page), 0, path)
            assert.deepStrictEqual(await smallTargets(page), [], path)
          })
        }
      }
    }).pipe(Effect.scoped))
})
